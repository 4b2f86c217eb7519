"""A task whose records each go to the table of their value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from tests.pipes.default.chunks import columns
from tests.support.channels import at, offsets
from tests.support.open_files import at_most

from frazil.dev.kafka import KafkaBroker
from frazil.model import (
    Layout,
    LayoutTransform,
    PartitionField,
    ReaderSpec,
    Route,
    RoutedTable,
    SourcePartition,
    Staged,
    TableName,
    TableTask,
    Task,
    WriteShape,
)
from frazil.staging.task import stage
from frazil.testing.records import produce

OWN, DE, FR = (TableName(("public",), name) for name in ("T", "T_DE", "T_FR"))
VALUES = [b'{"n": %d, "c": "%s"}' % (number, b"de" if number % 3 else b"fr") for number in range(10)]


def part(directory: Path, name: TableName, *, evolves: bool = False) -> TableTask:
    shape = columns() if evolves else columns(n="long", c="string")
    return TableTask(
        WriteShape(name, name.name, 0, 0, 0, shape, has_rows=not evolves, evolves=evolves),
        data_path=f"file:{directory}/{name.name}/data-{{}}.parquet",
        rejects_path=f"file:{directory}/{name.name}/rejects-{{}}.parquet",
    )


@pytest.fixture
def task(broker: KafkaBroker, make_topic, tmp_path: Path) -> Task:
    """Ten numbers by country, in the first partition, and two that lead nowhere with a tombstone in the second."""
    topic = make_topic(partitions=2)
    produce(broker.bootstrap_servers, topic, VALUES)
    produce(broker.bootstrap_servers, topic, [b'{"n": 100, "c": null}', None, b"no JSON"], partition=1)
    first, second = (SourcePartition(topic, number) for number in range(2))
    tables = {"T_DE": RoutedTable("de", DE), "T_FR": RoutedTable("fr", FR)}
    return Task(
        connector="SHOP",
        ranges=(offsets(first, 0, 10), offsets(second, 0, 3)),
        tables=tuple(part(tmp_path, each) for each in (OWN, DE, FR)),
        reader=ReaderSpec("kafka", {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"}),
        tolerance="all",
        route=Route(("c",), OWN, 5, tables),
    )


def rows(staged: Staged, name: TableName) -> list[int | None]:
    (found,) = [each for each in staged.tables if each.shape.table == name]
    return sorted(row[0] for file in found.files for row in duckdb.execute(f"SELECT n FROM '{file.path}'").fetchall())


def counts(staged: Staged, name: TableName) -> list[tuple[int, int, int]]:
    """Records, rows and rejects by partition."""
    (found,) = [each for each in staged.tables if each.shape.table == name]
    return [(each.parsed, each.inserted, each.errors) for each in sorted(found.ranges, key=lambda each: each.partition)]


@pytest.mark.parametrize("chunk_bytes", [1, 60, 32 * 1024 * 1024])
def test_each_table_gets_the_records_of_its_value(task: Task, chunk_bytes: int) -> None:
    staged = stage(replace(task, chunk_bytes=chunk_bytes))

    assert staged.failure is None
    assert (rows(staged, FR), rows(staged, DE)) == ([0, 3, 6, 9], [1, 2, 4, 5, 7, 8])
    assert rows(staged, OWN) == [None]
    assert counts(staged, FR) == [(4, 4, 0), (0, 0, 0)]
    assert counts(staged, DE) == [(6, 6, 0), (0, 0, 0)]
    assert counts(staged, OWN) == [(0, 0, 0), (3, 1, 2)]


def test_what_leads_nowhere_is_a_reject_with_its_reason(task: Task) -> None:
    staged = stage(task)

    rejects = staged.tables[0].rejects
    assert rejects is not None
    found = duckdb.execute(f"SELECT partition, \"offset\", stage, code, reason FROM '{rejects.path}'").fetchall()
    assert [row[:4] for row in sorted(found)] == [(1, 0, "route", "5015"), (1, 2, "route", "5015")]
    assert "c is null" in min(found)[4]


def test_a_table_that_has_some_of_it_gets_the_rest_and_the_others_all(task: Task) -> None:
    own, de, fr = task.tables
    (first, _) = task.ranges

    staged = stage(replace(task, tables=(own, replace(de, starts={first.partition: at(5)}), fr)))

    assert (rows(staged, FR), rows(staged, DE)) == ([0, 3, 6, 9], [5, 7, 8])
    assert counts(staged, DE) == [(3, 3, 0), (0, 0, 0)]


def test_what_the_topics_own_table_has_is_rejected_by_nobody_and_tells_no_new_value(task: Task) -> None:
    own, de, _ = task.tables
    starts = {each.partition: each.end for each in task.ranges}
    assert task.route is not None
    only_de = replace(task.route, tables={"T_DE": RoutedTable("de", DE)})

    staged = stage(replace(task, tables=(replace(own, starts=starts), de), route=only_de))

    assert (staged.new_values, rows(staged, DE)) == ({}, [1, 2, 4, 5, 7, 8])
    assert counts(staged, OWN) == [(0, 0, 0), (0, 0, 0)]
    assert staged.tables[0].rejects is None


def test_values_without_a_table_are_told_and_nothing_is_left_behind(task: Task, tmp_path: Path) -> None:
    own, _, fr = task.tables
    assert task.route is not None
    only_fr = replace(task.route, tables={"T_FR": RoutedTable("fr", FR)})

    staged = stage(replace(task, tables=(own, fr), route=only_fr))

    assert staged.new_values == {"T_DE": "de"}
    assert not [file for each in staged.tables for file in each.files]
    assert not [*tmp_path.rglob("*.parquet")]


def test_a_table_that_is_left_out_gets_nothing_and_nobody_else_its_records(task: Task) -> None:
    own, _, fr = task.tables

    staged = stage(replace(task, tables=(own, fr)))

    assert (rows(staged, FR), rows(staged, OWN)) == ([0, 3, 6, 9], [None])
    assert counts(staged, OWN) == [(0, 0, 0), (3, 1, 2)]


def test_new_columns_are_told_for_the_table_they_are_new_in(task: Task, tmp_path: Path) -> None:
    own, de, _ = task.tables

    staged = stage(replace(task, tables=(own, de, part(tmp_path, FR, evolves=True))))

    assert [sorted(each.drift) for each in staged.tables] == [[], [], ["c", "n"]]
    assert not [file for each in staged.tables for file in each.files]


def test_with_no_tolerance_each_partition_ends_before_what_leads_nowhere(task: Task) -> None:
    staged = stage(replace(task, tolerance="none"))

    assert (rows(staged, FR), rows(staged, DE)) == ([0, 3, 6, 9], [1, 2, 4, 5, 7, 8])
    assert {(each.partition.partition, each.covered) for each in staged.ranges} == {(0, at(10)), (1, at(0))}
    assert staged.tables[0].rejects is not None


MANY = 300
"""Values of a topic, more than connectors have tables for unless told otherwise."""


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_many_values_need_no_more_open_files_than_few(
    task: Task, broker: KafkaBroker, tmp_path: Path, is_partitioned: bool
) -> None:
    first, _ = task.ranges
    values = [b'{"n": %d, "c": "v%d"}' % (number, number % MANY) for number in range(4 * MANY)]
    produce(broker.bootstrap_servers, first.partition.topic, values)
    names = [TableName(("public",), f"T_V{number}") for number in range(MANY)]
    parts = [part(tmp_path, name) for name in (OWN, *names)]
    if is_partitioned:
        parts = [by_number(each) for each in parts]
    tables = {name.name: RoutedTable(f"v{number}", name) for number, name in enumerate(names)}
    assert task.route is not None
    many = replace(
        task,
        ranges=(offsets(first.partition, 10, 10 + len(values)),),
        tables=tuple(parts),
        route=replace(task.route, most=MANY, tables=tables),
    )
    stage(task)  # The reader's own connections are there from now on.

    with at_most(24):
        staged = stage(replace(many, chunk_bytes=8 * 1024))

    assert staged.failure is None
    for number, name in enumerate(names):
        assert rows(staged, name) == [number + MANY * time for time in range(4)]
        assert counts(staged, name) == [(4, 4, 0)]
    if is_partitioned:
        assert {file.partition for each in staged.tables for file in each.files} == {(0,), (600,)}
    assert rows(staged, OWN) == []


def by_number(part: TableTask) -> TableTask:
    """The same, of a table that is partitioned into rows below 600 and those from there on."""
    (n, _), transform = part.shape.columns, LayoutTransform("truncate", 600)
    layout = Layout((PartitionField("n_trunc", n.id, transform),))
    return replace(part, shape=replace(part.shape, layout=layout), partitions_at=part.data_path.index("data-"))
