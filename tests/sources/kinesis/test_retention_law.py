"""The law of retention: whatever expires and whoever changes the retention, no record is missing without a word."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.memory.streams import StreamStaging, StreamWorld
from tests.sources.kinesis.test_shard_graph import Stream
from tests.support.clocks import Ahead

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import RecordsExpired
from frazil.model import Range, Staged, Task
from frazil.sources import kinds
from frazil.sources.kinesis.pulling import Answer, Puller

EXAMPLES: Final = int(os.environ.get("FRAZIL_EXAMPLES", "25"))
HOUR: Final = 3600.0
SLACK: Final = 1.5 * HOUR
"""Watermarks of quiet shards are committed each hour."""

_names = itertools.count(1)


class TwiceStaging(StreamStaging):
    """Reads each range twice, as for a table that gets columns; the second time, some answers are empty."""

    lies = False

    def _staged(self, task: Task) -> Staged:
        reader = kinds.open_reader(task.reader, task.ranges, task.most_bytes)
        for _ in reader.batches():
            pass
        again = tuple(Range(each.partition, each.start, each.covered) for each in reader.ranges)
        if all(each.start == each.end for each in again):
            return Staged(reader.ranges, super()._staged(replace(task, ranges=again)).tables)
        TwiceStaging.lies = True
        try:
            return super()._staged(replace(task, ranges=again))
        finally:
            TwiceStaging.lies = False


class History:
    """A stream, its connectors, and what is known of the losses there may be."""

    def __init__(self, local: LocalKinesis, clock: Ahead, shards: int, seed: int) -> None:
        self.at = random.Random(seed)
        self.clock = clock
        self.stream = Stream(local, f"kept{next(_names)}", shards)
        self.world = StreamWorld(local, self.stream.name)
        self.least = 24
        """The lowest retention since all was read, in hours."""

        self.retention = 24
        self.read_at = clock()
        """When all was read last, in seconds since the epoch."""

        self.is_told = False
        self.connector = self.opened()

    def opened(self, **keys: str) -> Ingestion:
        given = self.world.settings(**keys)
        staging = TwiceStaging(self.world.catalog.files)
        return Ingestion(given, self.world.catalog, self.world.source(given), staging, None, destinations)

    def take(self, step: str) -> None:
        match step:
            case "put":
                self.stream.put(self.at.randrange(1, 6), self.at)
            case "split":
                self.stream.split(self.at)
            case "merge":
                self.stream.merge(self.at)
            case "hours":
                self.clock.ahead += self.at.choice([0.5, 5, 13, 26, 40]) * HOUR
                # The service deletes every minute, whoever reads.
                self.trim()
            case "retention":
                self.retain(self.at.choice([24, 48, 168]))
            case "crash":
                self.connector = self.opened()
            case "cycle":
                self.told(self.connector.cycle)
            case "catch up":
                self.catch_up()

    def catch_up(self) -> None:
        self.told(lambda: self.world.catch_up(self.connector))
        self.connector.settle()
        self.read_at, self.least = self.clock(), self.retention

    def told(self, run) -> None:
        try:
            run()
        except RecordsExpired:
            assert self.clock() - self.read_at > self.least * HOUR - SLACK, "what was read is called lost"
            self.is_told = True
            self.connector = self.opened(frazil__on__data__loss="skip")
            self.world.catch_up(self.connector)
            self.connector.settle()
            self.connector = self.opened()

    def retain(self, hours: int) -> None:
        client, name = self.stream.client, self.stream.name
        if hours != self.retention:
            raised = hours > self.retention
            change = client.increase_stream_retention_period if raised else client.decrease_stream_retention_period
            self.stream._settled(lambda: change(StreamName=name, RetentionPeriodHours=hours))
        self.retention, self.least = hours, min(self.least, hours)
        self.trim()

    def trim(self) -> None:
        with self.world.local.engine.lock:
            self.world.local.engine.trim()


@pytest.fixture(scope="module")
def clock() -> Ahead:
    return Ahead()


@pytest.fixture(scope="module")
def local(clock: Ahead) -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False, clock=clock) as found:
        yield found


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls follow one another without a pause; of second readings, every other answer has nothing."""
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.probing._GAP", 0.0)
    pull, answers = Puller.pull, itertools.count()

    def lying(puller: Puller, iterator: str, arn: str | None) -> Answer:
        answer = pull(puller, iterator, arn)
        is_empty = TwiceStaging.lies and next(answers) % 2 == 0
        return replace(answer, records=[], iterator=iterator, behind=0) if is_empty else answer

    monkeypatch.setattr(Puller, "pull", lying)


STEPS = st.lists(
    st.sampled_from(
        [
            *("put", "put", "put", "split", "merge", "hours", "hours", "retention", "retention"),
            *("cycle", "catch up", "crash", "crash"),
        ]
    ),
    min_size=5,
    max_size=20,
)


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(shards=st.integers(1, 2), steps=STEPS, seed=st.integers(0, 2**32))
def test_no_record_is_missing_without_a_word(
    local: LocalKinesis, clock: Ahead, shards: int, steps: list[str], seed: int
) -> None:
    with capture_logs():
        history = History(local, clock, shards, seed)
        history.connector.discover()
        for step in steps:
            history.take(step)
        history.connector = history.opened()
        history.catch_up()

    landed: dict[str, list[int]] = defaultdict(list)
    for value in history.world.values():
        landed[str(value["key"])].append(int(str(value["number"])))
    missing = {key: count - len(landed[key]) for key, count in history.stream.written.items()}
    assert all(found == sorted(set(found)) for found in landed.values())
    assert history.is_told or not any(missing.values()), f"{missing} are missing, and nothing was said"
