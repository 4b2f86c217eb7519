"""The law of shards: whatever splits, merges and crashes there are, each record lands once, and each key in order."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.memory.streams import StreamWorld

from frazil.cycle import Ingestion
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import FrazilError

_names = itertools.count(1)
KEYS = [f"customer {number}" for number in range(12)]


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls follow one another without a pause: the quotas are off."""
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)


class Stream:
    """A stream that is written to, split and merged, and what was written."""

    def __init__(self, local: LocalKinesis, name: str, shards: int) -> None:
        self.local, self.name = local, name
        self.client = local.client("kinesis")
        local.provide(name, shards)
        self.written: dict[str, int] = defaultdict(int)

    def put(self, count: int, at: random.Random) -> None:
        for _ in range(count):
            key = at.choice(KEYS)
            self.written[key] += 1
            data = b'{"key":"%s","number":%d}' % (key.encode(), self.written[key])
            self.client.put_record(StreamName=self.name, Data=data, PartitionKey=key)

    def open_shards(self) -> list[dict]:
        shards = self.client.list_shards(StreamName=self.name)["Shards"]
        found = [each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]]
        return sorted(found, key=lambda each: int(each["HashKeyRange"]["StartingHashKey"]))

    def split(self, at: random.Random) -> None:
        shard = at.choice(self.open_shards())
        low, high = (int(shard["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
        if high - low > 1000:
            middle = str(at.randrange(low + 100, high - 100))
            self._settled(
                lambda: self.client.split_shard(
                    StreamName=self.name, ShardToSplit=shard["ShardId"], NewStartingHashKey=middle
                )
            )

    def merge(self, at: random.Random) -> None:
        shards = self.open_shards()
        if len(shards) > 1:
            place = at.randrange(len(shards) - 1)
            one, other = shards[place]["ShardId"], shards[place + 1]["ShardId"]
            self._settled(
                lambda: self.client.merge_shards(StreamName=self.name, ShardToMerge=one, AdjacentShardToMerge=other)
            )

    def _settled(self, change) -> None:
        change()
        while (
            self.client.describe_stream_summary(StreamName=self.name)["StreamDescriptionSummary"]["StreamStatus"]
            != "ACTIVE"
        ):
            pass


STEPS = st.lists(
    st.sampled_from(["put", "put", "split", "split", "merge", "cycle", "cycle", "crash", "lost answer", "lost commit"]),
    min_size=5,
    max_size=25,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(shards=st.integers(1, 3), steps=STEPS, seed=st.integers(0, 2**32))
def test_each_record_lands_once_and_each_key_in_order(
    local: LocalKinesis, shards: int, steps: list[str], seed: int
) -> None:
    at = random.Random(seed)
    stream = Stream(local, f"orders{next(_names)}", shards)
    world = StreamWorld(local, stream.name)
    with capture_logs():
        connector = world.connector()
        connector.discover()
        for step in steps:
            connector = take(step, stream, world, connector, at)
        world.catch_up(world.connector())

    require_law(world, stream)


def take(step: str, stream: Stream, world: StreamWorld, connector: Ingestion, at: random.Random) -> Ingestion:
    match step:
        case "put":
            stream.put(at.randrange(1, 12), at)
        case "split":
            stream.split(at)
        case "merge":
            stream.merge(at)
        case "cycle":
            connector.cycle()
        case "crash":
            connector = world.connector()
        case "lost answer" | "lost commit":
            stream.put(1, at)
            world.catalog.outcomes.append("lost" if step == "lost answer" else "never")
            try:
                connector.cycle()
            except FrazilError:
                connector = world.connector()
            world.catalog.outcomes.clear()
    return connector


def require_law(world: StreamWorld, stream: Stream) -> None:
    landed: dict[str, list[int]] = defaultdict(list)
    for value in world.values():
        landed[str(value["key"])].append(int(str(value["number"])))

    assert dict(landed) == {key: [*range(1, count + 1)] for key, count in stream.written.items()}
