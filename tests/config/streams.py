"""The settings of a source that frazil does not have: streams in a region, without brokers or consumers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import pytest
from pydantic import AliasChoices as Keys
from pydantic import Field

from frazil.config import connector_classes, values
from frazil.config.source import SourceSettings

CLASS = "tests.StreamsConnector"


class StreamsSettings(SourceSettings):
    """What is read of streams."""

    kind: ClassVar[str] = "tests-streams"
    classes: ClassVar[tuple[str, ...]] = (CLASS,)
    title: ClassVar[str] = "What is read of streams"
    inherited: ClassVar[tuple[str, ...]] = ("streams.region",)

    topics: Annotated[tuple[str, ...], values.by(values.topics)] = Field(
        validation_alias=Keys("streams"), examples=["orders"]
    )
    """Streams to read."""

    region: Annotated[str, values.by(values.choice({"north": "n-1", "south": "s-1"}))] = Field(
        validation_alias=Keys("streams.region"), examples=["north"], description="Where they are."
    )

    token: str = Field(validation_alias=Keys("streams.token"), default="", repr=False)
    """What the region asks for."""

    @property
    def client(self) -> Mapping[str, str]:
        return {**self.public_client, "token": self.token}

    @property
    def public_client(self) -> Mapping[str, str]:
        return {"region": self.region}

    @property
    def address(self) -> str:
        return self.region


LEAST = {
    "name": "orders-sink",
    "connector.class": CLASS,
    "streams": "orders,returns",
    "streams.region": "north",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have frazil know the class until the test ends."""
    monkeypatch.setattr(connector_classes, "_settings", {**connector_classes._settings})
    connector_classes.register(StreamsSettings)
