"""Partitioned and sorted tables: what lands is laid out as Spark lays out the same rows, and scans pass over files."""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.integration.changing import Stream, When, alternating
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.tables.jvm.session import EMBEDDED
from frazil.testing import iceberg
from frazil.testing.records import produce

COLUMNS = (
    "n BIGINT, i INT, t STRING, b BINARY, price DECIMAL(9,2), d DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, x DOUBLE, "
    "flag BOOLEAN, s STRUCT<at: TIMESTAMP, name: STRING>, RECORD_METADATA STRUCT<offset: BIGINT>"
)
MOMENTS = [
    "1969-12-31T23:59:59.999999",
    "1970-01-01T00:00:00",
    "2024-02-29T12:30:00",
    "2024-02-29T23:00:00.5",
    "0999-01-01T00:00:00",
]


def record(number: int) -> dict[str, Any]:
    """Values on both sides of every border; each key is missing in some record."""
    moment = MOMENTS[number % len(MOMENTS)]
    values = {
        "n": number * 7 - 50,
        "i": [-(2**31), -1, 0, 2**31 - 1][number % 4],
        "t": ["", "a b/c", "Ærøskøbing \U0001f9ca", "null", "..", "50%"][number % 6],
        "b": ["", "00ff", "0001020304"][number % 3],
        "price": [-0.05, 10.65, 0, -10.65][number % 4],
        "d": moment[:10],
        "ts": f"{moment}Z",
        "ntz": moment,
        "x": [0.0, -0.0, "NaN", "Infinity", 1.5][number % 5],
        "flag": bool(number % 2),
        "s": None if number % 5 == 4 else {"at": f"{moment}Z", "name": f"name {number % 3}"},
    }
    missing = number % 13
    return {key: value for place, (key, value) in enumerate(values.items()) if place != missing}


RECORDS = [json.dumps(record(number)) for number in range(60)]

SPECS = [
    "n",
    "t",
    "b",
    "price",
    "d",
    "flag",
    "s.name",
    "bucket(4, n), bucket(3, i)",
    "bucket(5, t)",
    "bucket(4, b)",
    "bucket(4, price)",
    "bucket(4, d), bucket(4, ts)",
    "bucket(4, ntz)",
    "truncate(10, n), truncate(3, i)",
    "truncate(2, t), flag",
    "truncate(1, b)",
    "truncate(10, price)",
    "years(d), months(ts)",
    "days(d), hours(ts)",
    "days(ntz), years(d)",
    "hours(s.at)",
]


@pytest.fixture
def make_table(spark: SparkSession):
    """Make a topic's table, or another one: `make_table("T", "PARTITIONED BY (n)", "WRITE ORDERED BY n")`."""

    def make(name: str, how: str, *alter: str) -> str:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
        table = f"{EMBEDDED}.public.{name.upper()}"
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING iceberg {how} TBLPROPERTIES ('format-version'='2')")
        for each in alter:
            spark.sql(f"ALTER TABLE {table} {each}")
        return table

    return make


