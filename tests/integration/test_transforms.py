"""Single message transforms of Kafka Connect's, from the configuration to the table."""

from __future__ import annotations

import datetime as dt
import json
import time

import pytest
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

HOIST = {
    "transforms": "wrapKafkaMessageContent",
    "transforms.wrapKafkaMessageContent.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.wrapKafkaMessageContent.field": "content",
}
STRING = "org.apache.kafka.connect.storage.StringConverter"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def test_whole_messages_are_wrapped_into_a_column_of_that_name(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"city": "New York", "age": 30}', "[1, 2]", '"text"'])

    caught_up(connect(topic, **HOIST))

    assert [row["content"] for row in rows(topic)] == [{"city": "New York", "age": 30}, [1, 2], "text"]


def test_a_pipe_reads_what_a_transform_has_wrapped(connect, topic, rows, spark: SparkSession, broker: KafkaBroker, say):
    say(f"CREATE TABLE {topic} (city STRING, RECORD_METADATA VARIANT)")
    say(
        f"CREATE PIPE {topic} AS COPY INTO {topic} FROM "
        "(SELECT $1:content.city::STRING, $1:RECORD_METADATA FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))"
    )
    produce(broker.bootstrap_servers, topic, ['{"city": "New York", "age": 30}'])

    caught_up(connect(topic, **HOIST))

    found = spark.sql(f"SELECT city FROM frazil.public.{topic.upper()}").collect()
    assert [row["city"] for row in found] == ["New York"]


@pytest.mark.parametrize(
    ("converter", "expected"), [(STRING, ["a line", "{}"]), (BYTES, ["YSBsaW5l", "e30="])], ids=["texts", "bytes"]
)
def test_texts_and_bytes_become_columns_where_a_transform_wraps_them(
    connect, topic, rows, broker: KafkaBroker, converter: str, expected: list[str]
):
    produce(broker.bootstrap_servers, topic, ["a line", "{}"])

    caught_up(connect(topic, **HOIST, **{"value.converter": converter}))

    assert [row["content"] for row in rows(topic)] == expected


def test_a_text_that_no_transform_wraps_is_rejected_with_what_would_help(connect, topic, rows, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ["bare", "wrapped"], headers=())
    produce(broker.bootstrap_servers, topic, ["wrapped"], headers=[("wrap", b"1")])
    settings = {
        **HOIST,
        "value.converter": STRING,
        "errors.tolerance": "all",
        "transforms.wrapKafkaMessageContent.predicate": "marked",
        "predicates": "marked",
        "predicates.marked.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
        "predicates.marked.name": "wrap",
    }

    connector = connect(topic, **settings)
    caught_up(connector)

    assert [row["content"] for row in rows(topic)] == ["wrapped"]
    (status,) = connector.status()
    assert status.rows_error == 2
    assert "HoistField" in str(status.last_error)


def test_a_chain_changes_values_keys_headers_and_drops_records_and_the_lag_reaches_zero(
    connect, topic, rows, broker: KafkaBroker
):
    settings = {
        "transforms": "drop,key,name,add,hide,flat,copy",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "tombstone",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.key.fields": "id",
        "transforms.name.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.name.renames": "nm:name",
        "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.add.static.field": "source",
        "transforms.add.static.value": "shop",
        "transforms.hide.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.hide.fields": "card",
        "transforms.hide.replacement": "***",
        "transforms.flat.type": "org.apache.kafka.connect.transforms.Flatten$Value",
        "transforms.flat.delimiter": "_",
        "transforms.copy.type": "org.apache.kafka.connect.transforms.HeaderFrom$Value",
        "transforms.copy.fields": "source",
        "transforms.copy.headers": "from",
        "transforms.copy.operation": "copy",
        "predicates": "tombstone",
        "predicates.tombstone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
    }
    produce(
        broker.bootstrap_servers,
        topic,
        [
            '{"id": 1, "nm": "Ann", "card": "4711", "at": {"city": "Bonn"}}',
            "7",
            '{"id": 2, "nm": "Bo", "card": "4712"}',
            None,
            None,
        ],
    )

    connector = connect(topic, **settings, **{"errors.tolerance": "all"})
    caught_up(connector)

    found = rows(topic)
    assert [(row["id"], row["name"], row["card"], row["source"], row["at_city"]) for row in found] == [
        (1, "Ann", "***", "shop", "Bonn"),
        (2, "Bo", "***", "shop", None),
    ]
    assert [json.loads(row["RECORD_METADATA"]["key"]) for row in found] == [{"id": 1}, {"id": 2}]
    assert [row["RECORD_METADATA"]["headers"] for row in found] == [{"from": "shop"}] * 2
    (status,) = connector.status()
    assert (status.rows_error, status.lag_records) == (1, 0)
    assert "the transform key" in str(status.last_error)


