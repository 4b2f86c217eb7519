"""Reject files: the records a task could not turn into rows, with their bytes and the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.model import Reject, RejectSummary

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.map_(pa.string(), pa.binary())),
        ("stage", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("column", pa.string()),
    ]
)
"""One reject a row."""

_REASONS_KEPT: Final = 20
"""Reasons whose counts the driver is told; the file has them all."""


class RejectFile:
    """Collects the rejects of one task; the file appears with the first of them."""

    def __init__(self, scratch: Path) -> None:
        self.path = scratch
        self.first: dict[int, Reject] = {}
        """The lowest rejected offset of each partition."""

        self.counts: Counter[int] = Counter()
        """Rejects by partition."""

        self._reasons: Counter[str] = Counter()
        self._writer: pq.ParquetWriter | None = None

    def add(self, rejects: Iterable[Reject]) -> None:
        """Write some rejects."""
        rows = list(rejects)
        if not rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.path, SCHEMA, compression="zstd")
        self._writer.write_batch(pa.RecordBatch.from_pylist([_row(reject) for reject in rows], SCHEMA))
        for reject in rows:
            number = reject.partition.partition
            self.counts[number] += 1
            known = self.first.get(number)
            if known is None or reject.offset < known.offset:
                self.first[number] = reject
            if reject.reason in self._reasons or len(self._reasons) < _REASONS_KEPT:
                self._reasons[reject.reason] += 1

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def summary(self, path: str) -> RejectSummary | None:
        """What the driver needs to know, with the file at its final `path`; None without rejects."""
        if not self.first:
            return None
        first = min(self.first.values(), key=lambda reject: (reject.partition, reject.offset))
        return RejectSummary(self.counts.total(), first, path, dict(self._reasons))


def _row(reject: Reject) -> dict[str, object]:
    return {
        "topic": reject.partition.topic,
        "partition": reject.partition.partition,
        "offset": reject.offset,
        "timestamp": reject.timestamp,
        "key": reject.key,
        "value": reject.value,
        "headers": list(reject.headers),
        "stage": reject.stage,
        "code": reject.code,
        "reason": reject.reason,
        "column": reject.column,
    }
