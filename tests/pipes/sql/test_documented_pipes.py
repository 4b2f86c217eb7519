"""The pipes that users of the connectors know, as they are documented."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from tests.pipes.default.chunks import NOW, TOPIC, Worker, columns
from tests.pipes.sql.landing import SOURCE, land

ORDER = '{"order_id": 12345, "customer_name": "John", "order_total": 100.00, "isPaid": true}'
PERSON = (
    '{"city": "New York", "age": 30, "married": true, "has cat": true, " @&$#* has Łułósżź": true, '
    '"skills": ["sitting", "standing", "eating"], "family": {"son": "Jack", "daughter": "Anna"}}'
)


def test_every_column_a_text(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE ORDERS AS
    COPY INTO ORDERS
    FROM (
      SELECT $1:order_id::STRING, $1:customer_name, $1:order_total::STRING, $1:isPaid::STRING
      {SOURCE}
    );"""
    shape = columns(order_id="string", customer_name="string", order_total="string", ispaid="string")

    assert land(worker, sql, shape, ORDER).rows == [("12345", "John", "100", "true")]


def test_metadata_keys_in_brackets_and_concat(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE ORDERS AS
    COPY INTO ORDERS
    FROM (
      SELECT
        $1:RECORD_METADATA.topic::STRING AS topic,
        $1:RECORD_METADATA.partition::STRING AS partition,
        $1['order_id']::STRING AS order_id,
        $1['customer_name']::STRING as customer_name,
        CONCAT($1['order_total']::STRING, ' USD') AS order_total,
        $1['isPaid']::STRING AS ispaid
      {SOURCE}
    );"""
    names = ("topic", "partition", "order_id", "customer_name", "order_total", "ispaid")

    rows = land(worker, sql, columns(**dict.fromkeys(names, "string")), ORDER).rows

    assert rows == [(TOPIC, "0", "12345", "John", "100 USD", "true")]


def test_transformations_and_metadata(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE ORDERS AS
    COPY INTO ORDERS_TABLE
    FROM (
      SELECT
        $1:order_id::NUMBER,
        $1:customer_name,
        $1:order_total,
        $1:RECORD_METADATA.topic AS source_topic,
        $1:RECORD_METADATA.offset::NUMBER AS kafka_offset,
        $1:RECORD_METADATA.SnowflakeConnectorPushTime::BIGINT AS ingestion_time
      {SOURCE}
    );"""
    shape = columns(
        order_id="decimal(38,0)",
        customer_name="string",
        order_total="double",
        source_topic="string",
        kafka_offset="long",
        ingestion_time="long",
    )

    assert land(worker, sql, shape, ORDER).rows == [(12345, "John", 100.0, TOPIC, 0, NOW)]


def test_types_of_the_columns(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE ORDERS AS
    COPY INTO ORDERS
    FROM (
      SELECT $1:order_id::NUMBER, $1:customer_name, $1:order_total::NUMBER, $1:order_date::TIMESTAMP_NTZ,
        $1:RECORD_METADATA.topic
      {SOURCE}
    );"""
    shape = columns(
        order_id="decimal(38,0)",
        customer_name="string",
        order_total="decimal(38,0)",
        order_date="timestamp",
        source_topic="string",
    )
    record = '{"order_id": 1, "customer_name": "A", "order_total": 99.5, "order_date": "2024-05-06T07:08:09"}'

    assert land(worker, sql, shape, record).rows == [
        (1, "A", 100, dt.datetime.fromisoformat("2024-05-06T07:08:09"), TOPIC)
    ]


def test_keys_with_blanks_and_signs_and_nested_values(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE PERSON_DATA AS
    COPY INTO PERSON_DATA
    FROM (
      SELECT $1:city, $1:age, $1:married, $1['has cat'] AS has_cat, $1[' @&$#* has Łułósżź'] AS weird_field_name,
        $1:skills, $1:family
      {SOURCE}
    );"""
    shape = columns(
        city="string",
        age="decimal(38,0)",
        married="boolean",
        has_cat="boolean",
        weird_field_name="boolean",
        skills="variant",
        family="variant",
    )

    assert land(worker, sql, shape, PERSON).rows == [
        (
            "New York",
            30,
            True,
            True,
            True,
            ["sitting", "standing", "eating"],
            {"son": "Jack", "daughter": "Anna"},
        )
    ]


@pytest.mark.parametrize("path", ["$1:family.son", "$1:family['son']", "$1['family']['son']", "$1['family'].son"])
def test_all_ways_to_write_a_path(worker: Worker, path: str) -> None:
    sql = f"CREATE PIPE T AS COPY INTO T FROM (SELECT {path} {SOURCE})"

    assert land(worker, sql, columns(son="string"), PERSON).rows == ["Jack"]


def test_the_time_of_a_record_whichever_it_is(worker: Worker) -> None:
    sql = f"""
    CREATE PIPE REALTIME_METRICS AS COPY INTO REALTIME_METRICS FROM (
      SELECT $1:M_NAME::VARCHAR, $1:M_VALUE::NUMBER, $1:RECORD_METADATA.topic::VARCHAR,
        $1:RECORD_METADATA.timestamp::TIMESTAMP_NTZ
      {SOURCE})"""
    shape = columns(metric_name="string", metric_value="decimal(38,0)", source_topic="string", timestamp="timestamp")

    found = land(worker, sql, shape, *['{"M_NAME": "load", "M_VALUE": "7"}'] * 2, log_append_time=[False, True])

    moment = dt.datetime.fromtimestamp(NOW / 1000, dt.UTC).replace(tzinfo=None)
    assert found.rows == [("load", 7, TOPIC, moment)] * 2


def test_all_of_the_metadata_goes_to_a_variant(worker: Worker) -> None:
    sql = f"CREATE PIPE T AS COPY INTO T FROM (SELECT $1:RECORD_METADATA {SOURCE})"

    (found,) = land(worker, sql, columns(about="variant"), "{}", key=[b"k"]).rows

    assert found == {
        "topic": TOPIC, "offset": 0, "partition": 0, "CreateTime": NOW, "SnowflakeConnectorPushTime": NOW, "key": "k",
    }  # fmt: skip


def test_the_whole_record_goes_to_a_variant_or_a_text(worker: Worker) -> None:
    sql = f"CREATE PIPE T AS COPY INTO T FROM (SELECT $1, $1 {SOURCE})"

    ((found, text),) = land(worker, sql, columns(a="variant", b="string"), PERSON).rows

    assert found == json.loads(text) == json.loads(PERSON)


def test_the_content_is_null_unless_a_record_has_such_a_key(worker: Worker) -> None:
    sql = f"CREATE PIPE ORDERS AS COPY INTO ORDERS FROM (SELECT $1:RECORD_CONTENT {SOURCE})"

    found = land(worker, sql, columns(content="variant"), ORDER, '{"RECORD_CONTENT": {"a": 1}}')

    assert found.rows == [None, {"a": 1}]
