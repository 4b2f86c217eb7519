"""The least connector configuration, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.connectors import KAFKA_JSON

from frazil.config import load
from frazil.errors import InvalidConfiguration

Texts = dict[str, str]

SINK = "com.snowflake.kafka.connector.SnowflakeSinkConnector"
STREAMING = "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector"

LEAST = {
    "name": "orders-sink",
    "topics": "orders",
    "bootstrap.servers": "localhost:9092",
    **KAFKA_JSON,
}


def problems(
    changes: Texts, worker: Texts | None = None, overrides: Texts | None = None, without: Sequence[str] = ()
) -> Texts:
    """The problems of the least configuration with `changes` and `without` some keys, by key."""
    connector = {key: value for key, value in {**LEAST, **changes}.items() if key not in without}
    with pytest.raises(InvalidConfiguration) as caught:
        load(connector, worker, overrides)
    return {problem.key: problem.text for problem in caught.value.problems}


def without(*keys: str) -> Texts:
    return {key: value for key, value in LEAST.items() if key not in keys}
