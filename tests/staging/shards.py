"""Tasks whose records are in a file, with partitions and offsets as streams have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.memory.shards.reader import write
from tests.pipes.default.chunks import columns

from frazil.model import Column, Range, ReaderSpec, SourcePartition, Staged, TableName, TableTask, Task, WriteShape
from frazil.sources import kinds
from frazil.sources.kinesis.positions import BEGINNING, END

KIND = "shards of a file"
FIRST, SECOND = "shardId-000000000000", "shardId-000000000010"
SHORT, LONG = "9" * 55, "1" + "0" * 55
"""Sequence numbers in their order, which is not that of texts."""

OWN, DE = TableName(("public",), "T"), TableName(("public",), "T_DE")


ARRIVAL = 1_760_000_000_123

kinds.register(KIND, "tests.memory.shards")


def record(shard: str, offset: str, value: str | bytes, key: bytes | None = b"k") -> dict[str, Any]:
    return {
        "topic": "orders",
        "partition": shard,
        "offset": offset,
        "timestamp": ARRIVAL,
        "log_append_time": True,
        "key": key,
        "value": value.encode() if isinstance(value, str) else value,
    }


def table(directory: Path, name: TableName = OWN, *own: Column, evolves: bool = False, **kinds_: str) -> TableTask:
    shape = (*own, *columns(**kinds_))
    return TableTask(
        WriteShape(name, name.name, 0, 0, 0, shape, has_rows=not evolves, evolves=evolves),
        data_path=f"file:{directory}/{name.name}/data-{{}}.parquet",
        rejects_path=f"file:{directory}/{name.name}/rejects-{{}}.parquet",
    )


def task(directory: Path, records: Sequence[dict[str, Any]], *tables: TableTask, **others: Any) -> Task:
    """A task of all records of their shards."""
    write(directory / "records", records)
    shards = sorted({each["partition"] for each in records})
    ranges = tuple(Range(SourcePartition("orders", shard), BEGINNING, END) for shard in shards)
    settings: dict[str, Any] = {"tolerance": "all", **others}
    return Task("SHOP", ranges, tables, ReaderSpec(KIND, {"file": str(directory / "records")}), **settings)


def rows(staged: Staged, name: TableName = OWN) -> list[tuple[Any, ...]]:
    assert staged.failure is None
    (part,) = [each for each in staged.tables if each.shape.table == name]
    tables = [pq.ParquetFile(file.path.removeprefix("file:")).read() for file in part.files]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]