def by_partition(spark: SparkSession, table: str) -> dict[str, list[int]]:
    """The offsets of a table's rows by the tuple of the file that each is in."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in spark.sql(f"SELECT _partition AS p, RECORD_METADATA.offset AS at FROM {table}").collect():
        found[str(row["p"])].append(row["at"])
    return {tuple_: sorted(offsets) for tuple_, offsets in found.items()}


def directories(spark: SparkSession, table: str) -> set[str]:
    """Where below the data directory the files of a table are."""
    found = (each["file_path"] for each in spark.sql(f"SELECT file_path FROM {table}.files").collect())
    return {path.rpartition("/data/")[2].rpartition("/")[0] for path in found}


@pytest.mark.parametrize("spec", SPECS)
def test_rows_are_in_the_partitions_that_spark_puts_them_in(
    connect, topic, make_table, spark: SparkSession, lake: Path, broker: KafkaBroker, spec: str
):
    ours = make_table(topic, f"PARTITIONED BY ({spec})")
    theirs = make_table(f"{topic}_theirs", f"PARTITIONED BY ({spec})")
    produce(broker.bootstrap_servers, topic, RECORDS)
    caught_up(connect(topic))
    spark.sql(f"INSERT INTO {theirs} SELECT * FROM {ours}")

    assert by_partition(spark, ours) == by_partition(spark, theirs)
    assert spark.sql(f"SELECT * FROM {ours} EXCEPT ALL SELECT * FROM {theirs}").collect() == []
    assert len(by_partition(spark, ours)) == spark.table(f"{ours}.files").count()
    assert directories(spark, ours) == directories(spark, theirs)
    metadata = iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())
    assert StaticTable.from_metadata(str(metadata)).scan().to_arrow().num_rows == len(RECORDS)


def test_not_a_number_and_both_zeros_have_partitions_of_their_own(
    connect, topic, make_table, spark: SparkSession, broker: KafkaBroker
):
    ours = make_table(topic, "PARTITIONED BY (x)")
    values = ["0.0", "-0.0", '"NaN"', '"Infinity"', '"-Infinity"', "null", "1.5"]
    produce(broker.bootstrap_servers, topic, [f'{{"x": {value}}}' for value in values])

    caught_up(connect(topic))

    assert sorted(by_partition(spark, ours).values()) == [[number] for number in range(len(values))]
    found = spark.sql(f"SELECT CAST(x AS STRING) AS x FROM {ours} ORDER BY RECORD_METADATA.offset").collect()
    assert [each["x"] for each in found] == ["0.0", "-0.0", "NaN", "Infinity", "-Infinity", None, "1.5"]


@pytest.mark.parametrize(
    ("spec", "condition", "files"),
    [
        ("days(ts)", "ts >= TIMESTAMP '2024-02-29 00:00:00Z'", 1),
        ("bucket(8, n)", "n = 6", 1),
        ("t", "t = '50%'", 1),
        ("truncate(10, n)", "n BETWEEN 0 AND 9", 1),
        ("flag, years(d)", "flag AND d < DATE '1969-01-01'", 1),
    ],
)
def test_a_scan_passes_over_partitions_that_have_nothing_for_it(
    connect,
    topic,
    make_table,
    spark: SparkSession,
    lake: Path,
    broker: KafkaBroker,
    spec: str,
    condition: str,
    files: int,
):
    table = make_table(topic, f"PARTITIONED BY ({spec})")
    produce(broker.bootstrap_servers, topic, RECORDS)
    caught_up(connect(topic))
    plain = make_table(f"{topic}_plain", "")
    spark.sql(f"INSERT INTO {plain} SELECT * FROM {table}")

    selected = spark.sql(f"SELECT * FROM {table} WHERE {condition}")

    assert spark.table(f"{table}.files").count() > files
    assert len({row["f"] for row in spark.sql(f"SELECT _file AS f FROM {table} WHERE {condition}").collect()}) == files
    # What was planned shows in how many splits there are to be read.
    assert selected.rdd.getNumPartitions() == files
    offsets = [row["RECORD_METADATA"]["offset"] for row in selected.collect()]
    expected = spark.sql(f"SELECT RECORD_METADATA.offset AS at FROM {plain} WHERE {condition}").collect()
    assert sorted(offsets) == sorted(row["at"] for row in expected) != []


@pytest.mark.parametrize("spec", ["", "PARTITIONED BY (flag)"])
@pytest.mark.parametrize(
    "order",
    [
        [("n", "DESC NULLS LAST")],
        [("truncate(2, t)", "ASC NULLS FIRST"), ("n", "ASC NULLS FIRST")],
        [("bucket(4, n)", "DESC NULLS LAST"), ("x", "ASC NULLS LAST")],
        [("years(d)", "ASC NULLS FIRST"), ("s.name", "ASC NULLS LAST"), ("i", "DESC NULLS LAST")],
    ],
)
def test_rows_are_in_the_tables_order_within_each_file(
    connect, topic, make_table, spark: SparkSession, broker: KafkaBroker, spec: str, order: list[tuple[str, str]]
):
    sorted_by = ", ".join(f"{key} {how}" for key, how in order)
    table = make_table(topic, spec, f"WRITE ORDERED BY {sorted_by}")
    produce(broker.bootstrap_servers, topic, RECORDS)

    caught_up(connect(topic))

    files = spark.sql(f"SELECT file_path, sort_order_id FROM {table}.files").collect()
    assert len(files) == (3 if spec else 1)
    for file in files:
        assert file["sort_order_id"] == 1
        spark.read.parquet(file["file_path"]).coalesce(1).createOrReplaceTempView("one_file")
        keys = ", ".join(f"{as_function(key)} AS k{number}" for number, (key, _) in enumerate(order))
        again = ", ".join(f"k{number} {how}" for number, (_, how) in enumerate(order))
        as_written = spark.sql(f"SELECT {keys} FROM one_file").collect()
        assert str(as_written) == str(spark.sql(f"SELECT {keys} FROM one_file ORDER BY {again}").collect())


COUNTS = ("value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")


def metrics(spark: SparkSession, table: str) -> dict[str, dict[str, Any]]:
    """What the manifests say of a table's files, by partition, of which each has one file.

    Without what we give no bounds of: binary values and booleans. Zeros of both signs are one number here, for our
    bounds take in both, and Spark's the one that it met.
    """
    schema = spark.table(table).schema.names
    unbounded, floating = {schema.index(name) + 1 for name in ("b", "flag")}, schema.index("x") + 1
    found = spark.sql(f"SELECT * FROM {table}.files").collect()
    by_file = {}
    for file in found:
        said = {"rows": file["record_count"], "sort order": file["sort_order_id"]}
        said |= {what: dict(file[what]) for what in COUNTS}
        for what in BOUNDS:
            bounds = {number: bytes(value) for number, value in file[what].items() if number not in unbounded}
            if floating in bounds:
                bounds[floating] = struct.unpack("<d", bounds[floating])
            said[what] = bounds
        by_file[str(file["partition"]) if "partition" in file else ""] = said
    assert len(by_file) == len(found)
    return by_file


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        ("flag, truncate(1, t)", None),
        ("days(ts)", "bucket(4, n) DESC, t"),
        ("bucket(3, i)", "s.name, x DESC NULLS LAST"),
        ("", "years(d), price"),
    ],
)
def test_what_manifests_say_of_files_is_what_spark_says_of_the_same_rows(
    connect, topic, make_table, spark: SparkSession, broker: KafkaBroker, spec: str, order: str | None
):
    how = f"PARTITIONED BY ({spec})" if spec else ""
    alter = [f"WRITE ORDERED BY {order}"] if order else []
    ours, theirs = (make_table(name, how, *alter) for name in (topic, f"{topic}_theirs"))
    produce(broker.bootstrap_servers, topic, RECORDS)
    caught_up(connect(topic))
    spark.sql(f"INSERT INTO {theirs} SELECT * FROM {ours}")

    assert metrics(spark, ours) == metrics(spark, theirs)


BY_NUMBER = ["i", "bucket(4, i)", "truncate(10, i)"]


@pytest.mark.parametrize("spec", BY_NUMBER)
def test_a_column_that_rows_are_partitioned_and_sorted_by_is_widened_for_their_values(
    connect, topic, make_table, spark: SparkSession, broker: KafkaBroker, spec: str
):
    order = f"WRITE ORDERED BY {spec} DESC"
    ours = make_table(topic, f"PARTITIONED BY ({spec})", order, "SET TBLPROPERTIES ('frazil.schema.evolution'='true')")
    theirs = make_table(f"{topic}_theirs", f"PARTITIONED BY ({spec})", "ALTER COLUMN i TYPE BIGINT")
    waves = [[1, -1, 2**31 - 1, None], [7, 2**31, -(2**62)], [2**62, -(2**31), 7]]
    connector = connect(topic)
    for wave in waves:
        produce(broker.bootstrap_servers, topic, [json.dumps({"i": value}) for value in wave])
        caught_up(connector)
    spark.sql(f"INSERT INTO {theirs} SELECT * FROM {ours}")

    assert dict(spark.table(ours).dtypes)["i"] == "bigint"
    found = spark.sql(f"SELECT i FROM {ours} ORDER BY RECORD_METADATA.offset").collect()
    assert [row["i"] for row in found] == [value for wave in waves for value in wave]
    assert by_partition(spark, ours) == by_partition(spark, theirs)
    for value in (7, -1, 2**31 - 1, 2**31, -(2**62)):
        where = f"WHERE i = {value}"
        assert spark.sql(f"SELECT i FROM {ours} {where}").count() == [*itertools.chain(*waves)].count(value)
        assert spark.sql(f"SELECT DISTINCT _file FROM {ours} {where}").count() == 1 + (value == 7)


@pytest.mark.parametrize(("when", "spec"), alternating(*BY_NUMBER, ""))
def test_a_column_that_rows_are_partitioned_or_sorted_by_may_be_widened_under_a_connector(
    connect, topic, spark: SparkSession, lake: Path, broker: KafkaBroker, spec: str, when: When
):
    stream = Stream(spark, broker, lake, topic)
    stream.create()
    key = re.sub(r"\bi\b", "promoted", spec)
    stream.sql(
        f"ALTER TABLE {{table}} ADD PARTITION FIELD {key}"
        if spec
        else "ALTER TABLE {table} WRITE ORDERED BY promoted DESC"
    )
    stream.connector = connect(topic)
    stream.land()

    stream.change(when, lambda stream: stream.sql("ALTER TABLE {table} ALTER COLUMN promoted TYPE BIGINT"))
    if when == "idle":
        stream.send()
    stream.catch_up()

    stream.require_exactly_once()
    assert str(stream.connector.state) == "RUNNING"
    for offset in range(stream.sent):
        assert stream.offsets(f"promoted = {offset}") == [offset]


def as_function(key: str) -> str:
    """A transform as Spark calls Iceberg's function of that name."""
    name, bracket, rest = key.partition("(")
    if not bracket:
        return key
    width, _, column = rest.removesuffix(")").rpartition(", ")
    return f"{EMBEDDED}.system.{name}({width + ', ' if width else ''}{column})"
