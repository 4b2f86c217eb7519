"""What every kind of source is configured with: what is read of it, and what a client of it needs."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from frazil.config import values
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


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """How much of one table may wait to be sent on."""

    files: int | None = None
    """How many files; None for any number."""

    seconds: float | None = None
    """How long the oldest of them; None for any time."""


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

    @property
    def dead_letters(self) -> str | None:
        """The topic or stream that rejected records are sent to, with `errors.tolerance=all`."""
        return None

    @property
    def output(self) -> str | None:
        """The one that accepted records are sent on to."""
        return None

    @property
    def output_limits(self) -> OutputLimits:
        """How much may wait to be sent on until no more is read."""
        return OutputLimits()

    def takes(self, topic: str) -> bool:
        """Whether a topic or stream is one of those that are read, now or once it exists."""
        return topic in self.topics or (self.topics_regex is not None and matches(self.topics_regex, topic))

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


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches all of a name; False if it is not a pattern, which is a problem of its own."""
    try:
        return re.fullmatch(values.regex(pattern), name) is not None
    except ValueError:
        return False


def feeds_itself(
    given: Mapping[str, str], key: str, names: tuple[str, Collection[str]], pattern: str
) -> Iterator[Problem]:
    """Refuse a topic or stream that is written and read: what is sent there would come back for ever.

    Args:
        given: the keys of a connector.
        key: the key that names what is written.
        names: the key that names what is read, and those names.
        pattern: the key of the pattern of what is read; also topics that are created later are read.
    """
    name = given.get(key)
    if name is None:
        return
    if name in names[1]:
        yield Problem(key, f"is {name!r}, which {names[0]} names as well. Write another one.")
    elif pattern in given and matches(given[pattern], name):
        yield Problem(key, f"is {name!r}, which {pattern} matches. Write one that it does not match.")
