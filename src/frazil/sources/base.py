"""What a cycle needs from a source of records, on the driver and in the tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from frazil.model import (
    OutputRecord,
    PartitionId,
    Position,
    Range,
    ReaderSpec,
    Reject,
    SourcePartition,
    StagedRange,
    StageFailure,
    TableName,
)


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What the source says of one partition of a topic."""

    id: PartitionId
    parents: tuple[PartitionId, ...] = ()
    """The partitions whose records come before all of its own, as those of a shard that was split."""

    closed: bool = False
    """Whether it gets no more records."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What the source says of a topic or stream now."""

    topic: str
    cluster: str
    """The id of what it is in; empty when the source does not say."""

    id: str
    """Its own id, new for a topic made again under its old name; empty when there is none."""

    partitions: Sequence[PartitionFacts]
    moment: int | None = None
    """When that was so, in ms since the epoch by the source's clock; None where time says nothing of its records."""

    retention: int | None = None
    """How long it keeps records, in ms; None where their places tell which are gone."""

    created: int | None = None
    """When it was made, in ms since the epoch; None where the source does not say."""

    keeps_partitions: bool = False
    """Whether partitions stay as long as the topic: the answer that lacks one comes from a broker that is behind."""

    @property
    def kept_since(self) -> int | None:
        """What came before that time, in ms since the epoch, may be gone; None where time does not say."""
        return None if self.moment is None or self.retention is None else self.moment - self.retention

    def source_partitions(self) -> list[SourcePartition]:
        """Its partitions, in their order."""
        return [SourcePartition(self.topic, each.id) for each in self.partitions]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What is covered of one source partition, in all tables that it feeds."""

    position: Position
    table: str
    """The uuid of the table that is furthest behind."""

    commit: str
    """The commit that brought that table there."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A partition is better not read just now."""

    seconds: float
    """For how long."""


@dataclass(frozen=True, slots=True)
class Held:
    """Why records of a partition cannot be had just now."""

    reason: str
    passes: bool = False
    """Whether that may end by itself; else somebody has to see to it."""


class Source(Protocol):
    """The driver's side of a source. All methods may raise `BrokerUnavailable` or `BrokerRefused`."""

    @property
    def kind(self) -> str:
        """What kind of source it is, as in `frazil.sources.kinds`."""

    def discover(self) -> Mapping[str, TopicFacts]:
        """The topics the connector reads that exist now, by name."""

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        """What the source says of `topics` now; those that do not exist are absent."""

    def cluster(self) -> str:
        """The id of what its topics are in; empty when it does not say."""

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """Where each partition ends now, as a reader may see it.

        Partitions that do not exist are absent, here and below.
        """

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """Where the first record is that each partition still holds."""

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """Where a channel goes on that is to have what comes from now on."""

    def at_time(self, partitions: Collection[SourcePartition], moment: int) -> Mapping[SourcePartition, Position]:
        """Where the first record is that came at `moment` or later, in ms since the epoch; the end where none is."""

    def resolve_starts(
        self, topics: Sequence[TopicFacts], table: str, *, gone: bool
    ) -> Mapping[SourcePartition, Position]:
        """Where the channels of topics start that have no token in a table.

        Args:
            topics: the topics.
            table: the table's name.
            gone: whether there is no such table; else it is one without our tokens.

        Raises:
            TokensMissing: their records were landed before, and the configuration says to stop.
            NoStartingOffset: the configuration forbids choosing.
        """

    def look_for_truncation(
        self, starts: Mapping[SourcePartition, Position], ends: Mapping[SourcePartition, Position]
    ) -> Mapping[SourcePartition, Position | None]:
        """As `diverged`, for what a plan has found, and cheap where nothing looks like it.

        Raises:
            LogTruncated: a log has changed, and nobody knows where.
            StageFailed: an end is not to be believed.
        """

    def diverged(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Position | None]:
        """Where logs no longer hold what was before `starts`: the first place that is another record's now.

        Partitions whose logs still hold it are absent. None: the log has forgotten where.
        """

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        """When the first record at or after each start was produced, in ms since the epoch, where there is one."""

    def staged(self, ranges: Iterable[StagedRange]) -> None:
        """Hear how far tasks came: what is known of partitions by reading them. It is not committed yet."""

    def require_answers(self) -> None:
        """Tell an outage of all that is read from the trouble of some partitions, once what was read is heard.

        Raises:
            StreamUnavailable: none of the partitions gave anything when it was read last.
        """

    def resting(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, Rest]:
        """The partitions that are better not read from these starts just now.

        Raises:
            ConsumersExhausted, StreamUnavailable, StreamRefused: none of them can be read, and why.
        """

    def held(self) -> Mapping[SourcePartition, Held]:
        """Why records of partitions cannot be had, of those of which that is so; any thread may ask."""

    def read_through(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        """By when nothing was behind a start, in ms since the epoch, where nothing was found; others are absent."""

    def have_last(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, bool]:
        """Whether partitions still have the last record before a start; those are absent of which that is not known."""

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        """Average bytes per record, by topic, of the first few records of each range.

        Topics of which none could be had are absent.
        """

    def acknowledge(self, covered: Mapping[SourcePartition, Acknowledgement]) -> None:
        """Let the source know what is covered, for the tools that watch it."""

    def reader(self) -> ReaderSpec:
        """What a task needs to read from this source."""

    def dead_letters(self) -> DeadLetters | None:
        """Where rejected records go, if the connector says so."""

    def output(self) -> Output | None:
        """Where accepted records go on to, if the connector says so."""

    def close(self) -> None:
        """Give connections back."""


class DeadLetters(Protocol):
    """Where rejected records go."""

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> int:
        """Send records, and wait until all are there that can be; some may be there twice afterwards.

        A record that is taken in no form keeps none of the others back: the log names it, and how many there are comes
        back.

        Args:
            rejects: the records.
            connector: the name of the connector that read them.
            table: the table that they were rejected for.

        Raises:
            BrokerUnavailable, BrokerRefused, StreamUnavailable, StreamRefused: some of them are not there.
        """


class Output(Protocol):
    """Where accepted records go on to."""

    def send(self, records: Iterable[OutputRecord], connector: str, table: TableName) -> int:
        """Send records, and wait until all are there that can be; some may be there twice afterwards.

        How many the stream takes in no form comes back.

        Args:
            records: the records, those of a partition in their order.
            connector: the name of the connector that read them.
            table: the table that has them as rows.

        Raises:
            BrokerUnavailable, BrokerRefused, StreamUnavailable, StreamRefused: some of them are not there.
        """


class ReadFailed(Exception):
    """A range cannot be read to its end; carries the failure as the value the driver gets."""

    def __init__(self, failure: StageFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class RangeReader(Protocol):
    """The task's side of a source: reads the ranges of one task."""

    @property
    def ranges(self) -> tuple[StagedRange, ...]:
        """What was read so far, range by range."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of all ranges, in order within each partition, as `frazil.records.batches` says.

        Raises:
            ReadFailed: a record is gone, the source refused, or nothing came for too long.
        """

    def beyond(self, batch: pa.RecordBatch, starts: Mapping[SourcePartition, Position]) -> pa.BooleanArray:
        """Which records of a batch lie at or after the start of their partition; partitions without one lie after."""
