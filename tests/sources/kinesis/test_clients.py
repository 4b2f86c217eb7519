"""Clients of the service, and what is said where none of their requests can be sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.dev.kinesis import LocalKinesis
from frazil.errors import CheckpointTableRefused, StreamRefused
from frazil.sources.kinesis.checkpoint_tables import read
from frazil.sources.kinesis.source import observe


@pytest.fixture(scope="module")
def client() -> Iterator[dict[str, str]]:
    with LocalKinesis() as local:
        local.provide("orders")
        yield {
            "region": local.region,
            "endpoint": local.endpoint,
            "access_key_id": "local",
            "secret_access_key": "local",
        }


@pytest.mark.parametrize("key", ["access_key_id", "session_token"])
def test_credentials_that_cannot_be_sent_are_refused_and_not_shown(client: dict[str, str], key: str) -> None:
    source = observe({**client, key: "hush\n"}, ["orders"])

    with pytest.raises(StreamRefused, match="the credentials hold a line break") as caught:
        source.discover()

    assert "hush" not in str(caught.value)


def test_neither_are_those_for_a_table_of_checkpoints(client: dict[str, str]) -> None:
    client = {**client, "dynamodb_endpoint": client["endpoint"], "session_token": "hush\n"}

    with pytest.raises(CheckpointTableRefused, match="the credentials hold a line break") as caught:
        read(client, "orders-app", "kcl")

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["two\nlines", "Lager Köln", "倉庫"])
def test_an_application_may_have_any_name(client: dict[str, str], name: str) -> None:
    assert list(observe({**client, "application": name}, ["orders"]).discover()) == ["orders"]
