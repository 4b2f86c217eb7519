"""Files as people have them run as they are; what is refused is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

from frazil.config import TableMapping, load
from frazil.config.converters import JSON, STRING
from frazil.model import Buffer

from .connector import SINK, STREAMING, Texts, problems

WORKER = {
    "bootstrap.servers": "kafka-0.kafka:9092,kafka-1.kafka:9092",
    "group.id": "connect-cluster",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    "key.converter": JSON,
    "value.converter": JSON,
    "key.converter.schemas.enable": "true",
    "value.converter.schemas.enable": "true",
    "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    "offset.flush.interval.ms": "10000",
    "plugin.path": "/usr/share/java,/usr/share/confluent-hub-components",
    "consumer.max.poll.records": "2000",
}

CLASSIC_STREAMING = rf"""
# Orders into Snowflake
name=orders.sink
connector.class={SINK}
tasks.max=8
topics=orders, payments.eu
snowflake.topic2table.map=orders:ORDERS,payments.eu:PAYMENTS_EU
snowflake.url.name=myorg-account1.snowflakecomputing.com:443
snowflake.user.name=KAFKA_CONNECTOR_USER
snowflake.private.key=MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwgg\
                      SjAgEAAoIBAQDhush
snowflake.private.key.passphrase=hush
snowflake.role.name=KAFKA_CONNECTOR_ROLE
snowflake.database.name=RAW
snowflake.schema.name=KAFKA
snowflake.ingestion.method=SNOWPIPE_STREAMING
snowflake.enable.schematization=TRUE
snowflake.streaming.enable.single.buffer=false
snowflake.streaming.max.client.lag=5
snowflake.streaming.client.provider.override.map=MAX_CHANNEL_SIZE_IN_BYTES:10000000
enable.streaming.client.optimization=true
buffer.count.records=10000
buffer.flush.time=10
buffer.size.bytes=20000000
key.converter={STRING}
value.converter={JSON}
value.converter.schemas.enable=false
behavior.on.null.values=IGNORE
errors.tolerance=all
errors.log.enable=true
jmx=true
provider=self_hosted
consumer.override.auto.offset.reset=earliest
consumer.override.max.poll.records=5000
"""

HIGH_PERFORMANCE = {
    "name": "orders",
    "config": {
        "name": "orders",
        "connector.class": STREAMING,
        "tasks.max": 4,
        "topics.regex": "shop\\..*",
        "snowflake.url.name": "https://myorg-account1.snowflakecomputing.com",
        "snowflake.user.name": "KAFKA_CONNECTOR_USER",
        "snowflake.private.key": "${file:/opt/kafka/secrets.properties:private_key}",
        "snowflake.role.name": "KAFKA_CONNECTOR_ROLE",
        "snowflake.database.name": "RAW",
        "snowflake.schema.name": "KAFKA",
        "snowflake.validation": "server_side",
        "snowflake.streaming.validate.compatibility.with.classic": False,
        "snowflake.streaming.classic.offset.migration": "skip",
        "snowflake.autocreate.table.type": "iceberg",
        "snowflake.metadata.createtime": True,
        "snowflake.cache.table.exists.expire.ms": 60000,
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": False,
        "errors.tolerance": "none",
        "enable.task.fail.on.authorization.errors": True,
    },
    "tasks": [{"connector": "orders", "task": 0}],
    "type": "sink",
}

CLASSIC_SNOWPIPE = {
    "name": "clicks",
    "connector.class": SINK,
    "tasks.max": "2",
    "topics": "clicks",
    "buffer.count.records": "10000",
    "buffer.flush.time": "120",
    "buffer.size.bytes": "5000000",
    "snowflake.url.name": "account.eu-central-1.snowflakecomputing.com:443",
    "snowflake.user.name": "me",
    "snowflake.private.key": "hush",
    "snowflake.database.name": "RAW",
    "snowflake.schema.name": "PUBLIC",
    "snowflake.metadata.offset.and.partition": "true",
    "snowflake.snowpipe.v2CleanerEnabled": "true",
    "key.converter": STRING,
    "value.converter": "com.snowflake.kafka.connector.records.SnowflakeJsonConverter",
}


def test_a_file_of_the_classic_connector_that_streams_runs_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "orders.properties"
    file.write_text(CLASSIC_STREAMING)

    settings = load(file, WORKER)

    assert settings.source.topics == ("orders", "payments.eu")
    assert settings.topic2table.resolve("payments.eu") == TableMapping("PAYMENTS_EU", quoted=False)
    assert settings.sanitize_table_names
    assert settings.buffer == Buffer(seconds=10, records=10_000, bytes=20_000_000)
    assert settings.commit_interval_ms == 5000
    assert (settings.on_null_values, settings.errors_tolerance, settings.errors_log_enable) == ("ignore", "all", True)
    assert (settings.key_converter, settings.tasks_max, settings.namespace) == ("string", 8, "KAFKA")
    assert settings.not_needed == (
        "snowflake.private.key",
        "snowflake.private.key.passphrase",
        "snowflake.role.name",
        "snowflake.url.name",
        "snowflake.user.name",
    )
    assert {"jmx", "provider", "consumer.override.max.poll.records"} <= dict(settings.no_effect).keys()
    assert "hush" not in repr(settings)


def test_a_file_of_the_high_performance_connector_runs_as_kafka_connect_reports_it(tmp_path: Path) -> None:
    file = tmp_path / "orders.json"
    file.write_text(json.dumps(HIGH_PERFORMANCE))

    settings = load(file, WORKER)

    assert (settings.source.topics_regex, settings.tasks_max, settings.autocreate) == ("shop\\..*", 4, "iceberg")
    assert not settings.sanitize_table_names
    assert (settings.validation, settings.numbers) == ("server_side", "reject")
    assert (settings.buffer, settings.commit_interval_ms) == (None, 1000)


def test_a_file_for_snowpipe_is_refused_for_that_alone() -> None:
    told = {"snowflake.ingestion.method": "SNOWPIPE"}

    assert found_in(CLASSIC_SNOWPIPE) == [*told]
    assert found_in({**CLASSIC_SNOWPIPE, **told}) == [*told]


def test_what_the_classic_connector_cannot_do_is_refused_where_that_is_asked_for() -> None:
    streaming = {
        **CLASSIC_SNOWPIPE,
        "snowflake.ingestion.method": "SNOWPIPE_STREAMING",
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "a",
        "transforms.route.replacement": "b",
    }
    hosts = {"bootstrap.servers": "localhost:9092"}

    assert load({**streaming, **hosts}).conversion.value_converter.kind == "json"
    assert found_in({**streaming, "frazil.compatibility.strict": "true"}) == [
        "transforms",
        "transforms.route.type",
        "value.converter",
    ]


def found_in(connector: Texts) -> list[str]:
    return list(problems(connector, WORKER, without=["value.converter.schemas.enable", "bootstrap.servers"]))
