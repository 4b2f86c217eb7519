"""Whatever is put, split, merged, scaled and restarted: every record is read once, and those of a key in their order."""

from __future__ import annotations

import base64
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dev.kinesis.support import Clock

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.operations import carry_out
from frazil.dev.kinesis.store import Store

KEYS = "abcdefgh"


class History:
    """A stream that things happen to, and what was put into it."""

    def __init__(self, directory: Path, shards: int) -> None:
        self.path = directory / "records.db"
        self.clock = Clock()
        self.engine = self.opened()
        self.sent: list[tuple[str, bytes]] = []
        self.numbers: defaultdict[str, list[int]] = defaultdict(list)
        self("CreateStream", ShardCount=shards)

    def __call__(self, operation: str, **given: Any) -> Any:
        return carry_out(self.engine, operation, {"StreamName": "s", **given})

    def opened(self) -> Engine:
        return Engine(Store(self.path), self.clock, quotas=False, settles_within=0.0)

    def restart(self) -> None:
        self.engine.close()
        self.engine = self.opened()

    def open_shards(self) -> list[Any]:
        listed = self("ListShards", ShardFilter={"Type": "AT_LATEST"})["Shards"]
        return sorted(listed, key=lambda shard: int(shard["HashKeyRange"]["StartingHashKey"]))

    def put(self, keys: list[str]) -> None:
        batch = [(key, b"%d" % (len(self.sent) + place)) for place, key in enumerate(keys)]
        answered = self("PutRecords", Records=[{"PartitionKey": key, "Data": value} for key, value in batch])
        for (key, _), each in zip(batch, answered["Records"], strict=True):
            self.numbers[key].append(int(each["SequenceNumber"]))
        self.sent += batch

    def split(self, place: int, part: int) -> None:
        shard = self.open_shards()[place % len(self.open_shards())]
        first, last = (int(bound) for bound in shard["HashKeyRange"].values())
        if last - first > 2:
            at = first + 2 + (last - first - 3) * part // 100
            self("SplitShard", ShardToSplit=shard["ShardId"], NewStartingHashKey=str(at))

    def merge(self, place: int) -> None:
        shards = self.open_shards()
        if len(shards) > 1:
            one, other = shards[place % (len(shards) - 1) :][:2]
            self("MergeShards", ShardToMerge=one["ShardId"], AdjacentShardToMerge=other["ShardId"])

    def scale(self, target: int) -> None:
        self("UpdateShardCount", TargetShardCount=target)

    def read(self, limit: int) -> list[tuple[str, bytes]]:
        """Read as clients do: the first shards, then each child that `ChildShards` names once its parents are read."""
        found: list[tuple[str, bytes]] = []
        done: set[str] = set()
        waiting = {
            shard["ShardId"]: set[str]() for shard in self("ListShards")["Shards"] if "ParentShardId" not in shard
        }
        while ready := sorted(shard for shard, parents in waiting.items() if parents <= done):
            for shard in ready:
                del waiting[shard]
                records, children = self.read_shard(shard, limit)
                found += records
                done.add(shard)
                waiting |= {child["ShardId"]: set(child["ParentShards"]) for child in children}
        assert waiting == {}
        return found

    def read_shard(self, shard: str, limit: int) -> tuple[list[tuple[str, bytes]], list[Any]]:
        got = self("GetShardIterator", ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        following, records = got["ShardIterator"], []
        while True:
            answer = carry_out(self.engine, "GetRecords", {"ShardIterator": following, "Limit": limit})
            assert answer is not None
            records += [(each["PartitionKey"], base64.b64decode(each["Data"])) for each in answer["Records"]]
            following = answer.get("NextShardIterator")
            if following is None or answer["MillisBehindLatest"] == 0:
                return records, answer.get("ChildShards", [])


happenings = st.one_of(
    st.tuples(st.just("put"), st.lists(st.sampled_from(KEYS), min_size=1, max_size=30)),
    st.tuples(st.just("split"), st.integers(0, 99), st.integers(0, 100)),
    st.tuples(st.just("merge"), st.integers(0, 99)),
    st.tuples(st.just("scale"), st.integers(1, 6)),
    st.tuples(st.just("restart")),
)


@settings(max_examples=40)
@given(st.integers(1, 4), st.lists(happenings, max_size=15), st.integers(1, 20))
def test_every_record_is_read_once_and_in_the_order_of_its_key(
    shards: int, happens: list[tuple[Any, ...]], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history = History(Path(directory), shards)
        for what, *how in happens:
            getattr(history, what)(*how)
            assert covers_all_hash_keys(history.open_shards())

        found = history.read(limit)
        history.engine.close()

    assert sorted(found) == sorted(history.sent)
    for key in KEYS:
        assert [each for each in found if each[0] == key] == [each for each in history.sent if each[0] == key]
        assert history.numbers[key] == sorted(set(history.numbers[key]))


def covers_all_hash_keys(shards: list[Any]) -> bool:
    following = 0
    for shard in shards:
        if int(shard["HashKeyRange"]["StartingHashKey"]) != following:
            return False
        following = int(shard["HashKeyRange"]["EndingHashKey"]) + 1
    return following == 2**128
