"""Whole records in RECORD_CONTENT, in a real catalog: in tables that frazil creates, and in those that are there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.integration.conftest import Connect
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import frazil, write_properties
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import TableWithoutContent
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing.records import produce

pytestmark = pytest.mark.slow

WHOLE = {"snowflake.enable.schematization": "false"}
MESSAGE = '{"ID": 62, "PSI": 451, "etc": "…"}'


def types(spark: SparkSession, topic: str) -> dict[str, str]:
    described = spark.sql(f"DESCRIBE TABLE {EMBEDDED}.public.{topic.upper()}").collect()
    return {row["col_name"]: row["data_type"].partition("<")[0] for row in described if row["data_type"]}


def test_the_query_of_the_documentation_runs_as_it_is_printed(
    broker: KafkaBroker, make_topic: Any, tmp_path: Path
) -> None:
    topic = make_topic()
    now = int(time.time() * 1000)
    produce(broker.bootstrap_servers, topic, [MESSAGE, '{"ID": 63}'], timestamp=now)
    file = write_properties(
        tmp_path / "pressure.properties",
        **{
            **KAFKA_JSON,
            "connector.class": "com.snowflake.kafka.connector.SnowflakeSinkConnector",
            "snowflake.ingestion.method": "SNOWPIPE_STREAMING",
        },
        name="pressure",
        topics=topic,
        snowflake__topic2table__map=f"{topic}:table1",
        bootstrap__servers=broker.bootstrap_servers,
        frazil__home=str(tmp_path / "home"),
    )
    landed = frazil("run", "--until-caught-up", file)
    assert landed.returncode == 0, landed.stderr

    query = f"""
        select
               record_metadata:CreateTime,
               record_content:ID
            from table1
            where record_metadata:topic = '{topic}'
    """
    told = frazil("sql", query, "--format", "json", "--home", tmp_path / "home")

    assert json.loads(told.stdout) == [{"CREATETIME": now, "ID": 62}, {"CREATETIME": now, "ID": 63}], told.stderr


@pytest.mark.parametrize(("version", "kind"), [("3", "variant"), ("2", "string")])
def test_a_created_table_has_both_columns(
    connect: Connect,
    spark: SparkSession,
    broker: KafkaBroker,
    topic: str,
    rows: Callable[[str], list[dict[str, Any]]],
    version: str,
    kind: str,
) -> None:
    produce(broker.bootstrap_servers, topic, [MESSAGE, "[1, 2]", None])

    caught_up(connect(topic, **WHOLE, **{"snowflake.iceberg.create.table.options": f"ICEBERG_VERSION = {version}"}))

    assert types(spark, topic) == {"RECORD_METADATA": "struct", "RECORD_CONTENT": kind}
    found = [row["RECORD_CONTENT"] for row in rows(topic)]
    parsed = [json.loads(each) if version == "2" and each else each for each in found]
    assert parsed == [json.loads(MESSAGE), [1, 2], None]


def test_a_table_that_is_there_gets_what_it_lacks(
    connect: Connect, spark: SparkSession, broker: KafkaBroker, topic: str, rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    table = f"{EMBEDDED}.public.{topic.upper()}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
    spark.sql(f"CREATE TABLE {table} (note STRING) USING iceberg TBLPROPERTIES ('format-version'='3')")
    produce(broker.bootstrap_servers, topic, [MESSAGE])

    caught_up(connect(topic, **WHOLE))

    assert types(spark, topic) == {"note": "string", "RECORD_METADATA": "struct", "RECORD_CONTENT": "variant"}
    ((row),) = rows(topic)
    assert (row["note"], row["RECORD_CONTENT"], row["RECORD_METADATA"]["offset"]) == (None, json.loads(MESSAGE), 0)


def test_a_column_that_must_not_be_null_is_error_5003(
    connect: Connect, spark: SparkSession, broker: KafkaBroker, topic: str
) -> None:
    table = f"{EMBEDDED}.public.{topic.upper()}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
    spark.sql(f"CREATE TABLE {table} (id BIGINT NOT NULL) USING iceberg TBLPROPERTIES ('format-version'='3')")
    produce(broker.bootstrap_servers, topic, [MESSAGE])

    connector = connect(topic, **WHOLE)

    until_state(connector, "FAILED")
    assert isinstance(connector.error, TableWithoutContent)
    assert "column id must not be NULL" in str(connector.error)


def test_a_table_that_records_come_to_through_a_users_pipe_gets_nothing_until_that_is_dropped(
    connect: Connect,
    spark: SparkSession,
    lake: Path,
    broker: KafkaBroker,
    topic: str,
    rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    table, name = f"{EMBEDDED}.public.{topic.upper()}", topic.upper()
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public")
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) USING iceberg TBLPROPERTIES ('format-version'='3')"
    )
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    stream = "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"
    with Engine(catalog, lambda: spark) as engine:
        engine.answer(f"CREATE PIPE {name} AS COPY INTO {name} FROM (SELECT $1:id, $1:RECORD_METADATA {stream})")
        produce(broker.bootstrap_servers, topic, ['{"id": 1}'])
        connector = connect(topic, **WHOLE)
        caught_up(connector)
        produce(broker.bootstrap_servers, topic, ['{"id": 2}'])
        caught_up(connector)

        assert types(spark, topic) == {"id": "bigint", "RECORD_METADATA": "struct"}
        engine.answer(f"DROP PIPE {name}")
        produce(broker.bootstrap_servers, topic, ['{"id": 3}'])
        caught_up(connector)

    assert types(spark, topic) == {"id": "bigint", "RECORD_METADATA": "struct", "RECORD_CONTENT": "variant"}
    assert [(row["id"], row["RECORD_CONTENT"]) for row in rows(topic)] == [(1, None), (2, None), (None, {"id": 3})]
