"""Channels as people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from frazil.model.places import PartitionId, RecordOffset


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """One channel as `frazil channels` shows it."""

    connector: str
    channel: str
    """`<CONNECTOR>_<topic>_<partition>` (spec 7.1)."""

    topic: str
    partition: PartitionId
    table: str
    pipe: str
    offset_token: str | None
    latest_offset: RecordOffset | None
    """The last offset the partition holds; None when the source did not answer, or does not say."""

    lag_records: int | None
    """How many records wait; None likewise, unless none does."""

    lag_seconds: float | None
    rows_inserted: int
    rows_parsed: int
    rows_error: int
    records_lost: int
    """Offsets that retention deleted before they were read, or a truncation took away after."""

    last_error: str | None
    state: str
    """What the connector is doing, or the channel's table where that is left out while the others go on."""

    reason: str | None
    """The error that is waited out, or that has ended it; None where all is well."""

    last_commit_time: str | None
    """ISO 8601, UTC."""

    owner_epoch: int

    read_through: str | None = None
    """By when what had come is covered, ISO 8601, UTC; None for sources whose offsets tell what is covered."""

    retention_used: float | None = None
    """How much of the time for which the source keeps records has passed since then: at 1, some may be gone."""

    application: str | None = None
    """Who reads the stream, as it was written; None for topics, and where the connector never ran from this home."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys that the table has no column for, by key: those of all the connector's channels on the table."""

    set_aside: Sequence[str] = ()
    """Lists and files of rejected or accepted records of the table that are damaged."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """By place, how many rejected or accepted records of the table it took in no form."""

    rejects_wait: bool = False
    """Whether tokens name rejected records of the table that have not come to all places; also where they have, until
    a commit follows."""

    output_files: int = 0
    """Files of accepted records of the table that wait to be sent on, as its connector noted last."""

    output_seconds: float | None = None
    """How long the oldest of them had waited by then; None where none waits."""
