"""The oracle says clean of a sound table, and finds each way in which a table can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.manifest import DataFileContent, ManifestEntryStatus

from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.report import OracleReport

from .lake import CONNECTOR, TOPIC, Lake, row, token_text

KEY = f"frazil.tokens.{CONNECTOR}"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def judge(lake: Lake, rows: list[dict[str, Any]], tokens: list[int | None], **options: Any) -> OracleReport:
    """The oracle on a table that holds `rows` in one file."""
    metadata = lake.append(lake.parquet(rows), summary={KEY: token_text(tokens)})
    return verify(metadata, CONNECTOR, TOPIC, **options)


def faults(report: OracleReport) -> list[dict[str, tuple[int, ...]]]:
    return [partition.faults for partition in report.partitions]


def test_a_sound_table_of_several_snapshots_is_clean(lake: Lake) -> None:
    lake.append(lake.parquet([row(0, 0), row(0, 1), row(1, 0)]), summary={KEY: token_text([1, 0])})
    metadata = lake.append(lake.parquet([row(0, 2), row(1, 1)]), summary={KEY: token_text([2, 1])})

    report = verify(iceberg.current_metadata(lake.catalog(metadata), "public", "orders"), CONNECTOR, TOPIC)

    assert report.clean, report
    assert [(partition.rows, partition.token) for partition in report.partitions] == [(3, 2), (2, 1)]
    assert str(report).startswith("orders: 5 rows, clean")


def test_a_missing_record_is_found(lake: Lake) -> None:
    report = judge(lake, [row(0, 0), row(0, 2)], [2])

    assert not report.clean
    assert faults(report) == [{"missing": (1,)}]
    assert "1 missing: 1" in str(report)


def test_a_record_that_nothing_came_after_is_missed_too(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0), row(0, 1)], [2])) == [{"missing": (2,)}]


def test_a_whole_partition_can_be_missing(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0)], [0, 1])) == [{}, {"missing": (0, 1)}]


def test_a_doubled_record_is_found(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0), row(0, 1), row(0, 1)], [1])) == [{"duplicated": (1,)}]


def test_swapped_records_are_found(lake: Lake) -> None:
    rows = [row(0, 0), row(0, 1, seq=2), row(0, 2, seq=1), row(0, 3)]

    assert faults(judge(lake, rows, [3])) == [{"out of order": (2,)}]


def test_a_record_of_another_partition_is_found(lake: Lake) -> None:
    stray = row(1, 1) | {"RECORD_METADATA": {"topic": TOPIC, "partition": 0, "offset": 1}}

    assert faults(judge(lake, [row(0, 0), stray], [1])) == [{"out of order": (1,)}]


@pytest.mark.parametrize("damage", [{"payload": "harmed"}, {"payload": None}, {"sha256": None}])
def test_a_corrupted_record_is_found(lake: Lake, damage: dict[str, str | None]) -> None:
    assert faults(judge(lake, [row(0, 0), row(0, 1) | damage], [1])) == [{"bad hash": (1,)}]


def test_a_token_behind_the_rows_is_found(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0), row(0, 1)], [0])) == [{"unexpected": (1,)}]


def test_rows_without_a_token_are_found(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0), row(1, 0)], [0, None])) == [{}, {"unexpected": (0,)}]


def test_known_gaps_and_a_later_start_are_no_faults(lake: Lake) -> None:
    report = judge(lake, [row(0, 5), row(0, 7)], [9], first={0: 5}, gaps={0: {6, 8, 9}})

    assert report.clean, report


def test_a_row_at_a_gap_is_found(lake: Lake) -> None:
    assert faults(judge(lake, [row(0, 0), row(0, 1)], [1], gaps={0: {1}})) == [{"unexpected": (1,)}]


def test_an_acknowledged_record_that_is_not_there_is_lost(lake: Lake, tmp_path: Path) -> None:
    wal = tmp_path / "acked.csv"
    wal.write_text("0,0,0\n0,1,7\n0,2,2\n0,99,99\n0,1")  # another value at 1, nothing covered at 99, a torn line

    assert faults(judge(lake, [row(0, 0), row(0, 1), row(0, 2)], [2], wal=wal)) == [{"lost": (1,)}]


def test_other_records_are_judged_by_their_offsets(lake: Lake) -> None:
    rows = [{"RECORD_METADATA": row(0, offset)["RECORD_METADATA"], "order_id": offset} for offset in (0, 1, 1)]

    assert faults(judge(lake, rows, [2], values=False)) == [{"missing": (2,), "duplicated": (1,)}]


def test_rows_of_other_topics_are_left_to_other_calls(lake: Lake) -> None:
    assert judge(lake, [row(0, 0), row(0, 5, topic="payments")], [0]).clean


def test_a_table_that_was_only_opened_is_clean(lake: Lake) -> None:
    assert verify(lake.append(summary={KEY: token_text([-1, None])}), CONNECTOR, TOPIC).clean


def test_a_file_listed_twice_is_found(lake: Lake) -> None:
    file = lake.parquet([row(0, 0)])
    lake.append(file, summary={KEY: token_text([0])})

    report = verify(lake.append(file), CONNECTOR, TOPIC)

    assert [fault.split(" is ")[1] for fault in report.file_faults] == ["in the snapshot 2 times"]
    assert faults(report) == [{"duplicated": (0,)}]


def test_a_removed_file_no_longer_counts(lake: Lake) -> None:
    first = lake.append(lake.parquet([row(0, 0)]), summary={KEY: token_text([0])})
    metadata = lake.append(lake.parquet([row(0, 1)]), status=ManifestEntryStatus.DELETED)

    assert verify(first, CONNECTOR, TOPIC) == verify(metadata, CONNECTOR, TOPIC)


def test_a_file_that_is_gone_or_not_as_described_is_found(lake: Lake) -> None:
    gone, (wrong, rows) = lake.parquet([row(0, 0)]), lake.parquet([row(0, 1)])
    metadata = lake.append(gone, (wrong, rows + 1), summary={KEY: token_text([1])})
    gone[0].unlink()

    report = verify(metadata, CONNECTOR, TOPIC)

    assert [fault.split("parquet ")[1].split(" (")[0] for fault in report.file_faults] == ["does not exist", "has"]
    assert faults(report) == [{"missing": (0,)}]


def test_deletes_are_not_passed_over(lake: Lake) -> None:
    lake.append(lake.parquet([row(0, 0)]), summary={KEY: token_text([0])})

    report = verify(lake.append(lake.parquet([row(0, 0)]), content=DataFileContent.POSITION_DELETES), CONNECTOR, TOPIC)

    assert len(report.file_faults) == 1
    assert "deletes" in report.file_faults[0]


def test_tokens_come_from_the_nearest_ancestor_then_from_the_mirror(lake: Lake) -> None:
    lake.append(lake.parquet([row(0, 0)]), summary={KEY: token_text([0])})
    foreign = lake.append(summary={"operation": "replace"})
    assert verify(foreign, CONNECTOR, TOPIC).clean

    del lake.snapshots[0]
    lake.properties[KEY] = token_text([0])
    assert verify(lake.metadata(2), CONNECTOR, TOPIC).clean

    lake.properties.clear()
    with pytest.raises(LookupError, match=KEY):
        verify(lake.metadata(2), CONNECTOR, TOPIC)
