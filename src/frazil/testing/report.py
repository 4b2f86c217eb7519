"""What the oracle says about a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FAULTS = ("missing", "duplicated", "out_of_order", "bad_hash", "unexpected", "lost")
"""What can be wrong at an offset; each is a field of `PartitionReport`."""


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """What the table holds of one partition, and every offset at which something is wrong."""

    partition: int
    token: int | None
    rows: int
    missing: tuple[int, ...] = ()
    """Covered by the token, no known gap, and not in the table."""

    duplicated: tuple[int, ...] = ()
    """In the table more than once."""

    out_of_order: tuple[int, ...] = ()
    """With a `seq` not above the one before it in its run, or of another partition."""

    bad_hash: tuple[int, ...] = ()
    """With a payload that is not what was produced."""

    unexpected: tuple[int, ...] = ()
    """In the table, but above the token, below the first offset, or at a known gap."""

    lost: tuple[int, ...] = ()
    """Acknowledged by the broker, covered by the token, and not in the table with that `seq`."""

    @property
    def faults(self) -> dict[str, tuple[int, ...]]:
        """The offsets by what is wrong with them."""
        return {name.replace("_", " "): getattr(self, name) for name in FAULTS if getattr(self, name)}

    def __str__(self) -> str:
        faults = "".join(f"; {len(at)} {what}: {_some(at)}" for what, at in self.faults.items())
        return f"partition {self.partition}: {self.rows} rows, token {self.token}{faults}"


@dataclass(frozen=True, slots=True)
class OracleReport:
    """The oracle's judgement of one topic in one table."""

    topic: str
    partitions: tuple[PartitionReport, ...]
    file_faults: tuple[str, ...] = ()
    """What is wrong with the snapshot's files: listed twice, absent, not as described, or deletes."""

    @property
    def rows(self) -> int:
        """Rows of the topic."""
        return sum(partition.rows for partition in self.partitions)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.file_faults and not any(partition.faults for partition in self.partitions)

    def __str__(self) -> str:
        verdict = "clean" if self.clean else "NOT CLEAN"
        return "\n  ".join(
            [f"{self.topic}: {self.rows} rows, {verdict}", *self.file_faults, *map(str, self.partitions)]
        )


def _some(offsets: Sequence[int], count: int = 5) -> str:
    return ", ".join(map(str, offsets[:count])) + (", …" if len(offsets) > count else "")
