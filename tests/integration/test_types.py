"""Existing tables with columns of every type: what was sent is what Spark and another reader find there."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up

import frazil
from frazil.dev.kafka import KafkaBroker
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing import iceberg
from frazil.testing.records import produce

MakeTable = Callable[..., None]

EVERY_TYPE = {
    "boolean": ("boolean", True),
    "int": ("int", -(2**31)),
    "long": ("long", 2**63 - 1),
    "float": ("float", 0.5),
    "double": ("double", 1.7976931348623157e308),
    "decimal": ("decimal(38,10)", Decimal("1234567890123456789012345678.0123456789")),
    "date": ("date", dt.date(2024, 2, 29)),
    "timestamp": ("timestamp", dt.datetime.fromisoformat("2024-02-29T23:59:59.999999")),
    "timestamptz": ("timestamptz", dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC)),
    "string": ("string", "Ærøskøbing \U0001f9ca"),
    "uuid": ("uuid", uuid.UUID("0f8fad5b-d9cb-469f-a165-70867728950e")),
    "binary": ("binary", b"\x00\xff\x80"),
}
"""Iceberg's types by a column's name, each with a value."""

SENT = {
    "boolean": True,
    "int": -(2**31),
    "long": 2**63 - 1,
    "float": 0.5,
    "double": 1.7976931348623157e308,
    "date": "2024-02-29",
    "timestamp": "2024-02-29T23:59:59.999999",
    "timestamptz": "1970-01-01T02:59:59.999999+03:00",
    "string": "Ærøskøbing \U0001f9ca",
    "uuid": "0F8FAD5B-D9CB-469F-A165-70867728950E",
    "binary": "00ff80",
}
RECORD = '{"decimal": 1234567890123456789012345678.0123456789, ' + json.dumps(SENT)[1:]


@pytest.fixture
def make_table(spark: SparkSession, lake: Path) -> MakeTable:
    """Create a topic's table through Iceberg itself, which knows types that Spark's SQL does not."""

    def make(topic: str, *fields: dict[str, Any]) -> None:
        catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
        namespace = ("public",)
        catalog.ensure_namespace(namespace)
        numbered = [{"id": 1000 + number, "required": False, **field} for number, field in enumerate(fields)]
        schema = catalog.jvm.org.apache.iceberg.SchemaParser.fromJson(
            json.dumps({"type": "struct", "fields": numbered})
        )
        identifier = catalog.jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"public.{topic.upper()}")
        catalog._java.buildTable(identifier, schema).withProperty("format-version", "3").create()

    return make


def with_every_type() -> list[dict[str, Any]]:
    return [{"name": name, "type": kind} for name, (kind, _) in EVERY_TYPE.items()]


def rows_of(lake: Path, topic: str) -> list[dict[str, Any]]:
    """A table's rows, by pyiceberg."""
    metadata = iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())
    return StaticTable.from_metadata(str(metadata)).scan().to_arrow().to_pylist()


def test_every_type_is_read_back_by_spark_and_by_another_reader(
    connect, topic, make_table, spark: SparkSession, lake: Path, broker: KafkaBroker
):
    make_table(topic, *with_every_type(), {"name": "time", "type": "time"})
    without_time = topic + "_spark"
    make_table(without_time, *with_every_type())
    record = RECORD[:-1] + ', "time": "23:59:59.999999"}'
    produce(broker.bootstrap_servers, topic, [record, "{}"])

    caught_up(connect(topic))
    caught_up(connect(topic, "again", **{"snowflake.topic2table.map": f"{topic}:{without_time}"}))

    everything = {name: value for name, (_, value) in EVERY_TYPE.items()}
    nothing = dict.fromkeys(everything)
    assert rows_of(lake, topic) == [
        {**everything, "time": dt.time(23, 59, 59, 999999)},
        {**nothing, "time": None},
    ]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = [row.asDict() for row in spark.table(f"frazil.public.{without_time.upper()}").collect()]
    as_spark_has_it = {
        **everything,
        "timestamptz": everything["timestamptz"].astimezone().replace(tzinfo=None),
        "uuid": str(everything["uuid"]),
    }
    assert sorted(found, key=lambda row: row["int"] is None) == [as_spark_has_it, nothing]


