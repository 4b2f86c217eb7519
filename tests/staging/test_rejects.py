from __future__ import annotations

import pickle
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.pipes.default.chunks import Landing, column
from tests.pipes.default.conftest import MakeTable

from frazil.model import RejectSummary
from frazil.records.rejects import Rejects, schema
from frazil.sources.kafka import positions
from frazil.sources.kafka.reader import SCHEMA
from frazil.staging.rejects import OTHER, RejectFile


def reject(
    partition: int, offset: int, reason: str = "bad", value: bytes | None = b"{", column: str | None = "c"
) -> dict[str, object]:
    return {
        "topic": "orders",
        "partition": partition,
        "offset": offset,
        "timestamp": 7,
        "key": b"k",
        "value": value,
        "headers": [("h", b"\xff"), ("h", None)],
        "stage": "project",
        "code": "5030",
        "reason": reason,
        "column": column,
    }


def rejects(*rows: dict[str, object]) -> Rejects:
    return Rejects([pa.Table.from_pylist(list(rows), schema(SCHEMA))])


def collected(tmp_path: Path, *added: Rejects) -> RejectFile:
    file = RejectFile(tmp_path / "r.parquet", positions.before)
    for each in added:
        file.add(each)
    file.close()
    return file


def summary_of(landed: Landing, tmp_path: Path) -> RejectSummary:
    found = landed.rejects.values()
    rows = ({**reject(0, each.offset, each.reason, each.value, each.column), "code": each.code} for each in found)
    summary = collected(tmp_path, rejects(*rows)).summary("x")
    assert summary
    return summary


def test_the_file_holds_every_reject_with_its_own_bytes(tmp_path: Path) -> None:
    file = collected(
        tmp_path,
        rejects(reject(0, 5, value=b"\xff\x00{"), reject(1, 2, value=None)),
        Rejects(),
        rejects(reject(0, 3, "other")),
    )

    kept = 'topic, partition, "offset", timestamp, key, value, stage, code, reason, "column"'
    rows = duckdb.execute(f"SELECT {kept} FROM read_parquet('{file.path}')").fetchall()
    assert rows == [
        ("orders", 0, 5, 7, b"k", b"\xff\x00{", "project", "5030", "bad", "c"),
        ("orders", 1, 2, 7, b"k", None, "project", "5030", "bad", "c"),
        ("orders", 0, 3, 7, b"k", b"{", "project", "5030", "other", "c"),
    ]
    assert pq.read_table(file.path).column("headers").to_pylist() == [[("h", b"\xff"), ("h", None)]] * 3


def test_the_summary_tells_the_first_reject_and_counts_kinds(tmp_path: Path) -> None:
    file = collected(
        tmp_path,
        rejects(reject(1, 1), reject(0, 9, "other"), reject(1, 7)),
        rejects(reject(0, 4), reject(0, 6, column=None)),
    )

    summary = file.summary("file:/lake/r.parquet")

    assert summary
    assert (summary.count, summary.path) == (5, "file:/lake/r.parquet")
    assert (summary.first.partition.partition, summary.first.offset) == (0, 4)
    assert [(kind.column, kind.reason, kind.count) for kind in summary.kinds] == [
        ("c", "bad", 3),
        ("c", "other", 1),
        (None, "bad", 1),
    ]
    assert [(kind.first.partition.partition, kind.first.offset) for kind in summary.kinds] == [(1, 1), (0, 9), (0, 6)]
    assert {number: each.offset for number, each in file.first.items()} == {1: 1, 0: 4}
    assert file.counts == {0: 3, 1: 2}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("long", ['"one"', '"t\'wo"', '"th\\"ree"', f'"{"long" * 50}"']),
        ("long", ["1.5", "22.75", "-0.25"]),
        ("long", ["1e30", "99999999999999999999"]),
        ("date", ['"yesterday"', '"2 days ago"']),
        ("boolean", ["[1, 2]", "[3]"]),
    ],
)
def test_rejects_whose_reasons_differ_only_in_the_value_are_of_one_kind(
    make_table: MakeTable, tmp_path: Path, kind: str, values: list[str]
) -> None:
    landed = make_table(column("c", kind)).land(*(f'{{"c": {value}}}' for value in values))

    summary = summary_of(landed, tmp_path)

    assert [(each.column, each.count) for each in summary.kinds] == [("c", len(values))]
    assert not any(value.strip('"[]') in summary.kinds[0].reason for value in values)


def test_rejects_that_are_no_json_are_of_few_kinds(make_table: MakeTable, tmp_path: Path) -> None:
    landed = make_table(column("c", "long")).land(*(f'{{"id": {number}, "c": 1, }}' for number in (1, 20, 333)))

    summary = summary_of(landed, tmp_path)

    assert [(each.code, each.column, each.count) for each in summary.kinds] == [("5015", None, 3)]


def test_many_kinds_stay_few_in_the_summary_and_whole_in_the_file(tmp_path: Path) -> None:
    file = collected(tmp_path, *(rejects(reject(0, number, column=f"column {number}")) for number in range(100)))

    summary = file.summary("x")

    assert summary
    assert (summary.count, sum(kind.count for kind in summary.kinds)) == (100, 100)
    assert (len(summary.kinds), summary.kinds[-1].column, summary.kinds[-1].reason) == (20, None, OTHER)
    assert len(set(pq.read_table(file.path).column("column").to_pylist())) == 100


def test_what_the_driver_is_told_stays_small_whatever_the_records_hold(tmp_path: Path) -> None:
    huge = b"x" * 5_000_000
    file = collected(
        tmp_path, *(rejects(reject(0, number, f"{number} " * 10_000, huge, "c" * 255)) for number in range(30))
    )

    summary = file.summary("file:/lake/r.parquet")

    assert summary
    assert len(pickle.dumps(summary)) < 32 * 1024
    assert summary.first.start_of_value() == "x" * 80
    assert pq.read_table(file.path, columns=["value"]).nbytes > 30 * len(huge)


def test_without_rejects_there_is_neither_file_nor_summary(tmp_path: Path) -> None:
    file = collected(tmp_path, Rejects())

    assert file.summary("x") is None
    assert not file.path.exists()
