"""A task is sent the shards of a stream, and polls what it has to read again."""

from __future__ import annotations

import time
from dataclasses import replace

from tests.dev.kinesis.support import make, put
from tests.sources.kinesis.fan_out.support import FIRST, options

from frazil.model import Range
from frazil.sources.kinesis.positions import BEGINNING
from frazil.sources.kinesis.reader import open_reader
from frazil.sources.kinesis.source import KinesisSource, Reading
from frazil.testing.topics import wait_until


def test_a_range_that_was_read_is_polled_again_without_waiting_for_a_subscription(local) -> None:
    kinesis = make(local)
    put(kinesis, b"1", b"2")
    source = KinesisSource(options(local), Reading(("orders",)))
    source.discover()
    wanted = Range(FIRST, BEGINNING, source.ends([FIRST])[FIRST])
    wait_until(lambda: not source.resting({FIRST: BEGINNING}), "the consumer to be ACTIVE")
    client = source.reader().client

    reader = open_reader(client, [wanted], 1 << 20)
    values = [value for batch in reader.batches() for value in batch.column("value").to_pylist()]
    (staged,) = reader.ranges
    put(kinesis, b"3")
    began = time.monotonic()
    again = open_reader(client, [replace(wanted, end=staged.covered)], 1 << 20)
    repeated = [value for batch in again.batches() for value in batch.column("value").to_pylist()]

    assert values == repeated == [b"1", b"2"]
    assert again.ranges[0].covered == staged.covered
    assert time.monotonic() - began < 4
    source.close()


def test_a_quiet_shard_is_read_again_when_its_consumer_may_subscribe(local, monkeypatch) -> None:
    make(local)
    source = KinesisSource(options(local), Reading(("orders",)))
    source.discover()
    wanted = Range(FIRST, BEGINNING, source.ends([FIRST])[FIRST])
    wait_until(lambda: not source.resting({FIRST: BEGINNING}), "the consumer to be ACTIVE")
    local.faults.fail("GetRecords")
    reader = open_reader(source.reader().client, [wanted], 1 << 20)
    assert [*reader.batches()] == []
    (staged,) = reader.ranges

    source.staged([staged])

    rest = source.resting({FIRST: staged.covered})[FIRST]
    assert 0 < rest.seconds <= 5.1
    assert staged.covered.distance(source.ends([FIRST])[FIRST]) == 0
    assert source.read_through({FIRST: staged.covered}) == {FIRST: staged.read_through}
    later = time.monotonic() + 6
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert source.resting({FIRST: staged.covered}) == {}
    assert staged.covered.distance(source.ends([FIRST])[FIRST]) == 1
    source.close()
