"""Clocks of executors may be wrong: how long a shard rests does not depend on them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from structlog.testing import capture_logs
from tests.memory.streams import StreamStaging, StreamWorld

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.model import Staged, Task

HOUR = 3600.0


class StagingElsewhere(StreamStaging):
    """Tasks run on a host whose clock differs from the driver's."""

    ahead = 0.0

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
        with pytest.MonkeyPatch.context() as patch:
            right = time.time
            patch.setattr(time, "time", lambda: right() + self.ahead)
            return super().run(groups, description)


@pytest.fixture
def world() -> Iterator[StreamWorld]:
    with LocalKinesis(quotas=False) as local, capture_logs():
        local.provide("orders", 1)
        yield StreamWorld(local, "orders")


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_shard_rests_no_longer_where_the_clock_of_an_executor_is_wrong(world: StreamWorld, ahead: float) -> None:
    settings = world.settings()
    staging = StagingElsewhere(world.catalog.files)
    staging.ahead = ahead
    source = world.source(settings, read_window_ms="500")
    connector = Ingestion(settings, world.catalog, source, staging, None, destinations)
    connector.discover()
    for number in range(3):
        world.local.client().put_record(StreamName="orders", Data=b'{"number":%d}' % number, PartitionKey="k")

        deadline = time.monotonic() + 30
        while len(world.values()) <= number:
            assert time.monotonic() < deadline, connector.resting
            connector.cycle()

    assert [each["number"] for each in world.values()] == [0, 1, 2]
    assert all(rest.seconds < 5 for rest in connector.resting.values())
