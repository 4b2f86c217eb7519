"""What is converted, transformed and routed of topics is of streams, too."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession
from tests.support.streams import HIGHEST, put
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.dev.kinesis import LocalKinesis
from frazil.testing.schema_registry import served

AVRO = "io.confluent.connect.avro.AvroConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"

Follow = Callable[..., Connector]


def rows(spark: SparkSession, table: str, order: str) -> list[dict[str, Any]]:
    name = f"frazil.public.`{table.upper()}`"
    texts = spark.sql(
        f"SELECT to_json(struct(*), map('ignoreNullFields', 'false')) AS row FROM {name} ORDER BY {order}"
    )
    return [json.loads(text["row"]) for text in texts.collect()]


def transforms(**each: dict[str, str]) -> dict[str, str]:
    given = {f"transforms.{name}.{key}": value for name, keys in each.items() for key, value in keys.items()}
    return {"transforms": ",".join(each), **given}


@pytest.mark.parametrize("looks_into_records", [False, True])
def test_a_transform_writes_where_a_record_came_from_into_it(
    kinesis: LocalKinesis, stream: str, follow_stream: Follow, spark: SparkSession, looks_into_records: bool
) -> None:
    first = put(kinesis, stream, '{"n": "1"}')
    second = put(kinesis, stream, '{"n": "2"}', at=HIGHEST)
    place = {
        "type": "InsertField$Value",
        "topic.field": "stream",
        "partition.field": "shard",
        "offset.field": "place",
        "timestamp.field": "came",
    }
    cast = {"cast": {"type": "Cast$Value", "spec": "n:int32"}} if looks_into_records else {}

    caught_up(follow_stream(kinesis, stream, **transforms(place=place, **cast)))

    found = rows(spark, stream, "n")
    assert [(row["stream"], row["shard"], row["place"]) for row in found] == [
        (stream, FIRST, first),
        (stream, SECOND, second),
    ]
    assert [row["n"] for row in found] == ([1, 2] if looks_into_records else ["1", "2"])
    assert all(row["came"] for row in found)


def test_a_chain_of_transforms_drops_changes_and_renames(
    kinesis: LocalKinesis, stream: str, follow_stream: Follow, spark: SparkSession
) -> None:
    put(kinesis, stream, '{"n": "1", "secret": "hush", "order": {"id": 7}}', key="a")
    put(kinesis, stream, b"")
    put(kinesis, stream, '{"n": "2", "secret": "hush", "order": {"id": 8}}', key="b", at=HIGHEST)
    chain = transforms(
        drop={"type": "Filter", "predicate": "empty"},
        flat={"type": "Flatten$Value", "delimiter": "_"},
        hide={"type": "MaskField$Value", "fields": "secret"},
        name={"type": "RegexRouter", "regex": "s_.*", "replacement": f"renamed_{stream}"},
    )
    tombstone = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"

    connector = follow_stream(kinesis, stream, **chain, **{"predicates": "empty", "predicates.empty.type": tombstone})
    caught_up(connector)

    found = rows(spark, f"renamed_{stream}", "n")
    assert [(row["n"], row["secret"], row["order_id"]) for row in found] == [("1", "", 7), ("2", "", 8)]
    assert [row["kinesisMetadata"]["partitionKey"] for row in found] == ["a", "b"]
    assert sorted((each.rows_parsed, each.rows_inserted) for each in connector.status()) == [(1, 1), (2, 1)]


def test_records_of_avro_and_texts_land_and_what_cannot_be_read_is_told_by_sequence_number(
    kinesis: LocalKinesis, stream: str, follow_stream: Follow, spark: SparkSession
) -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    with served() as registry:
        number = registry.register(f"{stream}-value", json.dumps(schema))
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), {"id": 7})
        put(kinesis, stream, struct.pack(">bi", 0, number) + buffer.getvalue())
        bad = put(kinesis, stream, b"no avro", at=HIGHEST)
        settings = {
            "value.converter": AVRO,
            "value.converter.schema.registry.url": registry.url,
            "errors.tolerance": "all",
            "frazil.errors.table": "true",
        }

        caught_up(follow_stream(kinesis, stream, **settings))

    assert [row["id"] for row in rows(spark, stream, "id")] == [7]
    errors = spark.sql(f"SELECT partition, offset, stage FROM frazil.public.{stream.upper()}_ERRORS").collect()
    assert [tuple(row) for row in errors] == [(SECOND, bad, "convert")]


def test_records_of_one_stream_go_to_tables_by_a_value_and_each_has_its_own_tokens(
    kinesis: LocalKinesis, stream: str, follow_stream: Follow, spark: SparkSession
) -> None:
    for number, country in enumerate(["de", "fr", "de"]):
        put(kinesis, stream, f'{{"n": {number}, "country": "{country}"}}', at=HIGHEST if number else "0")

    connector = follow_stream(kinesis, stream, **{"frazil.route.field": "country"})
    caught_up(connector)

    tables = sorted(row["tableName"] for row in spark.sql(f"SHOW TABLES IN frazil.public LIKE '{stream}*'").collect())
    found = {
        table: [row["n"] for row in rows(spark, table, "n")] for table in tables if table.upper() != stream.upper()
    }
    assert sorted(found.values()) == [[0, 2], [1]]
    assert len({each.table for each in connector.status()}) == 3


def test_whole_records_land_beside_where_they_came_from(
    kinesis: LocalKinesis, stream: str, follow_stream: Follow, spark: SparkSession
) -> None:
    put(kinesis, stream, "a line of text", key="alice")

    caught_up(follow_stream(kinesis, stream, **{"snowflake.enable.schematization": "false", "value.converter": STRING}))

    (row,) = rows(spark, stream, "1")
    assert row["RECORD_CONTENT"] == "a line of text"
    assert row["kinesisMetadata"]["partitionKey"] == "alice"
