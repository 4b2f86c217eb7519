"""Deleted rows are not there, whoever deleted them in whatever way."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.queries.tables import Tables

from frazil.errors import InvalidQuery, SparkNeeded
from frazil.model import TableName
from frazil.queries.engine import Engine
from frazil.snowflake.compiled import Compiled, ResultColumn, Scan
from frazil.snowflake.lake import Moment


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("how", ["", "PARTITIONED BY (bucket(2, id))"])
def test_positions(tables: Tables, version: str, how: str) -> None:
    name = tables.create("id INT, v STRING", how, format_version=version)
    tables.sql(
        name,
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')",
        "INSERT INTO {t} SELECT id, concat('v', id) FROM range(0, 1000, 1, 2)",
        "DELETE FROM {t} WHERE id % 7 = 0",
        "INSERT INTO {t} VALUES (7, 'again')",
        "DELETE FROM {t} WHERE id = 500 OR id = 8",
    )

    found = tables.read(name, "SELECT * FROM t ORDER BY id")

    assert len(found) == 1000 - 143 - 2 + 1
    assert found == tables.by_spark(name, "SELECT * FROM t ORDER BY id")
    told = f"select row_count from information_schema.tables where table_name = '{name.name}'"
    assert tables.engine.answer(told).batches.read_all().to_pylist() == [{"ROW_COUNT": len(found)}]
    assert tables.read(name, "SELECT v FROM t WHERE id = 7", columns=["id", "v"], width=1) == [("again",)]
    before = Moment(snapshot=tables.snapshots(name)[0])
    assert tables.read(name, "SELECT count(*) FROM t", moment=before, width=1) == [(1000,)]


@pytest.fixture(params=["plain", "partitioned"])
def upserted(request: pytest.FixtureRequest, tables: Tables) -> TableName:
    """Rows that were replaced by their key, as Flink does it; the key was renamed after."""
    how = "PARTITIONED BY (p)" if request.param == "partitioned" else ""
    name = tables.create("id INT, p STRING, v STRING", how, format_version="2")
    tables.sql(name, "INSERT INTO {t} VALUES (1, 'a', 'old'), (2, 'a', 'kept'), (NULL, 'a', 'old')")
    delete_by_id(tables, name, [1, None], "a" if how else None)
    tables.sql(
        name, "INSERT INTO {t} VALUES (1, 'a', 'new'), (3, 'b', 'kept')", "ALTER TABLE {t} RENAME COLUMN id TO k"
    )
    delete_by_id(tables, name, [3], "a" if how else None, "second")
    return name


def test_values(tables: Tables, upserted: TableName) -> None:
    found = sorted(tables.read(upserted), key=str)

    assert found == sorted(tables.by_spark(upserted), key=str)
    assert (1, "a", "new") in found
    assert not [row for row in found if row[2] == "old"]


def test_what_duckdb_would_compare_in_another_way_is_read_by_spark(tables: Tables) -> None:
    name = tables.create("id INT, x DOUBLE, t TIMESTAMP, n TIMESTAMP_NTZ, s STRUCT<a: INT>", format_version="2")
    tables.sql(
        name,
        "INSERT INTO {t} VALUES (1, 0.0, timestamp'2020-01-01 00:00:00Z', timestamp_ntz'2020-01-01', struct(1)), (2, -0.0, NULL, NULL, NULL), (3, 1.5, NULL, NULL, NULL)",
    )
    delete_by(tables, name, pa.field("x", pa.float64(), metadata={"PARQUET:field_id": "2"}), 2, [0.0], None)

    assert tables.read(name) == tables.by_spark(name)
    assert (3, 1.5, None, None, None) in tables.read(name)
    with Engine(tables.catalog) as without, pytest.raises(SparkNeeded, match="only Spark reads"):
        without.run(Compiled("FROM t", (ResultColumn("X"),), (Scan("t", name),)))


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_files_of_other_formats_are_read_by_spark(tables: Tables, kind: str) -> None:
    name = tables.create("id INT, d DECIMAL(20,3), b BINARY, l ARRAY<STRING>", format_version="2")
    tables.sql(
        name,
        f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.format.default' = '{kind}')",
        "INSERT INTO {t} VALUES (1, 1.125, X'00FF', array('a', NULL)), (2, NULL, NULL, NULL)",
    )

    assert tables.read(name, "SELECT * FROM t ORDER BY id") == tables.by_spark(name, "SELECT * FROM t ORDER BY id")


def test_a_damaged_deletion_vector_is_not_passed_over(tables: Tables) -> None:
    name = tables.create("id INT")
    tables.sql(
        name,
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')",
        "INSERT INTO {t} SELECT id FROM range(0, 100, 1, 1)",
        "DELETE FROM {t} WHERE id = 5",
    )
    (puffin,) = (tables.warehouse / "public" / name.name / "data").rglob("*.puffin")
    content = bytearray(puffin.read_bytes())
    content[30] ^= 1
    puffin.write_bytes(content)

    with pytest.raises(InvalidQuery, match="damaged"):
        tables.read(name)


def delete_by_id(
    tables: Tables, name: TableName, ids: list[int | None], partition: str | None, called: str = "first"
) -> None:
    delete_by(tables, name, pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"}), 1, ids, partition, called)


def delete_by(
    tables: Tables,
    name: TableName,
    field: pa.Field,
    identity: int,
    values: list,
    partition: str | None,
    called: str = "x",
) -> None:
    """Write an equality delete file and commit it, as Flink does."""
    java, jvm = tables.java(name), tables.catalog.jvm
    file: Path = tables.warehouse / "public" / name.name / "data" / f"{called}-deletes.parquet"
    pq.write_table(pa.table([pa.array(values, field.type)], pa.schema([field])), file)
    ids = tables.spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = identity
    builder = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(java.spec()).ofEqualityDeletes(ids)
    builder = builder.withPath(str(file)).withFormat("PARQUET").withFileSizeInBytes(file.stat().st_size)
    if partition is not None:
        builder = builder.withPartitionPath(f"p={partition}")
    java.newRowDelta().addDeletes(builder.withRecordCount(len(values)).build()).commit()
