"""A stream that cannot be described for long waits alone; only where that is so with all of them, the cycles wait."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from tests.memory.streams import VALUE, StreamStaging, StreamWorld

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import StreamUnavailable
from frazil.model import TableName
from frazil.sources.kinesis.source import KinesisSource, Reading

DESCRIBING = ("DescribeStreamSummary", "ListShards")

_names = itertools.count(1)


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


class Pair:
    """A connector that reads two streams, and has read one record of each."""

    def __init__(self, local: LocalKinesis, pattern: str | None = None) -> None:
        number = next(_names)
        self.ill, self.well = f"a{number}", f"b{number}"
        self.local = local
        local.provide(self.ill, 1)
        local.provide(self.well, 1)
        self.world = StreamWorld(local, f"{self.ill},{self.well}")
        settings = self.world.settings()
        named = () if pattern else (self.ill, self.well)
        reading = Reading(named, pattern=pattern and pattern.format(number), discovery=0.0)
        source = KinesisSource({**settings.source.client, "poll_interval_ms": "0"}, reading)
        staging = StreamStaging(self.world.catalog.files)
        self.connector = Ingestion(settings, self.world.catalog, source, staging, None, destinations)
        self.connector.discover()
        for stream in (self.ill, self.well):
            self.put(stream, 1)
            self.until(stream, 1)

    def put(self, stream: str, number: int) -> None:
        self.local.client().put_record(StreamName=stream, Data=b'{"number":%d}' % number, PartitionKey="k")

    def numbers(self, stream: str) -> list[object]:
        table = self.world.catalog.tables.get(TableName(("public",), stream.upper()))
        return [] if table is None else [row.values[VALUE]["number"] for row in table.rows()]

    def until(self, stream: str, *wanted: int) -> None:
        deadline = time.monotonic() + 30
        while self.numbers(stream) != [*wanted]:
            assert time.monotonic() < deadline, self.numbers(stream)
            self.connector.cycle()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch, local: LocalKinesis) -> Iterator[None]:
    """What is known of a stream is old at once, and nothing is waited for that a test need not wait for."""
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.01)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.streams._STALE", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.streams._REFUSED", 0.05)
    with capture_logs():
        yield
    local.faults.clear()


@pytest.mark.parametrize("operation", DESCRIBING)
def test_a_stream_that_cannot_be_described_for_long_waits_alone(local: LocalKinesis, operation: str) -> None:
    pair = Pair(local)
    local.faults.fail(operation, stream=pair.ill)
    pair.put(pair.ill, 2)
    for number in (2, 3):
        pair.put(pair.well, number)
        pair.until(pair.well, *range(1, number + 1))
    held = {partition.topic: each for partition, each in pair.connector.held.items()}

    assert pair.numbers(pair.ill) == [1]
    assert held.keys() == {pair.ill}
    assert held[pair.ill].passes
    assert held[pair.ill].reason.startswith("InternalFailure")

    local.faults.clear()
    pair.until(pair.ill, 1, 2)
    assert pair.connector.held == {}


def test_streams_that_all_cannot_be_described_are_an_outage_until_one_can(local: LocalKinesis) -> None:
    pair = Pair(local)
    local.faults.fail(*DESCRIBING, stream=pair.ill)
    also = local.faults.fail(*DESCRIBING, stream=pair.well)
    pair.put(pair.well, 2)
    for _ in range(3):
        with pytest.raises(StreamUnavailable, match="InternalFailure"):
            pair.connector.cycle()
        pair.connector.recall()

    local.faults.remove(also.number)

    pair.until(pair.well, 1, 2)


def test_streams_that_are_known_go_on_while_streams_cannot_be_listed(local: LocalKinesis) -> None:
    pair = Pair(local, pattern="[ab]{}")
    local.faults.fail("ListStreams")
    pair.put(pair.ill, 2)
    pair.put(pair.well, 2)

    pair.until(pair.ill, 1, 2)
    pair.until(pair.well, 1, 2)
