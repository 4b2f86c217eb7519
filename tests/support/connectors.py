"""What every connector of the tests is given."""

from __future__ import annotations

from typing import Final

JSON: Final = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
"""Values are JSON without a schema."""

KAFKA_JSON: Final = {"connector.class": "frazil.KafkaConnector", **JSON}
"""A connector on topics of JSON; it lacks its name, its topics and their broker."""
