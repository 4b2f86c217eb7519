"""What is known of a connector that ran from a home, and how far that can be believed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from pydantic import TypeAdapter, ValidationError

from frazil.connector import machine
from frazil.connector.states import ENDED
from frazil.errors import FrazilError, InvalidConfiguration, TableNameRefused
from frazil.model import PartitionId, TableName
from frazil.tables.rules.tokens import Tokens, decode

STALE: Final = 60.0
"""Seconds after which a state is not believed any more that should have been noted again every few."""

UNKNOWN: Final = "UNKNOWN"
"""Stands for the state of a connector that has not said for long what it is doing, although its process lives."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A table that is left out while the others of its connector go on."""

    namespace: tuple[str, ...]
    name: str
    state: str
    reason: str
    known: str
    """What the connector knows of its channels, written as tokens are; those it could not open have none."""

    @property
    def table(self) -> TableName:
        """The table's name in the catalog."""
        return TableName(self.namespace, self.name)

    @property
    def tokens(self) -> Tokens:
        """What the connector knows of its channels, for whoever cannot read the table."""
        return decode(self.known)


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """A partition whose records cannot be had."""

    topic: str
    partition: PartitionId
    reason: str
    passes: bool = False
    """Whether that may end by itself; else somebody has to see to it."""


@dataclass(frozen=True, slots=True)
class WaitingOutput:
    """Accepted records of a table that wait to be sent on."""

    table: str
    files: int
    seconds: float
    """How long the oldest file has waited when that was noted."""


@dataclass(frozen=True, slots=True)
class Registered:
    """One connector that ran from a home."""

    name: str
    key: str
    source: str
    """The kind of its source."""

    public_client: Mapping[str, str]
    """What is needed to find that, without any secret."""

    connector: str | None
    """Path of its file, None when it was configured by a program."""

    worker: str | None
    state: str
    pid: int
    started: float
    """When the process of that pid started, in seconds since the epoch: pids come again."""

    host: str = ""
    """The machine it ran on; empty if that was not noted, and then it was this one."""

    space: str = ""
    """The space of process ids that its pid is one of (`frazil.connector.machine`); empty if that was not noted."""

    heard: float | None = None
    """When the state was noted last, in seconds since the epoch."""

    left_out: tuple[LeftOut, ...] = ()
    """The tables that are left out while it runs."""

    waiting_outputs: tuple[WaitingOutput, ...] = ()
    """What waits to be sent on while it runs."""

    held: tuple[HeldPartition, ...] = ()
    """The partitions whose records cannot be had while it runs."""

    topic2table: str = ""
    """`snowflake.topic2table.map` of its last run."""

    topic2table_regex: bool = False
    """Whether the tables of that map may use the groups of its topics."""

    routers: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """The transforms that rename its topics, by name, with the keys that describe each."""

    application: str | None = None
    """As whom it reads streams; None for topics."""

    sanitizes: bool = True
    """Whether the tables of topics without an entry in it have sanitised names."""

    def is_visible(self) -> bool:
        """Whether its process, if it runs, can be seen from here."""
        return self.host in ("", machine.host()) and self.space in ("", machine.process_space())

    def is_process(self, host: str, pid: int) -> bool:
        """Whether it runs, or ran, as that process of that machine."""
        return self.pid == pid and self.host in ("", host)

    def hides(self, host: str, pid: int) -> bool:
        """Whether it runs as that process, and in a container that cannot be looked into from here."""
        return self.is_process(host, pid) and not self.is_visible()

    def current_state(self) -> str:
        """Its state: STOPPED when its process is gone without having said so, UNKNOWN when nothing was heard of it."""
        if self.state in ENDED:
            return self.state
        here = self.is_visible()
        if here and not self._lives():
            return "STOPPED"
        if self.heard is not None and time.time() - self.heard > STALE:
            # Of a process elsewhere that is all there is to go by.
            return UNKNOWN if here else "STOPPED"
        return self.state

    def has_ended(self, committed: float | None) -> bool:
        """Whether it says that it has ended; not to be believed if it `committed` since, in seconds since the epoch."""
        later = self.heard is not None and committed is not None and committed > self.heard + 1
        return self.state in ENDED and not later

    def client(self) -> Mapping[str, str]:
        """What is needed to ask its source: from its files if they can still be read, else what is public of it."""
        if self.connector is None:
            return self.public_client
        try:
            from frazil.config import load

            source = load(Path(self.connector), Path(self.worker) if self.worker else None).source
        except FrazilError:
            return self.public_client
        return source.client if source.kind == self.source else self.public_client

    def mapped(self, topic: str) -> str:
        """The name that it maps a topic to: that of the pipe for its records, or else of its table."""
        # Where no table has a pipe, nobody asks, and nothing is to be imported.
        from frazil.config.topic2table import Topic2Table
        from frazil.config.transforms import routed
        from frazil.model import TransformSpec

        try:
            rules = Topic2Table.read(self.topic2table, regex=self.topic2table_regex)
            routers = [TransformSpec(name, "", keys) for name, keys in self.routers]
            return rules.resolve(routed(topic, routers), sanitised=self.sanitizes).name
        except (ValueError, InvalidConfiguration, TableNameRefused):
            return topic

    def _lives(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return bool(abs(process.create_time() - self.started) < 1 and process.status() != psutil.STATUS_ZOMBIE)
        except (psutil.Error, ValueError, OverflowError):
            return False


_ENTRIES: Final = TypeAdapter(Registered)


def parse(text: bytes) -> Registered:
    """What a state file says.

    Raises:
        ValueError: it is none, or only a part of one.
    """
    try:
        entry = _ENTRIES.validate_json(text)
        for each in entry.left_out:
            decode(each.known)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(": ".join([".".join(map(str, found["loc"])), found["msg"]]).removeprefix(": ")) from error
    return entry
