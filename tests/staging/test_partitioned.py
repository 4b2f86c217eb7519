"""Rows of partitioned and sorted tables, as they are found in the files of their partitions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform, TruncateTransform
from pyiceberg.types import LongType
from tests.pipes.default.chunks import NOW, TOPIC, Worker, batch, columns, struct
from tests.pipes.sql.landing import compiled, create
from tests.support.open_files import at_most

from frazil.layout import hashing
from frazil.layout.partitions import Partition
from frazil.layout.sources import unwritable
from frazil.model import Column, Conversion, Layout, LayoutTransform, PartitionField, SortField
from frazil.pipes.base import Pipe
from frazil.pipes.default.pipe import DefaultPipe
from frazil.pipes.sql.pipe import SqlPipe
from frazil.pipes.types import sql_type
from frazil.records.convert import RecordConverter
from frazil.sql import ident
from frazil.staging.partitioned import PartitionedRows
from frazil.staging.project import Projector
from frazil.staging.rows import ChunkFiles, PartitionFiles

IDENTITY = LayoutTransform("identity")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    opened = Worker(tmp_path)
    yield opened
    opened.close()


def by(*fields: tuple[Column, LayoutTransform], order: tuple[SortField, ...] = ()) -> Layout:
    return Layout(tuple(PartitionField(column.name, column.id, transform) for column, transform in fields), order)


def selected(shape: tuple[Column, ...], *rows: str) -> str:
    """A statement that yields rows, given as SQL."""
    names = ", ".join(f"v{number}" for number in range(len(shape)))
    casts = ", ".join(
        f"CAST(v{number} AS {sql_type(column.type)}) AS {ident(column.name)}" for number, column in enumerate(shape)
    )
    return f"SELECT {casts} FROM (VALUES {', '.join(f'({row})' for row in rows)}) AS given({names})"


def found(worker: Worker, held: PartitionedRows) -> dict[Partition, list[Any]]:
    """What is written, in the order of each file, by partition."""
    files: dict[Partition, list[Any]] = {}
    for written in held.write():
        rows = worker.read(written.path)
        assert written.partition not in files
        assert len(rows) == written.rows
        files[written.partition] = rows
    return files


def test_each_partition_has_one_file_for_all_chunks(worker: Worker) -> None:
    _, day = shape = columns(x="long", day="date")
    held = PartitionedRows(worker.connection, shape, by((day, LayoutTransform("month"))), worker.scratch)
    for start in range(0, 30, 10):
        rows = [f"{n}, DATE '2024-01-01' + {7 * n}" for n in range(start, start + 10)]
        held.take(selected(shape, *rows), 1)

    files = found(worker, held)

    assert {each.directory for each in files} == {f"day=2024-0{month}" for month in range(1, 8)}
    for each, rows in files.items():
        assert {(day.year - 1970) * 12 + day.month - 1 for _, day in rows} == set(each.values)
    assert sorted(x for rows in files.values() for x, _ in rows) == list(range(30))
    assert found(worker, held) == {}


def test_rows_of_a_partition_are_in_the_order_in_which_they_came(worker: Worker) -> None:
    _, kind = shape = columns(n="long", kind="long")
    held = PartitionedRows(worker.connection, shape, by((kind, IDENTITY)), worker.scratch)
    for start in range(0, 15_000, 5_000):
        held.take(f"SELECT n, (n % 3)::BIGINT AS kind FROM range({start}, {start + 5_000}) AS given(n)", 1)

    files = {each.values[0]: [n for n, _ in rows] for each, rows in found(worker, held).items()}

    assert files == {kind: [*range(kind, 15_000, 3)] for kind in range(3)}


def test_rows_without_a_value_and_zeros_of_both_signs_have_partitions_of_their_own(worker: Worker) -> None:
    x, _ = shape = columns(x="double", n="long")
    held = PartitionedRows(worker.connection, shape, by((x, IDENTITY)), worker.scratch)
    held.take(selected(shape, "'0.0', 1", "'-0.0', 2", "'nan', 3", "NULL, 4", "'-inf', 5", "'-0.0', 6"), 1)

    files = {repr(each.values[0]): [n for _, n in rows] for each, rows in found(worker, held).items()}

    assert files == {"0.0": [1], "-0.0": [2, 6], "nan": [3], "None": [4], "-inf": [5]}


def test_a_tuple_of_several_fields_is_one_partition_also_where_values_are_missing(worker: Worker) -> None:
    a, b = shape = columns(a="string", b="long")
    held = PartitionedRows(
        worker.connection, shape, by((a, IDENTITY), (b, LayoutTransform("truncate", 10))), worker.scratch
    )
    held.take(selected(shape, "'x', 11", "'x', 19", "'x', NULL", "NULL, -1", "NULL, NULL", "NULL, NULL"), 1)

    files = {each.values: [b for _, b in rows] for each, rows in found(worker, held).items()}

    assert files == {("x", 10): [11, 19], ("x", None): [None], (None, -10): [-1], (None, None): [None, None]}


def test_a_statement_that_fails_leaves_what_was_held(worker: Worker) -> None:
    (x,) = shape = columns(x="long")
    held = PartitionedRows(worker.connection, shape, by((x, IDENTITY)), worker.scratch)
    held.take(selected(shape, "1", "2"), 1)

    with pytest.raises(duckdb.Error, match="bad"):
        held.take("SELECT CASE WHEN n < 5000 THEN n ELSE error('bad')::BIGINT END FROM range(10000) AS r(n)", 1)
    held.take(selected(shape, "2"), 1)

    assert {each.values: rows for each, rows in found(worker, held).items()} == {(1,): [(1,)], (2,): [(2,), (2,)]}


def test_columns_may_be_called_like_anything_within(worker: Worker) -> None:
    k0, *_ = shape = columns(k0="long", number="long", c1="long")
    held = PartitionedRows(worker.connection, shape, by((k0, IDENTITY)), worker.scratch)
    held.take(selected(shape, "1, 2, 3", "4, 5, 6"), 1)

    assert sorted(found(worker, held).values()) == [[(1, 2, 3)], [(4, 5, 6)]]


@pytest.mark.parametrize("partitions", [1, 3])
def test_rows_are_sorted_within_each_file(worker: Worker, partitions: int) -> None:
    place = struct(at="timestamp")
    p, n, _ = shape = columns(p="long", n="long", s=place)
    order = (
        SortField(place.fields[0].id, LayoutTransform("day"), descending=True, nulls_first=False),
        SortField(n.id, IDENTITY),
    )
    held = PartitionedRows(worker.connection, shape, by((p, IDENTITY), order=order), worker.scratch)
    rows = [
        f"{n % partitions}, {100 - n}, {{'at': TIMESTAMP '2024-01-01 12:00:00' + INTERVAL {n % 5} DAY}}"
        for n in range(50)
    ]
    for part in range(0, 50, 10):
        held.take(selected(shape, *rows[part : part + 10], f"{part % partitions}, 1, NULL"), 1)

    files = found(worker, held)

    assert len(files) == partitions
    for rows in files.values():
        keys = [(s is None, s and -s["at"].toordinal(), n) for _, n, s in rows]
        assert keys == sorted(keys)
        assert len(keys) > 10


def test_a_table_without_partitions_is_sorted_as_well(worker: Worker) -> None:
    (x,) = shape = columns(x="double")
    files = ChunkFiles(worker.connection, shape, Layout(order=(SortField(x.id, IDENTITY, nulls_first=False),)))

    written = files.take(selected(shape, "'2'", "'nan'", "NULL", "'-1'"), 1, worker.scratch / "a.parquet")

    assert str(worker.read(written.path)) == "[(-1.0,), (2.0,), (nan,), (None,)]"


def test_buckets_of_texts_and_nested_values_land_whole(worker: Worker) -> None:
    t, *_ = shape = columns(t="string", v="variant", s=struct(a="long"))
    layout = by((t, LayoutTransform("bucket", 4)))
    hashing.teach(worker.connection, layout)
    held = PartitionedRows(worker.connection, shape, layout, worker.scratch)
    held.take(
        selected(shape, *(f"""'{n}', '{{"n": [{n}]}}'::JSON, {{'a': {n}}}""" for n in range(100))),
        1,
    )

    files = found(worker, held)

    assert {each.values[0] for each in files} == {0, 1, 2, 3}
    rows = sorted(row for rows in files.values() for row in ((int(t), v, s) for t, v, s in rows))
    assert rows == [(n, {"n": [n]}, {"a": n}) for n in range(100)]


def test_files_have_the_ids_of_their_columns_and_nothing_else(worker: Worker) -> None:
    x, y = shape = columns(x="long", y="string")
    held = PartitionedRows(worker.connection, shape, by((x, LayoutTransform("truncate", 10))), worker.scratch)
    held.take(selected(shape, "1, 'a'", "11, 'b'"), 1)

    for written in held.write():
        fields = pq.read_schema(written.path)
        assert [(each.name, each.metadata[b"PARQUET:field_id"]) for each in fields] == [
            ("x", str(x.id).encode()),
            ("y", str(y.id).encode()),
        ]
        assert written.statistics['"x"']["null_count"] == "0"


@pytest.mark.parametrize(
    ("transform", "theirs", "most", "files_each"),
    [
        (IDENTITY, IdentityTransform(), 9, 1),
        (LayoutTransform("bucket", 500), BucketTransform(500), 3, 2),
        (LayoutTransform("truncate", 4), TruncateTransform(4), 3, 2),
    ],
    ids=["identity", "bucket", "truncate"],
)
def test_however_many_partitions_there_are_one_file_is_open_at_a_time(
    worker: Worker, transform: LayoutTransform, theirs: Transform[Any, Any], most: int, files_each: int
) -> None:
    x, t = shape = columns(x="long", t="string")
    layout = by((x, transform), order=(SortField(t.id, IDENTITY),))
    hashing.teach(worker.connection, layout)
    held = PartitionFiles(PartitionedRows(worker.connection, shape, layout, worker.scratch), most)
    sent = [(n * 7919 % 2000, f"{chunk}-{n}") for chunk in range(4) for n in range(2000)]
    partitions: list[tuple[Any, ...]] = []
    landed: list[tuple[int, str]] = []

    with at_most(8):
        for chunk in range(4):
            select = f"SELECT (n * 7919 % 2000)::BIGINT AS x, '{chunk}-' || n AS t FROM range(2000) AS r(n)"
            held.take(select, 1, worker.scratch / "never")
            for written in held.rest() if chunk == 3 else held.due():
                partitions.append(written.partition.values)
                rows = worker.read(written.path)
                assert [each for _, each in rows] == sorted(each for _, each in rows)
                landed += rows

    partition_of = theirs.transform(LongType())
    assert sorted(partitions) == sorted([*{(partition_of(x),) for x, _ in sent}] * files_each)
    assert sorted(landed) == sorted(sent)


LEAST = {
    "decimal(9,2)": "-9999999.99",
    "decimal(18,0)": "-" + "9" * 18,
    "decimal(38,0)": "-" + "9" * 38,
    "decimal(38,38)": "-0." + "9" * 38,
}


def piped(kind: str, shape: tuple[Column, ...]) -> Pipe:
    """A pipe that brings the keys of records to the columns of their names: the default one, or a user's."""
    if kind == "default":
        return DefaultPipe(shape, Conversion())
    return SqlPipe(compiled(create("$1:n, $1:x"), shape), shape, Conversion())