ROUTED = {
    "transforms": "route",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "(.*)_(eu|us)",
    "transforms.route.replacement": "$1",
}


def test_topics_that_a_router_gives_one_name_share_a_table_and_each_has_its_own_tokens(
    connect, topic, rows, broker: KafkaBroker
):
    topics = [create_topic(broker.bootstrap_servers, f"{topic}_{each}") for each in ("eu", "us")]
    for number, each in enumerate(topics):
        produce(broker.bootstrap_servers, each, [json.dumps({"id": number})])

    connector = connect(",".join(topics), name=f"routed_{topic}", **ROUTED)
    caught_up(connector)
    connector.stop()
    for number, each in enumerate(topics):
        produce(broker.bootstrap_servers, each, [json.dumps({"id": 10 + number})])
    again = connect(",".join(topics), name=f"routed_{topic}", **ROUTED)
    caught_up(again)

    found = rows(topic)
    assert sorted(row["id"] for row in found) == [0, 1, 10, 11]
    assert {row["RECORD_METADATA"]["topic"] for row in found} == {topic}
    assert {(each.topic, each.offset_token) for each in again.status()} == {(each, "1") for each in topics}


def test_a_router_by_time_makes_a_table_for_each_day_and_the_tokens_stay_with_the_source(
    connect, topic, rows, spark: SparkSession, broker: KafkaBroker
):
    settings = {
        "transforms": "daily",
        "transforms.daily.type": "org.apache.kafka.connect.transforms.TimestampRouter",
        "transforms.daily.topic.format": "${topic}_${timestamp}",
    }
    today = int(time.time()) // 86_400 * 86_400_000
    for day in (0, -1, 0):
        produce(broker.bootstrap_servers, topic, [json.dumps({"day": day})], timestamp=today + day * 86_400_000 + 1000)
    produce(broker.bootstrap_servers, topic, ["no json"], timestamp=today)
    names = [f"{topic}_{dt.datetime.fromtimestamp(today / 1000 + day * 86_400, dt.UTC):%Y%m%d}" for day in (0, -1)]

    connector = connect(topic, **settings, **{"errors.tolerance": "all"})
    caught_up(connector)
    connector.stop()
    produce(broker.bootstrap_servers, topic, ['{"day": 0}'], timestamp=today + 2000)
    again = connect(topic, **settings, **{"errors.tolerance": "all"})
    caught_up(again)

    assert [[row["day"] for row in rows(name)] for name in names] == [[0, 0, 0], [-1]]
    assert {row["RECORD_METADATA"]["topic"] for row in rows(names[0])} == {names[0]}
    assert spark.table(f"frazil.public.{topic.upper()}").count() == 0
    assert {each.offset_token for each in again.status()} == {"4"}
    assert sum(each.rows_error for each in again.status()) == 1


def test_a_transform_of_ones_own_changes_records_and_its_failure_is_one_records(
    connect, topic, rows, broker: KafkaBroker
):
    settings = {
        "transforms": "mine",
        "transforms.mine.type": "tests.support.own_transforms:Doubled",
        "transforms.mine.field": "n",
    }
    values = [json.dumps({"n": each}) for each in range(200)]
    values[100] = '{"n": "poison"}'
    produce(broker.bootstrap_servers, topic, values)

    connector = connect(topic, **settings, **{"errors.tolerance": "all"})
    caught_up(connector)

    assert [row["n"] for row in rows(topic)] == [2 * each for each in range(200) if each not in (100, 150)]
    (status,) = connector.status()
    assert status.rows_error == 1
    assert "tests.support.own_transforms:Doubled failed with ValueError" in str(status.last_error)
