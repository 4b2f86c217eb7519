"""Records that became rows, and are sent on."""

from __future__ import annotations

from dataclasses import dataclass

from frazil.model.places import RecordOffset, SourcePartition


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """An accepted record, as it was read."""

    partition: SourcePartition
    offset: RecordOffset
    key: bytes | None
    value: bytes | None
