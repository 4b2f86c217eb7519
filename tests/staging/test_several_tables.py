"""A task whose records go to several tables: read once, and each table gets what it lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from tests.pipes.default.chunks import columns
from tests.support.channels import at, offsets

from frazil.dev.kafka import KafkaBroker
from frazil.model import (
    Column,
    ReaderSpec,
    Reject,
    SourcePartition,
    StagedTable,
    TableName,
    TableTask,
    Task,
    WriteShape,
)
from frazil.staging.task import stage
from frazil.testing.records import produce


def part(directory: Path, name: str, shape: tuple[Column, ...] = (), *, evolves: bool = False) -> TableTask:
    """A table with a directory of its own, of whole numbers `n` unless it has another shape."""
    table = TableName(("public",), name)
    return TableTask(
        WriteShape(table, name, 0, 0, 0, shape or columns(n="long"), has_rows=not evolves, evolves=evolves),
        data_path=f"file:{directory}/{name}/data-{{}}.parquet",
        rejects_path=f"file:{directory}/{name}/rejects-{{}}.parquet",
    )


@pytest.fixture
def task(broker: KafkaBroker, make_topic, tmp_path: Path) -> Task:
    """Ten numbers in each of two partitions; A lacks all of them, B has six of the first and all of the second."""
    topic = make_topic(partitions=2)
    for partition in range(2):
        values = [b'{"n": %d}' % (100 * partition + number) for number in range(10)]
        produce(broker.bootstrap_servers, topic, values, partition=partition)
    first, second = (SourcePartition(topic, number) for number in range(2))
    return Task(
        connector="SHOP",
        ranges=(offsets(first, 0, 10), offsets(second, 0, 10)),
        tables=(
            part(tmp_path, "A"),
            replace(part(tmp_path, "B"), starts={first: at(6), second: at(12)}),
        ),
        reader=ReaderSpec("kafka", {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"}),
    )


def rows(staged: StagedTable, column: str = "n") -> list[object]:
    """What is in the table's files."""
    found = [
        row[0] for file in staged.files for row in duckdb.execute(f"SELECT {column} FROM '{file.path}'").fetchall()
    ]
    assert len(found) == sum(file.rows for file in staged.files)
    return sorted(found)


def counts(staged: StagedTable) -> list[tuple[object, object, int, int, int]]:
    """How far the table came, by partition: start, covered, records read, rows and rejects."""
    return [(each.start, each.covered, each.parsed, each.inserted, each.errors) for each in staged.ranges]


def longer(broker: KafkaBroker, task: Task, *values: bytes) -> Task:
    """The task with more records in the first partition."""
    first, second = task.ranges
    produce(broker.bootstrap_servers, first.partition.topic, values)
    end = at(10 + len(values))
    return replace(task, ranges=(replace(first, end=end), second))


def test_each_table_gets_only_what_it_lacks(task: Task) -> None:
    staged = stage(task)

    assert staged.failure is None
    a, b = staged.tables
    assert (a.shape.table.name, rows(a)) == ("A", [*range(10), *range(100, 110)])
    assert (b.shape.table.name, rows(b)) == ("B", [6, 7, 8, 9])
    assert counts(a) == [(at(0), at(10), 10, 10, 0)] * 2
    assert counts(b) == [(at(6), at(10), 4, 4, 0), (at(10), at(10), 0, 0, 0)]


def test_what_was_read_is_counted_once_however_many_tables_it_goes_to(task: Task) -> None:
    staged = stage(task)

    assert [(each.start, each.covered, each.parsed, each.bytes) for each in staged.ranges] == [
        (at(0), at(10), 10, 80),
        (at(0), at(10), 10, 100),
    ]


def test_a_start_within_a_batch_and_one_behind_chunks_are_kept_to(task: Task) -> None:
    (first, _), (a, b) = task.ranges, task.tables

    for begin in range(11):
        staged = stage(replace(task, tables=(a, replace(b, starts={first.partition: at(begin)})), chunk_bytes=1))

        assert rows(staged.tables[0]) == [*range(10), *range(100, 110)]
        assert rows(staged.tables[1]) == [*range(begin, 10), *range(100, 110)]


