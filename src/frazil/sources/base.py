"""What a cycle needs from a source of records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from frazil.model import Range, SourcePartition


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What the source says of a topic now."""

    topic: str
    cluster: str
    """The cluster's id; empty when it does not say."""

    id: str
    """The topic's own id, new for a topic made again under its old name; empty when the cluster has none."""

    partitions: int
    """How many partitions it has; they are numbered from 0."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a partition's log."""

    offset: int
    leader_epoch: int | None = None
    """A leader epoch whose leader had everything before `offset` in its log; None where it is not known."""


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """An offset that was published for a consumer group."""

    offset: int
    """The first one not covered."""

    metadata: str = ""
    """What whoever published it wrote beside it."""


class Source(Protocol):
    """The driver's side of a source. All methods may raise `BrokerUnavailable` or `BrokerRefused`."""

    def discover(self) -> Mapping[str, TopicFacts]:
        """The topics the connector reads that exist now, by name."""

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        """What the source says of `topics` now; those that do not exist are absent."""

    def cluster(self) -> str:
        """The id of the cluster; empty when it does not say."""

    def latest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """The end of each partition: the offset its next readable record will have, as a reader may see it.

        Partitions that do not exist are absent, here and below.
        """

    def ends(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, Position]:
        """The same as `latest`, with the epochs of the leaders that answered."""

    def divergences(self, positions: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int | None]:
        """Where logs no longer hold what was before a position: the first offset that is another one's now.

        Partitions whose logs still hold it are absent. None: the log has forgotten where.
        """

    def earliest(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """The first offset each partition still holds."""

    def initial(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, int]:
        """Where a channel begins that has neither a token nor a group offset: what `auto.offset.reset` says.

        Raises:
            NoStartingOffset: it says `none`.
        """

    def group_offsets(self, partitions: Collection[SourcePartition]) -> Mapping[SourcePartition, GroupOffset]:
        """Where the consumer group stands, and what was written beside it; partitions without an offset are absent."""

    def oldest_timestamps(self, starts: Mapping[SourcePartition, int]) -> Mapping[SourcePartition, int]:
        """When the first record at or after each start was produced, in ms since the epoch, where there is one."""

    def average_sizes(self, ranges: Collection[Range]) -> Mapping[str, float]:
        """Average bytes per offset, by topic, of the first few records of each range.

        Topics of which none could be had are absent.
        """

    def publish(self, positions: Mapping[SourcePartition, GroupOffset]) -> None:
        """Set the consumer group's offsets: everything before each is committed."""

    def reader_config(self) -> Mapping[str, Any]:
        """What a task needs to read from this source."""

    def close(self) -> None:
        """Give connections back."""
