"""Tables as they are now and were, whatever became of their columns since their files were written."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.queries.tables import Tables

from frazil.errors import InvalidQuery
from frazil.model import TableName
from frazil.snowflake.lake import Moment


def test_a_table_without_rows_has_its_columns(tables: Tables) -> None:
    name = tables.create("id BIGINT, s STRUCT<a: INT>, l ARRAY<STRING>, v VARIANT")

    assert tables.read(name) == []


def test_columns_that_were_renamed_widened_added_dropped_and_moved(tables: Tables) -> None:
    name = tables.create("id INT, f FLOAT, d DECIMAL(5,2), gone STRING, name STRING")
    tables.sql(
        name,
        "INSERT INTO {t} VALUES (1, 1.5, 1.25, 'gone', 'a')",
        "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(20,2)",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ADD COLUMN gone INT",
        "ALTER TABLE {t} RENAME COLUMN name TO title",
        "ALTER TABLE {t} ADD COLUMN name STRING FIRST",
        "INSERT INTO {t} VALUES ('n', 8589934592, 1e300, 123456789012.25, 'b', 7)",
    )

    assert sorted(tables.read(name), key=str) == sorted(tables.by_spark(name), key=str)


def test_fields_within_structs_lists_and_maps_are_found_by_their_ids(tables: Tables) -> None:
    name = tables.create(
        "id INT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT>>, m MAP<STRING, STRUCT<q: FLOAT>>"
    )
    tables.sql(
        name,
        "INSERT INTO {t} VALUES (1, struct(1, 'a'), array(struct(1), null), map('k', struct(1.5f))), (2, null, null, null)",
        "ALTER TABLE {t} RENAME COLUMN s.x TO z",
        "ALTER TABLE {t} DROP COLUMN s.y",
        "ALTER TABLE {t} ADD COLUMN s.x STRING FIRST",
        "ALTER TABLE {t} ADD COLUMN l.element.p2 STRING FIRST",
        "ALTER TABLE {t} ALTER COLUMN l.element.p TYPE BIGINT",
        "ALTER TABLE {t} RENAME COLUMN m.value.q TO r",
        "ALTER TABLE {t} ALTER COLUMN m.value.r TYPE DOUBLE",
        "INSERT INTO {t} VALUES (3, struct('x', 2), array(struct('n', 8589934592L)), map('k', struct(2.5d)))",
    )

    assert tables.read(name, "SELECT * FROM t ORDER BY id") == [
        (1, {"x": None, "z": 1}, [{"p2": None, "p": 1}, None], [("k", {"r": 1.5})]),
        (2, None, None, None),
        (3, {"x": "x", "z": 2}, [{"p2": "n", "p": 8589934592}], [("k", {"r": 2.5})]),
    ]


def test_an_initial_default_fills_rows_from_before_its_column(tables: Tables) -> None:
    name = tables.create("id INT")
    tables.sql(name, "INSERT INTO {t} VALUES (1)")
    java = tables.java(name)
    jvm = tables.catalog.jvm
    types, literals = jvm.org.apache.iceberg.types.Types, jvm.org.apache.iceberg.expressions.Expressions
    update = java.updateSchema()
    update.addColumn("n", types.IntegerType.get(), literals.lit(7))
    update.addColumn("s", types.StringType.get(), literals.lit("it's"))
    update.addColumn("d", types.DateType.get(), literals.lit("2020-02-29").to(types.DateType.get()))
    update.addColumn("b", types.BooleanType.get(), literals.lit(True))
    update.addColumn("t", types.TimeType.get(), literals.lit("10:11:12.5").to(types.TimeType.get()))
    update.addColumn(
        "m",
        types.TimestampType.withZone(),
        literals.lit("2020-01-02T03:04:05.000006+00:00").to(types.TimestampType.withZone()),
    )
    update.commit()

    assert tables.read(name) == [
        (
            1,
            7,
            "it's",
            dt.date(2020, 2, 29),
            True,
            dt.time(10, 11, 12, 500000),
            dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC),
        )
    ]


def test_types_that_spark_does_not_write(tables: Tables, tmp_path: Path) -> None:
    name = tables.create("id INT")
    types = tables.catalog.jvm.org.apache.iceberg.types.Types
    update = tables.java(name).updateSchema()
    for called, kind in {
        "t": types.TimeType.get(), "u": types.UUIDType.get(), "f": types.FixedType.ofLength(3),
        "n": types.TimestampNanoType.withoutZone(),
    }.items():  # fmt: skip
        update.addColumn(called, kind)
    update.commit()
    moment = "2020-01-02T03:04:05.123456789"
    fields = [
        (1, "id", pa.int32()),
        (2, "t", pa.time64("us")),
        (3, "u", pa.uuid()),
        (4, "f", pa.binary(3)),
        (5, "n", pa.timestamp("ns")),
    ]
    written = pa.table(
        [
            pa.array([1, 2], pa.int32()),
            pa.array([dt.time(23, 59, 59, 999999), None], pa.time64("us")),
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16)), None], pa.binary(16))),
            pa.array([b"\0\xff'", None], pa.binary(3)),
            pa.array([moment, None]).cast(pa.timestamp("ns")),
        ],
        pa.schema([with_id(number, called, kind) for number, called, kind in fields]),
    )
    append(tables, name, written, tmp_path / "types.parquet")

    assert tables.read(name, "SELECT id, t, u, f, n::VARCHAR FROM t ORDER BY id") == [
        (
            1,
            dt.time(23, 59, 59, 999999),
            "00010203-0405-0607-0809-0a0b0c0d0e0f",
            b"\0\xff'",
            "2020-01-02 03:04:05.123456789",
        ),
        (2, None, None, None, None),
    ]


def test_variants_of_any_writer(tables: Tables) -> None:
    texts = [
        '{"a":1,"b":[1,"x",null,1.5,true],"c":{"d":12345678901234567890.5}}', '"text"', "5", "[]", '{"z":"z","a":{}}',
        '{"a":"not a number","b":7}',
    ]  # fmt: skip
    values = ", ".join(f"({number}, parse_json('{text}'))" for number, text in enumerate(texts))
    found = {}
    for shredded in ("true", "false"):
        name = tables.create("id INT, v VARIANT")
        tables.sql(name, f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.parquet.shred-variants' = '{shredded}')")
        tables.sql(name, f"INSERT INTO {{t}} VALUES {values}, (90, NULL)")
        found[shredded] = tables.read(name, "SELECT id, v::JSON FROM t ORDER BY id")

    for read in found.values():
        assert [json.loads(text) if text else None for _, text in read] == [*(json.loads(text) for text in texts), None]


def test_files_without_field_ids_are_read_by_the_name_mapping_and_their_partitions(
    tables: Tables, tmp_path: Path
) -> None:
    name = tables.create("id INT, s STRUCT<a: INT, b: STRING>, p STRING", "PARTITIONED BY (p)")
    for part, identity in (("it's", 1), ("b", 2)):
        directory = tmp_path / f"p={part}"
        directory.mkdir()
        pq.write_table(
            pa.table({"s": [{"b": "x", "a": identity}], "id": pa.array([identity], pa.int32())}),
            directory / "x.parquet",
        )
        add(tables, name, directory / "x.parquet", 1, part)
    tables.sql(name, "INSERT INTO {t} VALUES (3, struct(3, 'z'), 'b')")
    mapping = (
        '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["s"],"fields":[{"field-id":4,"names":["a"]},'
        '{"field-id":5,"names":["b"]}]},{"field-id":3,"names":["p"]}]'
    )
    tables.java(name).updateProperties().set("schema.name-mapping.default", mapping).commit()
    tables.sql(name, "ALTER TABLE {t} RENAME COLUMN s.a TO c")

    found = tables.read(name, "SELECT * FROM t ORDER BY id")

    assert found == [(1, {"c": 1, "b": "x"}, "it's"), (2, {"c": 2, "b": "x"}, "b"), (3, {"c": 3, "b": "z"}, "b")]


def test_names_that_sql_or_file_systems_would_take_for_something_else(tables: Tables) -> None:
    name = tables.create(
        '`a b` INT, `it\'s "q"` STRING, filename STRING, file_row_number INT, `f1` INT', "PARTITIONED BY (filename)"
    )
    tables.sql(name, "INSERT INTO {t} VALUES (1, 'x', 'a*b', 5, 6), (2, 'y', '[c]?', 7, 8)")

    assert tables.read(name, 'SELECT * FROM t ORDER BY "a b"') == [(1, "x", "a*b", 5, 6), (2, "y", "[c]?", 7, 8)]


def test_moments_of_a_table(tables: Tables) -> None:
    name = tables.create("id INT")
    tables.sql(
        name, "INSERT INTO {t} VALUES (1)", "ALTER TABLE {t} RENAME COLUMN id TO n", "INSERT INTO {t} VALUES (2)"
    )
    first, second = tables.snapshots(name)
    times = [
        row[0]
        for row in tables.spark.sql(
            f"SELECT CAST(unix_millis(committed_at) AS BIGINT) FROM {tables.path(name)}.snapshots ORDER BY 1"
        ).collect()
    ]

    assert tables.read(name, "SELECT id FROM t", moment=Moment(snapshot=first), width=1) == [(1,)]
    assert tables.read(name, "SELECT id FROM t", moment=Moment(snapshot=second, before=True), width=1) == [(1,)]
    assert tables.read(name, "SELECT id FROM t", moment=Moment(timestamp=times[0]), width=1) == [(1,)]
    assert sorted(tables.read(name, "SELECT * FROM t", moment=Moment(timestamp=times[1]))) == [(1,), (2,)]
    for moment in (Moment(snapshot=17), Moment(timestamp=times[0], before=True), Moment(snapshot=first, before=True)):
        with pytest.raises(InvalidQuery, match=f"oldest snapshot there is: {first} of 20"):
            tables.read(name, moment=moment)


def test_changes_are_the_rows_that_were_appended(tables: Tables) -> None:
    name = tables.create("id INT")
    for number in range(3):
        tables.sql(name, f"INSERT INTO {{t}} VALUES ({number})")
    first, second, third = tables.snapshots(name)

    assert sorted(tables.read(name, since=Moment(snapshot=first))) == [(1,), (2,)]
    assert tables.read(name, since=Moment(snapshot=first), moment=Moment(snapshot=second)) == [(1,)]
    assert tables.read(name, since=Moment(snapshot=third)) == []
    assert len(tables.read(name, since=Moment(timestamp=0))) == 3
    tables.sql(name, "DELETE FROM {t} WHERE id = 1")
    with pytest.raises(InvalidQuery, match="deleted or overwrote rows"):
        tables.read(name, since=Moment(snapshot=first))


def test_a_file_that_is_gone_is_named_as_what_it_is(tables: Tables) -> None:
    name = tables.create("id INT")
    tables.sql(name, "INSERT INTO {t} VALUES (1)")
    for file in tables.files(name):
        file.unlink()

    with pytest.raises(InvalidQuery, match="Run the query again"):
        tables.read(name)


def with_id(number: int, name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def append(tables: Tables, name: TableName, rows: pa.Table, file: Path) -> None:
    pq.write_table(rows, file)
    add(tables, name, file, rows.num_rows)


def add(tables: Tables, name: TableName, file: Path, rows: int, partition: str | None = None) -> None:
    """Have a table hold a file that somebody else wrote."""
    java, jvm = tables.java(name), tables.catalog.jvm
    placed = tables.warehouse / "public" / name.name / "data" / f"{partition or ''}-{file.name}"
    placed.parent.mkdir(exist_ok=True, parents=True)
    shutil.copy(file, placed)
    builder = jvm.org.apache.iceberg.DataFiles.builder(java.spec()).withPath(str(placed)).withFormat("PARQUET")
    builder = builder.withFileSizeInBytes(placed.stat().st_size).withRecordCount(rows)
    if partition is not None:
        builder = builder.withPartitionValues([partition])
    java.newAppend().appendFile(builder.build()).commit()