@pytest.mark.parametrize("pipe", ["default", "user's"])
@pytest.mark.parametrize("kind", LEAST)
def test_a_value_that_no_partition_takes_is_a_reject_and_its_neighbours_land(
    worker: Worker, pipe: str, kind: str
) -> None:
    n, x = shape = columns(n="long", x=kind)
    layout = by((n, LayoutTransform("bucket", 4)), (x, LayoutTransform("truncate", 10)))
    hashing.teach(worker.connection, layout)
    held = PartitionedRows(worker.connection, shape, layout, worker.scratch)
    records = [f'{{"n": {n}, "x": {value}}}' for n, value in enumerate(["0", f'"{LEAST[kind]}"', "null"])]
    converted = RecordConverter(Conversion()).convert(batch(records), NOW)

    projector = Projector(worker.connection, piped(pipe, shape), TOPIC, PartitionFiles(held, 10**9))
    done = projector.project(converted.table, converted.records, worker.scratch / "unused.parquet")

    assert sorted(row for rows in found(worker, held).values() for row in rows) == [(0, 0), (2, None)]
    (reject,) = done.rejects
    assert (reject.offset, reject.column) == (1, "x")
    assert reject.reason == (
        f"the table is partitioned by x, and truncate[10] of the value is out of the range of {kind}"
    )


