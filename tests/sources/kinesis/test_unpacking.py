"""Aggregated records are taken apart piece by piece, however much their user records are."""

from __future__ import annotations

import tracemalloc

from frazil.sources.kinesis.positions import BEGINNING, END
from frazil.sources.kinesis.shard_reading import RawRecord
from frazil.sources.kinesis.unpacking import batch, pieces, unpacked
from frazil.testing.aggregation import aggregate

ALL = (0, 2**128 - 1)
PIECE = 1 << 20


def test_user_records_are_never_all_in_memory_although_they_name_one_long_key() -> None:
    key, count = "ß" * 256, 30_000
    data = aggregate([(key, None, b"")] * count)
    read = 0
    batch("orders", "shardId-000000000000", [("1", 1, b"", "k")])  # the first one has pyarrow import what it needs
    tracemalloc.start()
    try:
        for piece in pieces(unpacked([RawRecord("7", 1, data, "k")], BEGINNING, END, lambda: ALL), PIECE):
            found = batch("orders", "shardId-000000000000", piece)
            assert found.nbytes < 2 * PIECE
            read += found.num_rows
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert read == count
    assert len(data) * 70 < count * len(key.encode())
    assert peak < 8 * PIECE


def test_an_aggregate_with_a_key_that_no_stream_takes_is_one_record() -> None:
    data = aggregate([("k" * 40_000, None, b"")] * 20_000)

    (row,) = unpacked([RawRecord("7", 1, data, "k")], BEGINNING, END, lambda: ALL)

    assert row == ("7", 1, data, "k")
