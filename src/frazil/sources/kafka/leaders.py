"""Where a topic's partitions are led, asked for before they are read.

Left to itself, a consumer looks for the leaders of a topic it has not heard of at its next tick, up to a second later.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from confluent_kafka import Consumer, KafkaException

_PATIENCE: Final = 2.0
"""Seconds to wait for an answer."""


class Leaders:
    """The topics that one consumer has heard of."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._known: set[str] = set()

    def find(self, topics: Iterable[str]) -> None:
        """Have the consumer hear of topics; a broker that does not answer is met again in reading, with patience."""
        with suppress(KafkaException):
            for topic in sorted(set(topics) - self._known):
                self._consumer.list_topics(topic, _PATIENCE)
                self._known.add(topic)