@pytest.mark.parametrize("kind", LEAST)
@pytest.mark.parametrize("is_partitioned", [False, True])
def test_the_least_decimal_is_sorted_before_all_others(worker: Worker, kind: str, is_partitioned: bool) -> None:
    n, x = shape = columns(n="long", x=kind)
    order = (SortField(x.id, LayoutTransform("truncate", 10)),)
    statement = selected(shape, "1, '0'", f"1, '{LEAST[kind]}'", "1, NULL")
    path = worker.scratch / "sorted.parquet"
    if is_partitioned:
        held = PartitionedRows(worker.connection, shape, by((n, IDENTITY), order=order), worker.scratch)
        held.take(statement, 1)
        (rows,) = found(worker, held).values()
    else:
        ChunkFiles(worker.connection, shape, Layout((), order)).take(statement, 1, path)
        rows = worker.read(path)

    assert [value for _, value in rows if value is not None] == [Decimal(LEAST[kind]), 0]


EXTREMES = {
    "int": ["-2147483648", "2147483647"],
    "long": ["-9223372036854775808", "9223372036854775807"],
    "float": ["NaN", "Infinity", "-Infinity", "-0.0", "3.4028234e38", "1e-45"],
    "double": ["NaN", "Infinity", "-Infinity", "-0.0", "1.7976931348623157e308", "5e-324"],
    "boolean": ["true", "false"],
    "date": ["0001-01-01", "9999-12-31"],
    "time": ["00:00:00", "23:59:59.999999"],
    "timestamp": ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"],
    "timestamptz": ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"],
    "timestamp_ns": ["1677-09-21T00:12:43.145225", "2262-04-11T23:47:16.854775806"],
    "timestamptz_ns": ["1677-09-21T00:12:43.145225Z", "2262-04-11T23:47:16.854775806Z"],
    "decimal(38,0)": ["-1", "9" * 38],
    "string": ["", "\u0001", "..", "/", "\U0001f600" * 3, "a" * 5000],
    "binary": ["", "00", "ff" * 5000],
    "fixed[3]": ["000000", "ffffff"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
}
TRANSFORMS = [
    *(LayoutTransform(name) for name in ("identity", "void", "year", "month", "day", "hour")),
    *(LayoutTransform(name, size) for name in ("bucket", "truncate") for size in (1, 10, 2**31 - 1)),
]


@pytest.mark.parametrize("kind", EXTREMES)
def test_every_transform_takes_the_ends_of_its_types(worker: Worker, kind: str) -> None:
    _, x = shape = columns(n="long", x=kind)
    layouts = [by((x, each), order=(SortField(x.id, each),)) for each in TRANSFORMS]
    records = [orjson.dumps({"n": n, "x": value}).decode() for n, value in enumerate([*EXTREMES[kind], None])]
    converted = RecordConverter(Conversion()).convert(batch(records), NOW)
    for layout in layouts:
        if unwritable(layout, shape):
            continue
        hashing.teach(worker.connection, layout)
        held = PartitionedRows(worker.connection, shape, layout, worker.scratch)
        projector = Projector(worker.connection, piped("default", shape), TOPIC, PartitionFiles(held, 10**9))

        done = projector.project(converted.table, converted.records, worker.scratch / "unused.parquet")

        assert [*done.rejects] == []
        numbers = [n for rows in found(worker, held).values() for n, _ in rows]
        assert sorted(numbers) == [*range(len(records))], layout
