"""A stream whose accepted records are not sent on waits as long as there are too many, and loses nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.memory.streams import StreamWorld

from frazil.cycle.open_tables import OpenTable
from frazil.cycle.republishing import Republishing
from frazil.dev.kinesis import LocalKinesis

REASON = "2 files of accepted records wait for the output stream"


@pytest.fixture
def world() -> Iterator[StreamWorld]:
    with LocalKinesis(quotas=False) as local, capture_logs():
        local.provide("orders", 2)
        yield StreamWorld(local, "orders")


def test_a_stream_is_not_read_while_its_output_is_full_and_goes_on_afterwards(
    world: StreamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: list[str] = []
    monkeypatch.setattr(Republishing, "fullness", lambda _, opened: _reason(full, opened))
    connector = world.connector()
    connector.discover()

    def put(number: int) -> None:
        world.local.client().put_record(StreamName="orders", Data=b'{"n":%d}' % number, PartitionKey="k")

    put(1)
    world.catch_up(connector)
    full.append(REASON)
    put(2)
    reports = [connector.cycle() for _ in range(5)]

    assert [each["n"] for each in world.values()] == [1]
    assert all(each.idle for each in reports)
    assert {each.reason for each in connector.held.values()} == {REASON}
    assert all(each.passes for each in connector.held.values())
    assert 0 < (connector.seconds_until_due() or 0) <= 1

    full.clear()
    deadline = time.monotonic() + 30
    while [each["n"] for each in world.values()] != [1, 2]:
        assert time.monotonic() < deadline, world.values()
        connector.cycle()
    assert connector.held == {}


def _reason(full: list[str], opened: OpenTable) -> str | None:
    assert opened.topics == {"orders"}
    return full[0] if full else None
