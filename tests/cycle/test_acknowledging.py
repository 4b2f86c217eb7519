"""The consumer group's offsets follow the tables, whatever becomes of one of a table's topics."""

from __future__ import annotations

from structlog.testing import capture_logs
from tests.cycle.memory import World

from frazil.model import SourcePartition

BOTH = {"topics": "orders,returns", "snowflake__topic2table__map": "orders:sales,returns:sales"}


def test_a_deleted_topic_of_a_table_warns_once_and_the_offsets_of_the_other_are_published() -> None:
    world = World()
    for topic in ("orders", "returns"):
        world.cluster.create_topic(topic)
        world.produce(1, topic=topic)
    connector = world.run(**BOTH)
    world.cluster.delete_topic("returns")

    with capture_logs() as logs:
        for _ in range(3):
            world.produce(1)
            connector.cycle()

    assert world.cluster.groups["connect-shop"][SourcePartition("orders", 0)].offset == 4
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == [
        "a topic does not exist; it is waited for, and other topics go on"
    ]
