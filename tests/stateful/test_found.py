"""What the machine found, told plainly."""

from __future__ import annotations

import pytest
from tests.cycle.memory import TABLE, World

from frazil.errors import TokensMissing
from frazil.model import SourcePartition

BOTH = {"topics": "orders,returns", "snowflake__topic2table__map": "orders:orders,returns:orders"}


def test_a_running_connector_reads_nothing_of_a_topic_whose_opening_was_rolled_back():
    world = World()
    world.cluster.create_topic("orders")
    running = world.run(**BOTH)
    before = world.table.state.current_id
    world.cluster.create_topic("returns").logs[0].latest = 5
    world.cluster.log(SourcePartition("returns", 0)).retain(5)
    world.produce(3, topic="returns")
    running.cycle()

    world.catalog.tables[TABLE].set_current(before)
    running.recall()

    with pytest.raises(TokensMissing, match="returns"):
        running.cycle()
    assert world.offsets(topic="returns") == []
