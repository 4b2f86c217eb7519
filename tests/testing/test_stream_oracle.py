"""The oracle of streams says clean of a sound table, and finds each way in which a table can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frazil.testing.stream_oracle import StreamReport, verify_stream

from .lake import Lake

FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def row(key: str, number: int, sequence: int, shard: str = FIRST, sub: int = 0) -> dict[str, Any]:
    told = {"stream": "orders", "shardId": shard, "sequenceNumber": str(sequence), "subSequenceNumber": sub}
    return {"kinesisMetadata": told, "key": key, "number": number}


def judge(lake: Lake, *commits: list[dict[str, Any]], **sent: int) -> StreamReport:
    """The verdict on a table with a file for each commit."""
    for rows in commits:
        metadata = lake.append(lake.parquet(rows))
    return verify_stream(metadata, "orders", sent)


def test_a_sound_table_of_several_shards_is_clean(lake: Lake) -> None:
    report = judge(
        lake,
        [row("a", 0, 9), row("b", 0, 10), row("b", 1, 10, sub=1)],
        [row("a", 1, 100, SECOND), row("b", 2, 101, SECOND)],
        a=2,
        b=3,
    )

    assert report.clean, report
    assert (report.rows, str(report)) == (5, "orders: 5 rows, clean")


def test_rows_of_other_streams_are_not_judged(lake: Lake) -> None:
    other = row("a", 7, 1)
    other["kinesisMetadata"]["stream"] = "returns"

    assert judge(lake, [row("a", 0, 1), other], a=1).clean


@pytest.mark.parametrize(
    ("commits", "what"),
    [
        ([[row("a", 0, 1)]], {"missing": (("a", 1),)}),
        ([[row("a", 0, 1), row("a", 1, 2), row("a", 2, 3)]], {"unexpected": (("a", 2),)}),
        (
            [[row("a", 0, 9), row("a", 1, 10)], [row("a", 1, 10)]],
            {"duplicated": (("a", 1),), "out of order": (("a", 1),)},
        ),
        ([[row("a", 1, 100, SECOND)], [row("a", 0, 9)]], {"out of order": (("a", 0),)}),
        ([[row("a", 0, 10), row("a", 1, 9)]], {"out of order": (("a", 0),), "shuffled in a file": (("a", 1),)}),
        ([[row("a", 1, 10), row("a", 0, 9)]], {"shuffled in a file": (("a", 0),)}),
    ],
)
def test_each_fault_is_found(lake: Lake, commits: list[list[dict[str, Any]]], what: dict[str, Any]) -> None:
    report = judge(lake, *commits, a=2)

    assert dict(report.faults) == what
    assert not report.clean


def test_a_file_that_is_gone_is_told(lake: Lake) -> None:
    path, count = lake.parquet([row("a", 0, 1)])
    metadata = lake.append((path, count))
    path.unlink()

    report = verify_stream(metadata, "orders", {"a": 1})

    assert report.file_faults == (f"{path} does not exist",)
    assert dict(report.faults) == {"missing": (("a", 0),)}
