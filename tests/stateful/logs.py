"""What every log ever held: a truncation begins another version of it, which has the same records up to there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tests.memory import MemoryRecord


@dataclass(slots=True)
class LogHistory:
    """All versions of one partition's log; what retention and compaction removed is in them still."""

    versions: list[dict[int, MemoryRecord]] = field(default_factory=lambda: [{}])
    end: int = 0
    """The offset that the next record will have."""

    _cuts: list[int] = field(default_factory=list)
    """Where each version parts from the one before."""

    def append(self, records: dict[int, MemoryRecord], end: int) -> None:
        """Note what was written, and where the log ends now."""
        self.versions[-1].update(records)
        self.end = end

    def truncate(self, end: int) -> None:
        """Begin another version."""
        self.versions.append({offset: record for offset, record in self.versions[-1].items() if offset < end})
        self._cuts.append(end)
        self.end = end

    def same(self, versions: Collection[int] | None, below: int) -> frozenset[int]:
        """The versions that are the same as one of `versions` up to an offset; None: as any."""
        every = range(len(self.versions))
        return frozenset(
            each
            for each in every
            if versions is None
            or any(min(self._cuts[min(one, each) : max(one, each)], default=below) >= below for one in versions)
        )
