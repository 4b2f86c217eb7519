"""What a topic holds, as a real broker tells it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.soak import census

from frazil.dev.kafka import KafkaBroker
from frazil.testing.produce import record
from frazil.testing.records import produce, produce_transaction


@pytest.mark.long
def test_every_offset_of_every_partition_is_of_a_kind(broker: KafkaBroker, make_topic: Callable[..., str]) -> None:
    topic, servers = make_topic(partitions=3), broker.bootstrap_servers
    produce(servers, topic, [record("r", 0, 0), b"no JSON", None, b'{"seq": "x"}', record("r", 0, 1)])
    produce_transaction(servers, topic, [record("t", 1, 0), record("t", 1, 1)], partition=1, commit=False)
    produce_transaction(servers, topic, [record("t", 1, 2)], partition=1)

    taken = census.take(servers, topic, 3)

    assert taken.offsets(census.GOOD) == {0: {0, 4}, 1: {3}, 2: set()}
    assert taken.offsets(census.UNFIT) == {0: {1, 3}, 1: set(), 2: set()}
    assert taken.offsets(census.TOMBSTONE) == {0: {2}, 1: set(), 2: set()}
    assert taken.offsets(census.GAP) == {0: set(), 1: {0, 1, 2, 4}, 2: set()}
