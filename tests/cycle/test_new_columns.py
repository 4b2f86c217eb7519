"""The columns of a new table, put together from what several tasks saw."""

from __future__ import annotations

import itertools

import pytest
from tests.cycle.memory import World, orders
from tests.memory import MemoryRecord

SPELLINGS = ["USERID", "userId", "UserId"]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_a_column_is_spelled_as_in_the_lowest_partitions_first_record_that_lands(order: tuple[int, ...]) -> None:
    world = World()
    world.cluster.create_topic("orders", 3)
    keys = [SPELLINGS[number] for number in order]
    for partition, key in enumerate(keys):
        log = world.cluster.log(orders(partition))
        log.append(MemoryRecord(b"no JSON"), MemoryRecord({key: 1}), MemoryRecord({key.swapcase(): 2}))

    world.run(errors__tolerance="all")

    assert keys[0] in [column.name for column in world.table.state.columns()]
    assert sum(column.name.lower() == "userid" for column in world.table.state.columns()) == 1
