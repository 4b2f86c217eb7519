"""The batches of records that readers yield and `frazil.records.convert` takes, whatever source they come from."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TOPIC: Final = pa.dictionary(pa.int32(), pa.string())
"""The type of the column of topics: a batch has few."""

HEADERS: Final = pa.map_(pa.string(), pa.binary())
"""The type of the column of headers."""


def schema(partition: pa.DataType, offset: pa.DataType) -> pa.Schema:
    """One record a row; partitions and offsets are of the source's own types.

    Timestamps are ms since the epoch, null when the record has none.
    """
    return pa.schema(
        [
            ("topic", TOPIC),
            ("partition", partition),
            ("offset", offset),
            ("timestamp", pa.int64()),
            ("log_append_time", pa.bool_()),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", HEADERS),
        ]
    )


def topics(topic: str, count: int) -> pa.DictionaryArray:
    """The column of topics of `count` records of one topic."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([topic], pa.string()))