def test_the_files_bounds_let_readers_skip_them(connect, topic, make_table, lake: Path, broker: KafkaBroker):
    make_table(topic, *with_every_type(), {"name": "time", "type": "time"})
    produce(broker.bootstrap_servers, topic, [RECORD[:-1] + ', "time": "12:00:00"}'])

    caught_up(connect(topic))

    table = StaticTable.from_metadata(str(iceberg.current_metadata(lake / "catalog.db", "public", topic.upper())))
    for condition, rows in {
        "time < '12:00:00'": 0,
        "time >= '12:00:00'": 1,
        "date > '2024-02-29'": 0,
        "decimal > 1234567890123456789012345678.0123456789": 0,
        "decimal <= 1234567890123456789012345678.0123456789": 1,
        "timestamp > '2024-02-29T23:59:59.999999'": 0,
        "int = -2147483648": 1,
    }.items():
        assert len(table.scan(row_filter=condition).to_arrow()) == rows, condition
        assert len(list(table.scan(row_filter=condition).plan_files())) == rows, condition


def test_nested_types_and_defaults_are_read_back(
    connect, topic, make_table, spark: SparkSession, lake: Path, broker: KafkaBroker
):
    entry = {"type": "struct", "fields": [{"id": 50, "name": "at", "required": False, "type": "timestamptz"}]}
    make_table(
        topic,
        {"name": "scores", "type": {"type": "map", "key-id": 10, "key": "string", "value-id": 11, "value": "decimal(5,2)", "value-required": False}},
        {"name": "by_number", "type": {"type": "map", "key-id": 20, "key": "int", "value-id": 21, "value": entry, "value-required": False}},
        {"name": "hashes", "type": {"type": "list", "element-id": 30, "element": "binary", "element-required": False}},
        {"name": "source", "type": "string", "initial-default": "kafka", "write-default": "kafka"},
        {"name": "price", "type": "decimal(5,2)", "initial-default": "9.90", "write-default": "9.90"},
    )  # fmt: skip
    produce(
        broker.bootstrap_servers,
        topic,
        [
            '{"scores": {"a": 1.25, "b": null}, "by_number": {"7": {"at": "2024-01-01T00:00:00Z"}}, "hashes": ["ff", ""]}',
            '{"by_number": [[1, {"at": 1704067200000}]], "price": null, "hashes": []}',
        ],
    )

    caught_up(connect(topic))

    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert rows_of(lake, topic) == [
        {"scores": [("a", Decimal("1.25")), ("b", None)], "by_number": [(7, {"at": at})], "hashes": [b"\xff", b""],
         "source": "kafka", "price": Decimal("9.90")},
        {"scores": None, "by_number": [(1, {"at": at})], "hashes": [], "source": "kafka", "price": None},
    ]  # fmt: skip
    found = spark.sql(
        "SELECT scores['a'] AS a, by_number[7].at IS NOT NULL AS at, hex(get(hashes, 0)) AS hash, source, price "
        f"FROM frazil.public.{topic.upper()} ORDER BY a NULLS LAST"
    ).collect()
    assert [tuple(row) for row in found] == [
        (Decimal("1.25"), True, "FF", "kafka", Decimal("9.90")),
        (None, False, None, "kafka", None),
    ]


