"""Who opens a connector on a table at the same moment as somebody else."""

from __future__ import annotations

import pytest
from tests.cycle.memory import World, token

from frazil.errors import Fenced
from frazil.testing.crash import call_at


@pytest.mark.parametrize("landed", [0, 10])
def test_of_two_that_open_at_the_same_moment_one_opens_after_the_other_and_owns_the_table(landed: int) -> None:
    world = World()
    world.cluster.create_topic("orders")
    if landed:
        world.produce(landed)
        world.run()
    first, second = world.connector(), world.connector()

    with call_at("during_open", first.discover, 1):
        second.discover()

    world.produce(5)
    second.cycle()
    assert world.offsets() == list(range(landed + 5))
    assert token(second) == str(landed + 4)
    with pytest.raises(Fenced):
        first.cycle()
