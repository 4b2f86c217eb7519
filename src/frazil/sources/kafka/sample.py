"""How large the records of a topic are, from the first few that wait."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping

from confluent_kafka import Consumer, TopicPartition

from frazil.model import Range
from frazil.sources.kafka.positions import bounds

_RECORDS = 100
"""Records of each range that are looked at, about."""

_PATIENCE = 2.0
"""Seconds to wait for a first record of every range; a range may hold none."""

_POLL = 0.2
"""Seconds one call waits for records."""


def average_sizes(consumer: Consumer, ranges: Collection[Range]) -> Mapping[str, float]:
    """Average bytes of values per offset, by topic, from the start of each range.

    Topics of which no record came in time are absent.
    """
    wanted = {(each.partition.topic, int(each.partition.partition)): bounds(each) for each in ranges}
    ends: dict[tuple[str, int], int] = {}
    sizes: Counter[str] = Counter()
    assigned = [TopicPartition(topic, number, start.offset) for (topic, number), (start, _) in wanted.items()]
    consumer.assign(assigned)
    consumer.resume(assigned)
    deadline = time.monotonic() + _PATIENCE
    try:
        while len(ends) < len(wanted) and time.monotonic() < deadline:
            for message in consumer.consume(sum(min(each.length, _RECORDS) for each in ranges), _POLL):
                key = (message.topic() or "", message.partition() or 0)
                if message.error() is None and key in wanted and (message.offset() or 0) < wanted[key][1].offset:
                    ends[key] = (message.offset() or 0) + 1
                    sizes[key[0]] += len(message.value() or b"")
    finally:
        consumer.unassign()
    lengths: Counter[str] = Counter()
    for key, end in ends.items():
        lengths[key[0]] += end - wanted[key][0].offset
    return {topic: max(1.0, sizes[topic] / length) for topic, length in lengths.items()}