def test_variants_within_other_types_and_fixed_lengths_are_read_back(
    connect, topic, make_table, spark: SparkSession, lake: Path, broker: KafkaBroker
):
    inner = [{"id": 50, "name": "V", "required": False, "type": "variant"}]
    make_table(
        topic,
        {"name": "n", "type": "long"},
        {"name": "s", "type": {"type": "struct", "fields": inner}},
        {"name": "l", "type": {"type": "list", "element-id": 60, "element": "variant", "element-required": False}},
        {"name": "m", "type": {"type": "map", "key-id": 70, "key": "string", "value-id": 71, "value": "variant", "value-required": False}},
        {"name": "hash", "type": "fixed[4]"},
    )  # fmt: skip
    produce(
        broker.bootstrap_servers,
        topic,
        [
            '{"n": 1, "s": {"V": {"z": 1, "a": 12345678901234567890}}, "l": [{"k": 1.5}, null], "hash": "00ff80ab"}',
            '{"n": 2, "m": {"x": {"y": [1, 2]}, "z": null}, "s": {"V": null}, "l": []}',
            '{"n": 3, "hash": "00"}',
        ],
    )

    caught_up(connect(topic, **{"errors.tolerance": "all"}))

    found = spark.sql(
        "SELECT n, variant_get(s.V, '$.a', 'decimal(20,0)') AS a, s.V IS NULL AS none, "
        "transform(l, each -> to_json(each)) AS l, to_json(m['x']) AS x, map_keys(m) AS keys, hex(hash) AS hash "
        f"FROM frazil.public.{topic.upper()} ORDER BY n"
    ).collect()
    assert [tuple(row) for row in found] == [
        (1, Decimal(12345678901234567890), False, ['{"k":1.5}', None], None, None, "00FF80AB"),
        (2, None, True, [], '{"y":[1,2]}', ["x", "z"], None),
    ]
    query = (
        f"SELECT n, s:V.a::NUMBER(20,0), l[0]:k, m['x']:y[1], hash FROM {topic} WHERE hash IS NULL OR n = 1 ORDER BY n"
    )
    assert frazil.query(query, home=lake).rows() == [
        (1, Decimal(12345678901234567890), "1.5", None, b"\0\xff\x80\xab"),
        (2, None, None, "2", None),
    ]


@pytest.mark.parametrize(
    ("nested", "types"),
    [
        ("variant", {"address": "variant", "tags": "variant"}),
        ("json", {"address": "string", "tags": "string"}),
        ("struct", {"address": "struct<city:string,geo:struct<lat:double,lon:double>>", "tags": "array<string>"}),
    ],
)
def test_objects_and_arrays_are_created_as_configured(
    connect, topic, spark: SparkSession, broker: KafkaBroker, nested: str, types: dict[str, str]
):
    produce(
        broker.bootstrap_servers,
        topic,
        [
            '{"address": {"city": "Ø", "geo": {"lat": 1}}, "tags": ["a", "b"]}',
            '{"address": {"geo": {"lat": 1.5, "lon": 2.5}}, "tags": []}',
            '{"address": null}',
        ],
    )

    caught_up(connect(topic, **{"frazil.nested.type": nested}))

    table = spark.table(f"frazil.public.{topic.upper()}")
    assert {field.name: field.dataType.simpleString() for field in table.schema if field.name in types} == types
    text = "to_json({})" if nested != "json" else "{}"
    found = table.selectExpr(text.format("address") + " AS address", text.format("tags") + " AS tags").collect()
    assert [(json.loads(row.address or "null"), json.loads(row.tags or "null")) for row in found] == [
        ({"city": "Ø", "geo": {"lat": 1}}, ["a", "b"]),
        ({"geo": {"lat": 1.5, "lon": 2.5}}, []),
        (None, None),
    ]


def test_keys_are_normalised_when_that_is_configured(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"id": 1, "\\"city\\"": "Ø"}', '{"ID": 2, "City": "Å"}'])

    caught_up(
        connect(topic, **{"snowflake.compatibility.enable.column.identifier.normalization": "true"}),
    )

    found = rows(topic)
    assert [{key: row[key] for key in row if key != "RECORD_METADATA"} for row in found] == [
        {"ID": 1, "city": "Ø"},
        {"ID": 2, "city": "Å"},
    ]
