"""Split and merge the shards of a stream through its API, and keep what became of which."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from frazil.sources.kinesis.streams import listed, range_of

_POLL: Final = {"Delay": 1, "MaxAttempts": 60}


@dataclass(frozen=True, slots=True)
class Change:
    """A split or a merge."""

    parents: tuple[str, ...]
    children: tuple[str, ...]

    def __str__(self) -> str:
        done = "split into" if len(self.parents) == 1 else "merged into"
        return f"{' and '.join(self.parents)} {done} {' and '.join(self.children)}"


@dataclass(slots=True)
class Reshaper:
    """Changes the shards of one stream; `client` is boto3's."""

    client: Any
    stream: str
    changes: list[Change] = field(default_factory=list)
    """What was done so far."""

    def split(self) -> None:
        """Split the open shard with the most hash keys in the middle."""
        widest = max(self._open(), key=_width)
        low, high = range_of(widest)
        middle = str((low + high) // 2 + 1)
        self.client.split_shard(StreamName=self.stream, ShardToSplit=widest["ShardId"], NewStartingHashKey=middle)
        self._note(widest)

    def merge(self) -> None:
        """Merge the two neighbours with the fewest hash keys among the open shards."""
        ordered = sorted(self._open(), key=range_of)
        left, right = min(pairwise(ordered), key=lambda pair: _width(pair[0]) + _width(pair[1]))
        self.client.merge_shards(
            StreamName=self.stream, ShardToMerge=left["ShardId"], AdjacentShardToMerge=right["ShardId"]
        )
        self._note(left, right)

    def _open(self) -> list[dict[str, Any]]:
        shards = listed(self.client, {"StreamName": self.stream})
        return [each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]]

    def _note(self, *parents: dict[str, Any]) -> None:
        self.client.get_waiter("stream_exists").wait(StreamName=self.stream, WaiterConfig=_POLL)
        names = tuple(str(each["ShardId"]) for each in parents)
        children = tuple(str(each["ShardId"]) for each in self._open() if each.get("ParentShardId") in names)
        self.changes.append(Change(names, children))


def _width(shard: dict[str, Any]) -> int:
    low, high = range_of(shard)
    return high - low
