"""Orders look like orders, and the producer counts what the log holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from random import Random

from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders import moment_now, order
from frazil.dev.orders_producer import OrderProducer
from frazil.testing.records import read
from frazil.testing.topics import wait_until

KEYS = ["order_id", "customer_name", "order_total", "isPaid", "order_date", "status", "items", "address", "note"]


def test_an_order_is_json_with_nine_keys_and_about_780_bytes() -> None:
    rng = Random(1)
    texts = [order(number, rng) for number in range(1000)]
    found = [json.loads(text) for text in texts]

    assert all(list(one) == KEYS for one in found)
    assert 740 < sum(map(len, texts)) / len(texts) < 820
    assert [one["order_id"] for one in found] == list(range(1000))
    for one in found:
        assert datetime.fromisoformat(one["order_date"]).utcoffset() is not None
        assert round(sum(item["qty"] * item["price"] for item in one["items"]), 2) == one["order_total"]
        assert one["isPaid"] == (one["status"] != "new")
        assert set(one["address"]) == {"city", "zip", "geo"}
        assert set(one["address"]["geo"]) == {"lat", "lon"}


def test_equal_seeds_make_equal_orders_and_others_differ() -> None:
    assert order(7, Random(1)) == order(7, Random(1))
    assert order(7, Random(1)) != order(7, Random(2))


def test_an_order_can_be_of_now() -> None:
    moment = moment_now()

    assert json.loads(order(1, Random(1), moment))["order_date"] == moment.decode()
    assert moment.endswith(b"Z")


def test_the_totals_are_what_the_log_holds(broker: KafkaBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=3)
    producer = OrderProducer(broker.bootstrap_servers, topic, rate=2000).start()
    wait_until(lambda: producer.totals().records > 500, "500 orders")
    totals = producer.stop()

    logs = {partition: read(broker.bootstrap_servers, topic, partition) for partition in range(3)}

    assert totals.acknowledged == {partition: len(log) for partition, log in logs.items()}
    assert totals.failed == 0
    assert totals.bytes == sum(len(message.value() or b"") for log in logs.values() for message in log)
    numbers = sorted(int(message.key() or -1) for log in logs.values() for message in log)
    assert numbers == list(range(totals.records))
