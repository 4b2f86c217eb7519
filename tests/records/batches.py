"""Batches of records as the reader gives them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from frazil.model import Conversion
from frazil.records.batches import schema
from frazil.records.convert import Converted, RecordConverter

SCHEMA = schema(partition=pa.int32(), offset=pa.int64())


def batch(**columns: list[Any]) -> pa.RecordBatch:
    """Records of orders-3 from offset 0; what is not given is null."""
    count = len(next(iter(columns.values())))
    usual = {
        "topic": ["orders"] * count,
        "partition": [3] * count,
        "offset": list(range(count)),
        "log_append_time": [False] * count,
    }
    given = {**{name: [None] * count for name in SCHEMA.names}, **usual, **columns}
    return pa.RecordBatch.from_pydict(given, schema=SCHEMA)


def convert(records: pa.RecordBatch, conversion: Conversion | None = None, now: int = 0) -> Converted:
    """The records as a task converts them."""
    return RecordConverter(conversion or Conversion()).convert(records, now)
