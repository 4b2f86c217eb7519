"""Reject files: the records a task could not turn into rows, with their bytes and the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from frazil.model import PartitionId, Position, RecordOffset, Reject, RejectKind, RejectSummary
from frazil.records.rejects import Rejects, reject

OTHER: Final = "other reasons"
"""The kind that counts what is one kind too many."""

_KINDS: Final = 20
"""Kinds that the driver hears of; the file has every reject with its reason."""

_SHOWN: Final = 300
"""Characters of a reason, and bytes of a value, that the driver hears of."""

_QUOTED: Final = r"""'(?:[^'\\]|\\.)*'…?|"(?:[^"\\]|\\.)*"…?"""
"""What a reason, or the name of a key that can be no column, shows of the record."""

_PLACE: Final = r"\b0x[0-9a-f]+|\[\d+\]|\b(?:character|position|line|column|char) \d+"
"""What a reason says of bytes, and of places in the record."""


class RejectFile:
    """Collects the rejects of one task; the file appears with the first of them."""

    def __init__(self, scratch: Path, before: Callable[[RecordOffset], Position]) -> None:
        """Write to `scratch`; `before` tells the position right before a record, as `frazil.sources.kinds` does."""
        self.path = scratch
        self._before = before
        self.first: dict[PartitionId, Reject] = {}
        """The reject with the lowest offset of each partition, shortened."""

        self.counts: Counter[PartitionId] = Counter()
        """Rejects by partition."""

        self._kinds: dict[tuple[str, str | None, str], RejectKind] = {}
        self._writer: pq.ParquetWriter | None = None

    def add(self, rejects: Rejects) -> None:
        """Write some rejects."""
        for table in rejects.tables:
            if self._writer is None:
                self._writer = pq.ParquetWriter(self.path, table.schema, compression="zstd")
            self._writer.write_table(table)
            numbered = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
            self._count_partitions(numbered)
            self._count_kinds(numbered)

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def summary(self, path: str) -> RejectSummary | None:
        """What the driver needs to know, with the file at its final `path`; None without rejects."""
        if not self.first:
            return None
        first = min(self.first.values(), key=lambda each: each.partition)
        return RejectSummary(self.counts.total(), first, path, tuple(self._kinds.values()))

    def _count_partitions(self, numbered: pa.Table) -> None:
        # Rows of one partition come in the order of their offsets, so its first row has the lowest.
        for group in _groups(numbered, "partition"):
            number = group["partition"]
            self.counts[number] += group["row_count"]
            found = _row(numbered, group["row_min"])
            if number not in self.first or self._before(found.offset) < self._before(self.first[number].offset):
                self.first[number] = found

    def _count_kinds(self, numbered: pa.Table) -> None:
        for name, kinds in (("reason", kinds_of_reasons), ("column", kinds_of_columns)):
            numbered = numbered.append_column(f"{name} kind", kinds(numbered.column(name)))
        for group in _groups(numbered, "code", "column kind", "reason kind"):
            key = (group["code"], group["column kind"], group["reason kind"][:_SHOWN])
            if key not in self._kinds and len(self._kinds) >= _KINDS - 1:
                key = (group["code"], None, OTHER)
            known = self._kinds.get(key) or RejectKind(*key, 0, _row(numbered, group["row_min"]))
            self._kinds[key] = replace(known, count=known.count + group["row_count"])


def kinds_of_reasons(reasons: pa.ChunkedArray) -> pa.ChunkedArray:
    """Reasons without what they show of their records."""
    return pc.replace_substring_regex(reasons, f"{_QUOTED}|{_PLACE}", "…")


def kinds_of_columns(columns: pa.ChunkedArray) -> pa.ChunkedArray:
    """Columns without what the names of keys that can be none show of their records."""
    return pc.replace_substring_regex(columns, _QUOTED, "…")


def _groups(numbered: pa.Table, *keys: str) -> Iterator[dict[str, Any]]:
    """The groups of rows that have the same `keys`: these, the first row and the number of rows of each."""
    grouped = numbered.group_by(list(keys), use_threads=False)
    for batch in grouped.aggregate([("row", "min"), ("row", "count")]).to_batches(max_chunksize=1000):
        yield from batch.to_pylist()


def _row(table: pa.Table, row: int) -> Reject:
    """One reject with what the driver needs of it."""
    found = reject(table.slice(row, 1).to_pylist()[0])
    return replace(
        found, key=None, value=found.value and found.value[:_SHOWN], headers=(), reason=found.reason[:_SHOWN]
    )
