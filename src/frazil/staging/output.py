"""Output files: the records of a task that became rows, as they were read, to be sent on behind their commit."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS: Final = ("topic", "partition", "offset", "key", "value")
"""What is kept of a record."""


class OutputFile:
    """Collects the accepted records of one task for one table; the file appears with the first of them."""

    def __init__(self, path: Path) -> None:
        """Write to `path`, in the scratch directory."""
        self.path = path
        self._writer: pq.ParquetWriter | None = None

    def add(self, records: pa.Table, gone: Collection[int]) -> None:
        """Write the records of a chunk as they were read, without those rows that are `gone`."""
        kept = records.select([*COLUMNS])
        if gone:
            stays = pa.array([row not in gone for row in range(records.num_rows)], pa.bool_())
            kept = kept.filter(stays)
        if not kept.num_rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.path, kept.schema, compression="zstd", compression_level=1, use_dictionary=["topic", "partition"]
            )
        self._writer.write_table(kept)

    def close(self) -> bool:
        """Finish the file; whether there is one."""
        if self._writer is None:
            return False
        self._writer.close()
        self._writer = None
        return True
