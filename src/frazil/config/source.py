"""What every kind of source is configured with: what is read of it, and what a client of it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from frazil.config.settings_base import SettingsBase
from frazil.errors import Problem


@dataclass(slots=True)
class SourceKeys:
    """The keys of a source among those of a connector."""

    fields: dict[str, object] = field(default_factory=dict, repr=False)
    """What its settings are read from. May hold secrets."""

    no_effect: list[tuple[str, str]] = field(default_factory=list)
    """Given keys that change nothing, each with the reason."""

    problems: list[Problem] = field(default_factory=list)
    """What is wrong, except for what the settings find in their fields."""


class SourceSettings(SettingsBase, ABC):
    """The settings of one kind of source, which `frazil.config.connector_classes` knows by its connector classes."""

    kind: ClassVar[str]
    """Its kind, as in `frazil.sources.kinds`."""

    classes: ClassVar[tuple[str, ...]]
    """What `connector.class` may be for it."""

    title: ClassVar[str]
    """The heading of its settings on the page that lists all of them."""

    metadata_column: ClassVar[str] = "RECORD_METADATA"
    """What the column is called that says where its records come from."""

    inherited: ClassVar[tuple[str, ...]] = ()
    """Keys that count in a worker's file, for all its connectors of this kind; `x.` stands for all that begin so."""

    topics: tuple[str, ...] = ()
    """The topics or streams to read that are named."""

    topics_regex: str | None = None
    """What the names of those to read match, where none is named."""

    def errors_keys(self) -> Iterator[str]:
        """The given keys that say what becomes of rejected records."""
        yield from ()

    @property
    @abstractmethod
    def client(self) -> Mapping[str, str]:
        """What its clients are configured with, in tasks as well. May hold secrets."""

    @property
    @abstractmethod
    def public_client(self) -> Mapping[str, str]:
        """As much of that as may be written down: enough to find the source."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where it is, for messages."""

    @property
    def identity(self) -> str | None:
        """What its connector is called in tokens and channels, if that is not the connector's name."""
        return None

    @classmethod
    def complete(cls, given: Mapping[str, str]) -> dict[str, str]:
        """The keys of a connector with those that it need not give for this source."""
        return dict(given)

    @classmethod
    def read(cls, given: Mapping[str, str]) -> SourceKeys:
        """Sort the source's keys among those of a connector."""
        return SourceKeys({key: given[key] for key in cls.setting_keys() if key in given})

    @classmethod
    def reads(cls, key: str) -> bool:
        """Whether `key` is one of the source's."""
        return key in cls.setting_keys()

    @classmethod
    def inherits(cls, key: str) -> bool:
        """Whether `key` counts in a worker's file."""
        return any(key == each or (each.endswith(".") and key.startswith(each)) for each in cls.inherited)
