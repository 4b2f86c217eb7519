"""The streams, and what there is of them at a moment; no HTTP in it.

Whoever works with it holds its lock: the server's thread does while it carries out a request, a test while it looks.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from frazil.dev.kinesis.failures import Refused, in_use, invalid, limit_exceeded, not_found
from frazil.dev.kinesis.faults import Faults
from frazil.dev.kinesis.model import HASH_KEYS, Shard, Status, Stream
from frazil.dev.kinesis.numbers import Number
from frazil.dev.kinesis.quotas import Quotas
from frazil.dev.kinesis.store import Store

ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"

SHARD_LIMIT: Final = 20_000
"""How many shards a stream may have; AWS counts those of all streams of an account."""

SETTLES_WITHIN: Final = 0.05
"""Seconds that streams and consumers stay CREATING, UPDATING or DELETING."""

_ARN: Final = re.compile(r"arn:aws:kinesis:([^:]*):(\d{12}):stream/([a-zA-Z0-9_.-]+)(?:/consumer/.*)?")


class Engine:
    """All streams of one account and region.

    Args:
        store: Where they are kept.
        clock: Gives the time in seconds: arrivals, retention, iterators and quotas go by it.
        quotas: Whether what exceeds AWS's quotas is refused.
        settles_within: Seconds, by no clock of the caller's, for which a change is seen to be under way.
        faults: What goes wrong on demand; nothing by default.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float] = time.time,
        *,
        quotas: bool = True,
        settles_within: float = SETTLES_WITHIN,
        faults: Faults | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.store = store
        self.clock = clock
        self.quotas = Quotas(ACCOUNT, enforced=quotas)
        self.settles_within = settles_within
        self.faults = faults or Faults()
        self._counters = {"moment": 0, "stream": 0, "shard": 0, **store.counters()}
        self._streams = {stream.name: stream for stream in store.streams()}

    def now(self) -> int:
        """The time in milliseconds."""
        return int(self.clock() * 1000)

    def moment(self) -> int:
        """The time in milliseconds, later than all moments given before."""
        self._counters["moment"] = max(self.now(), self._counters["moment"] + 1)
        return self._counters["moment"]

    def settling(self) -> float:
        """When a change that begins now is done, by the stopwatch."""
        return time.monotonic() + self.settles_within

    def is_settled(self, settles: float) -> bool:
        """Whether a change is done."""
        return time.monotonic() >= settles

    def status(self, stream: Stream) -> Status:
        """The stream's status now."""
        return "ACTIVE" if self.is_settled(stream.settles) else stream.changing

    def streams(self) -> list[Stream]:
        """All streams there are, by name."""
        for stream in list(self._streams.values()):
            if stream.changing == "DELETING" and self.is_settled(stream.settles):
                self._forget(stream)
        return [self._streams[name] for name in sorted(self._streams)]

    def stream(self, name: str) -> Stream:
        """The stream of that name.

        Raises:
            Refused: there is none.
        """
        found = self._streams.get(name)
        if found is not None and found.changing == "DELETING" and self.is_settled(found.settles):
            self._forget(found)
            found = None
        if found is None:
            raise not_found(f"Stream {name} under account {ACCOUNT} not found.")
        return found

    def stream_of_arn(self, arn: str) -> Stream:
        """The stream that an ARN of its own, or of one of its consumers, names.

        Raises:
            Refused: there is none.
        """
        matched = _ARN.fullmatch(arn)
        if matched is None:
            raise invalid(f"{arn} is not the ARN of a stream.")
        region, account, name = matched.groups()
        if (region, account) != (REGION, ACCOUNT):
            raise not_found(f"Stream {arn} not found.")
        return self.stream(name)

    def incarnation(self, row: int) -> Stream:
        """The stream with that row, which one of the same name that was made later has not.

        Raises:
            Refused: it is gone.
        """
        found = next((stream for stream in self.streams() if stream.row == row), None)
        if found is None:
            raise not_found("The stream of this iterator is gone.")
        return found

    def active(self, stream: Stream) -> Stream:
        """The stream, if it is ACTIVE.

        Raises:
            Refused: it is not.
        """
        status = self.status(stream)
        if status != "ACTIVE":
            raise in_use(f"Stream {stream.name} under account {ACCOUNT} not ACTIVE, instead in state {status}")
        return stream

    def shard(self, stream: Stream, shard_id: str) -> Shard:
        """A shard that is not expired.

        Raises:
            Refused: there is none of that id.
        """
        found = next((shard for shard in self.shards(stream) if shard.id == shard_id), None)
        if found is None:
            raise not_found(f"Shard {shard_id} in stream {stream.name} under account {ACCOUNT} does not exist")
        return found

    def shards(self, stream: Stream) -> list[Shard]:
        """The stream's shards that are not expired, in the order they came to be."""
        horizon = self.horizon(stream)
        expired = [shard for shard in stream.shards if shard.closed_at is not None and shard.closed_at < horizon]
        if expired:
            for shard in expired:
                self.store.trim(shard, shard.count)
            stream.shards = [shard for shard in stream.shards if shard not in expired]
            self.save(stream)
        return stream.shards

    def horizon(self, stream: Stream) -> int:
        """What arrived before this moment is gone."""
        return self.now() - stream.retention_hours * 3_600_000

    def create(self, name: str, shards: int) -> Stream:
        """Make a stream whose shards share the hash keys evenly.

        Raises:
            Refused: there is one of that name, or it has more shards than an account may have.
        """
        if shards > SHARD_LIMIT:
            raise limit_exceeded(f"An account has {SHARD_LIMIT} shards at most, not {shards}.")
        try:
            self.stream(name)
        except Refused:
            pass
        else:
            raise in_use(f"Stream {name} under account {ACCOUNT} already exists.")
        stream = Stream(self._next("stream"), name, f"arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/{name}", self.moment())
        bounds = even_bounds(shards)
        for first, end in pairwise(bounds):
            self.add_shard(stream, stream.created, first, end - 1)
        self._streams[name] = stream
        self.change(stream, "CREATING")
        return stream

    def delete(self, stream: Stream) -> None:
        """Begin to delete a stream; what it holds is gone once that is done."""
        self.change(stream, "DELETING")

    def change(self, stream: Stream, status: Status) -> None:
        """Keep what was changed of a stream, and have `status` seen for a while."""
        stream.changing, stream.settles = status, self.settling()
        self.save(stream)

    def save(self, stream: Stream) -> None:
        """Keep what was changed of a stream."""
        self.store.save(stream, self._counters)

    def add_shard(self, stream: Stream, epoch: int, first_hash: int, last_hash: int, *parents: Shard) -> Shard:
        """Give a stream a further shard; `epoch` is a moment of its own for all that are made at once."""
        number = stream.shards[-1].number + 1 if stream.shards else 0
        shard = Shard(self._next("shard"), number, first_hash, last_hash, epoch, [parent.id for parent in parents])
        stream.shards.append(shard)
        return shard

    def close_shard(self, shard: Shard) -> None:
        """Let a shard take no more records."""
        shard.closed_at = max(self.now(), shard.arrival)
        shard.ending = str(Number(shard.epoch, shard.number, shard.closed_at, shard.count + 1))

    def trim(self) -> None:
        """Remove all that is past its retention, of all streams."""
        for stream in self.streams():
            for shard in self.shards(stream):
                self.trim_shard(stream, shard)

    def trim_shard(self, stream: Stream, shard: Shard) -> None:
        """Remove the records of a shard that are past their retention."""
        horizon = self.horizon(stream)
        oldest = self.store.first_since(shard, 0)
        if oldest is None or oldest.arrival >= horizon:
            return
        kept = self.store.first_since(shard, horizon)
        shard.trimmed = shard.count if kept is None else kept.ordinal - 1
        self.store.trim(shard, shard.trimmed)
        self.save(stream)

    def close(self) -> None:
        """Close the file that everything is in."""
        with self.lock:
            self.store.close()

    def _forget(self, stream: Stream) -> None:
        del self._streams[stream.name]
        self.store.remove(stream)

    def _next(self, counter: str) -> int:
        self._counters[counter] += 1
        return self._counters[counter]


def even_bounds(parts: int) -> list[int]:
    """Where each of so many even parts of the hash keys begins, and the end of all."""
    return [HASH_KEYS * part // parts for part in range(parts + 1)]
