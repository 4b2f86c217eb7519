"""What one cycle did, for people and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from frazil.model import TableName


@dataclass(frozen=True, slots=True)
class CycleReport:
    """One cycle. An idle one read nothing and cost no Spark job."""

    number: int
    records: int = 0
    """Records read."""

    rows: int = 0
    """Rows committed."""

    errors: int = 0
    """Records rejected."""

    bytes: int = 0
    """Bytes of values read."""

    files: int = 0
    """Data files committed."""

    snapshots: Mapping[TableName, int] = field(default_factory=dict)
    """The snapshot made in each table."""

    lag_records: int = 0
    """Offsets that were in the source when the cycle was planned and that it did not cover."""

    latencies: tuple[float, ...] = ()
    """Seconds from a record's timestamp to its snapshot, for a sample of the records."""

    newest: float | None = None
    """When the newest record read was produced, in seconds since the epoch."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time of the phases: `plan`, `stage`, `commit`, `acknowledge`."""

    task_seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time within the slowest task: `read`, `convert`, `project`, `move`."""

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return not self.snapshots
