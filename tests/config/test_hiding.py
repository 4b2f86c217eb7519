"""No problem of a configuration quotes a secret."""

from __future__ import annotations

import pytest

from frazil.config import load
from frazil.errors import InvalidConfiguration

STREAM = {
    "name": "x",
    "connector.class": "frazil.KinesisConnector",
    "frazil.kinesis.streams": "s",
    "frazil.kinesis.region": "us-east-1",
}
TOPIC = {
    "name": "x",
    "connector.class": "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector",
    "topics": "t",
    "bootstrap.servers": "b:9092",
    "snowflake.url.name": "a.b.snowflakecomputing.com",
}
SASL = {"consumer.security.protocol": "SASL_SSL", "consumer.sasl.mechanism": "PLAIN"}
AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter"}


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        (
            STREAM | {"frazil.kinesis.endpoint": "https://me:hush-hush @host:99999999"},
            "frazil.kinesis.endpoint",
            "'https://****@host:99999999' is no URL",
        ),
        (STREAM | {"frazil.kinesis.endpoint": "me:hush-hush@host"}, "frazil.kinesis.endpoint", "'****@host' is no URL"),
        (TOPIC | {"bootstrap.servers": "me:hush-hush@h:9092"}, "bootstrap.servers", "not shown because it holds"),
        (TOPIC | {"bootstrap.servers": "me:hush,hush@h:9092"}, "bootstrap.servers", "not shown because it holds"),
        (
            TOPIC | AVRO | {"value.converter.schema.registry.url": "http://me:hush-hush@h:1,ftp://me:hush-hush@x"},
            "value.converter",
            "ftp://****@x",
        ),
        (TOPIC | {"snowflake.url.name": "https://me:hush-hush@h"}, "snowflake.url.name", "'https://****@h'"),
        (
            TOPIC | SASL | {"consumer.sasl.jaas.config": 'hush-hush required username="u" password="p";'},
            "consumer.sasl.jaas.config",
            "names a login module",
        ),
        (
            TOPIC | {"snowflake.private.key": "hush-hush", "tasks.max": "hush-hush"},
            "tasks.max",
            "'****' is no whole number",
        ),
    ],
)
def test_a_problem_shows_neither_secrets_nor_users_of_addresses(given: dict[str, str], key: str, said: str) -> None:
    with pytest.raises(InvalidConfiguration) as raised:
        load(given)

    problems = {problem.key: problem.text for problem in raised.value.problems}
    assert said in problems[key]
    assert "hush" not in str(raised.value)
