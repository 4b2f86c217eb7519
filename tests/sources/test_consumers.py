"""The consumers that a worker keeps between tasks."""

from __future__ import annotations

from frazil.dev.kafka import KafkaBroker
from frazil.sources.kafka import consumers


def test_a_failed_consumer_is_replaced_and_a_well_one_kept(broker: KafkaBroker, topic: str) -> None:
    client = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "x"}
    first = consumers.kept(client, topic)

    assert consumers.kept(dict(reversed(client.items())), topic) is first
    assert consumers.kept({**client, "group.id": "y"}, topic) is not first
    consumers.evict(client)
    second = consumers.kept(client, topic)
    assert second is not first

    consumers.evict(client)
    consumers.evict(client)
    consumers.evict({**client, "group.id": "y"})