def test_each_table_rejects_by_its_own_columns(broker: KafkaBroker, task: Task, tmp_path: Path) -> None:
    more = longer(broker, task, b'{"n": "text"}', b"no JSON", b'{"n": 12}')
    strict, lenient = part(tmp_path, "STRICT"), part(tmp_path, "LENIENT", columns(n="string"))

    staged = stage(replace(more, tables=(strict, lenient), tolerance="all"))

    assert staged.failure is None
    a, b = staged.tables
    assert rows(a) == [*range(10), 12, *range(100, 110)]
    assert rows(b) == sorted([*(str(number) for number in (*range(10), 12, *range(100, 110))), "text"])
    assert [rejected(each) for each in (a, b)] == [[10, 11], [11]]
    assert (counts(a)[0], counts(b)[0]) == ((at(0), at(13), 13, 11, 2), (at(0), at(13), 13, 12, 1))


def rejected(staged: StagedTable) -> list[int]:
    """The offsets in the table's reject file."""
    assert staged.rejects
    path = staged.rejects.path
    return [row[0] for row in duckdb.execute(f"SELECT \"offset\" FROM '{path}' ORDER BY 1").fetchall()]


def test_without_tolerance_a_bad_record_of_one_table_ends_the_range_for_all(
    broker: KafkaBroker, task: Task, tmp_path: Path
) -> None:
    more = longer(broker, task, b'{"n": 10}', b'{"n": "text"}', b'{"n": 12}')
    strict, lenient = part(tmp_path, "STRICT"), part(tmp_path, "LENIENT", columns(n="string"))

    staged = stage(replace(more, tables=(strict, lenient)))

    assert staged.failure is None
    a, b = staged.tables
    assert rows(a) == [*range(11), *range(100, 110)]
    assert rows(b) == sorted(str(number) for number in (*range(11), *range(100, 110)))
    assert [counts(each)[0][1] for each in staged.tables] == [at(11), at(11)]
    assert [each.covered for each in staged.ranges] == [at(11), at(10)]
    first: Reject | None = a.rejects.first if a.rejects else None
    assert (first and first.offset, b.rejects) == (11, None)
    assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == sorted(
        Path(file.path).name for each in staged.tables for file in each.files
    )


def test_a_bad_record_that_only_the_table_behind_meets_stops_it_there(broker: KafkaBroker, task: Task) -> None:
    first, second = task.ranges
    produce(broker.bootstrap_servers, first.partition.topic, [b"no JSON", b'{"n": 11}'])
    a, b = task.tables
    beyond = replace(b, starts={first.partition: at(11)})

    staged = stage(replace(task, ranges=(replace(first, end=at(12)), second), tables=(a, beyond)))

    one, other = staged.tables
    assert (rows(one), rows(other)) == ([*range(10), *range(100, 110)], [*range(100, 110)])
    assert counts(one)[0] == (at(0), at(10), 10, 10, 0)
    assert counts(other)[0][2:] == (0, 0, 0)


def test_new_keys_of_one_table_have_the_others_staged_again_too(
    broker: KafkaBroker, task: Task, tmp_path: Path
) -> None:
    wide = part(tmp_path, "WIDE", (), evolves=True)

    staged = stage(replace(task, tables=(task.tables[0], replace(wide, shape=replace(wide.shape, columns=())))))

    assert staged.failure is None
    a, b = staged.tables
    assert ([*b.drift], a.drift) == (["n"], {})
    assert (a.files, b.files) == ((), ())
    assert [*tmp_path.rglob("*.parquet")] == []


def test_storage_of_one_table_that_fails_is_its_own_failure_and_nothing_is_left_of_the_other(
    task: Task, tmp_path: Path
) -> None:
    (tmp_path / "B").write_text("no directory")

    staged = stage(task)

    assert staged.failure is not None
    assert (staged.failure.error, staged.failure.table) == ("storage_unavailable", TableName(("public",), "B"))
    assert [*tmp_path.rglob("*.parquet")] == []
