"""A dead-letter topic takes what it can, whatever came in one batch with records that it refuses."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from frazil.dev.kafka import KafkaBroker
from frazil.model import Reject, SourcePartition, TableName
from frazil.records.odd_times import HEADER
from frazil.sources.kafka.dead_letters import DeadLetterTopic
from frazil.testing.records import read
from frazil.testing.topics import create_topic

ORDERS = TableName(("public",), "ORDERS")
NOW = time.time_ns() // 1_000_000


def reject(offset: int, value: bytes = b"v", *, key: bytes | None = b"k", at: int = NOW) -> Reject:
    return Reject(SourcePartition("orders", 2), offset, at, key, value, (("h", b"1"),), "convert", "5015", "no")


def dead_letters(broker: KafkaBroker, **config: str) -> DeadLetterTopic:
    name = create_topic(
        broker.bootstrap_servers,
        f"dead_{uuid4().hex[:8]}",
        1,
        {key.replace("_", "."): text for key, text in config.items()},
    )
    return DeadLetterTopic({"bootstrap.servers": broker.bootstrap_servers}, name, 1, context=True)


@pytest.mark.parametrize("odd", [NOW + 86_400_000_000, 2**63 - 1, -5], ids=["years", "end of time", "1969"])
def test_a_record_from_the_future_is_taken_without_its_time_and_others_with_theirs(
    broker: KafkaBroker, odd: int
) -> None:
    topic = dead_letters(broker, message_timestamp_after_max_ms="3600000", message_timestamp_before_max_ms="86400000")

    refused = topic.send([reject(number, at=odd if number == 3 else NOW) for number in range(6)], "shop", ORDERS)

    found = {
        dict(each.headers())["__connect.errors.offset"]: each for each in read(broker.bootstrap_servers, topic.topic)
    }
    assert (refused, len(found)) == (0, 6)
    late = found.pop(b"3")
    assert late.headers()[0] == ("h", b"1")
    assert late.headers()[-1] == (HEADER, str(odd).encode())
    assert {each.timestamp()[1] for each in found.values()} == {NOW}


def test_small_records_are_taken_though_a_batch_of_them_is_too_large(broker: KafkaBroker) -> None:
    topic = dead_letters(broker, max_message_bytes="2000")
    noise = [uuid4().bytes * 20 for _ in range(50)]

    with capture_logs() as said:
        values = [*noise[:25], uuid4().bytes * 2 + b"".join(uuid4().bytes for _ in range(400)), *noise[25:]]
        refused = topic.send([reject(number, value) for number, value in enumerate(values)], "shop", ORDERS)

    found = [each.value() for each in read(broker.bootstrap_servers, topic.topic)]
    assert (refused, sorted(found)) == (1, sorted(noise))
    (warning,) = said
    assert (warning["topic"], warning["partition"], warning["offset"]) == ("orders", 2, 25)


def test_a_compacted_topic_takes_the_records_that_have_a_key(broker: KafkaBroker) -> None:
    topic = dead_letters(broker, cleanup_policy="compact")

    refused = topic.send(
        [reject(number, key=b"k%d" % number if number % 2 else None) for number in range(4)], "shop", ORDERS
    )

    assert (refused, [each.key() for each in read(broker.bootstrap_servers, topic.topic)]) == (2, [b"k1", b"k3"])
