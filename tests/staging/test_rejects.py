from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from frazil.model import Reject, SourcePartition
from frazil.staging.rejects import RejectFile


def reject(partition: int, offset: int, reason: str = "bad", value: bytes | None = b"{") -> Reject:
    return Reject(
        SourcePartition("orders", partition),
        offset,
        7,
        b"k",
        value,
        (("h", b"\xff"), ("h", None)),
        "project",
        "5015",
        reason,
        "c",
    )


def test_the_file_holds_every_reject_with_its_own_bytes(tmp_path: Path) -> None:
    file = RejectFile(tmp_path / "r.parquet")

    file.add([reject(0, 5, value=b"\xff\x00{"), reject(1, 2, value=None)])
    file.add([])
    file.add([reject(0, 3, "other")])
    file.close()

    kept = 'topic, partition, "offset", timestamp, key, value, stage, code, reason, "column"'
    rows = duckdb.execute(f"SELECT {kept} FROM read_parquet('{file.path}')").fetchall()
    assert rows == [
        ("orders", 0, 5, 7, b"k", b"\xff\x00{", "project", "5015", "bad", "c"),
        ("orders", 1, 2, 7, b"k", None, "project", "5015", "bad", "c"),
        ("orders", 0, 3, 7, b"k", b"{", "project", "5015", "other", "c"),
    ]
    assert pq.read_table(file.path).column("headers").to_pylist() == [[("h", b"\xff"), ("h", None)]] * 3


def test_the_summary_tells_the_first_reject_and_counts_reasons(tmp_path: Path) -> None:
    file = RejectFile(tmp_path / "r.parquet")
    file.add([reject(1, 1), reject(0, 9, "other"), reject(0, 4), reject(0, 6)])
    file.close()

    summary = file.summary("file:/lake/r.parquet")

    assert summary
    assert (summary.count, summary.path) == (4, "file:/lake/r.parquet")
    assert (summary.first.partition.partition, summary.first.offset) == (0, 4)
    assert summary.reasons == {"bad": 3, "other": 1}
    assert {number: each.offset for number, each in file.first.items()} == {1: 1, 0: 4}
    assert file.counts == {0: 3, 1: 1}


def test_many_reasons_stay_small_in_the_summary_and_whole_in_the_file(tmp_path: Path) -> None:
    file = RejectFile(tmp_path / "r.parquet")
    file.add(reject(0, number, f"reason {number}") for number in range(100))
    file.close()

    summary = file.summary("x")

    assert summary
    assert (summary.count, len(summary.reasons)) == (100, 20)
    assert len(set(pq.read_table(file.path).column("reason").to_pylist())) == 100


def test_without_rejects_there_is_neither_file_nor_summary(tmp_path: Path) -> None:
    file = RejectFile(tmp_path / "r.parquet")
    file.close()

    assert file.summary("x") is None
    assert not file.path.exists()
