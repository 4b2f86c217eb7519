"""The task's side of Kinesis: many shards at once, each in its order, as Arrow batches."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from botocore.exceptions import BotoCoreError

from frazil.model import Position, Range, SourcePartition, StagedRange, StageFailure
from frazil.sources.base import ReadFailed
from frazil.sources.counting import SAMPLES, counted
from frazil.sources.kinesis import client as clients
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.fan_out.consumers import consumer_of
from frazil.sources.kinesis.fan_out.shard import FanOutShard
from frazil.sources.kinesis.fan_out.subscription import Subscriber
from frazil.sources.kinesis.listed_shards import ListedShards
from frazil.sources.kinesis.polling import PollingShard
from frazil.sources.kinesis.positions import Hints, KinesisPosition, Mark, after, bounds, hinted, of_kinesis, of_offset
from frazil.sources.kinesis.pulling import Puller
from frazil.sources.kinesis.shard_reading import Outcome, Pulled, ShardReading
from frazil.sources.kinesis.unpacking import batch, pieces, unpacked

_AT_ONCE: Final = 16
"""Shards read at the same time by one task: all of it is waiting."""

_SENT_AT_ONCE: Final = 64
"""The same of shards that are subscribed to, each for as long as a cycle may take."""

_AHEAD: Final = 8
"""Answers that wait to be staged; one has up to 10 MiB."""

_BATCH_BYTES: Final = 16 * 1024 * 1024
_LOOK: Final = 0.1
"""Seconds after which a thread that waits looks whether to stop."""

Making = Callable[[Range, Callable[[float], bool]], ShardReading]
"""Gives what reads a range; the function waits some seconds, and tells whether to stop."""


@dataclass(slots=True)
class _Progress:
    """How far one range is read."""

    wanted: Range
    staged: StagedRange
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class _Came:
    """What a thread has of one range: an answer, the end, or an error."""

    index: int
    what: Pulled | Outcome | BaseException


def open_reader(client: Mapping[str, str], ranges: Sequence[Range], most_bytes: int) -> RangeReader:
    """A reader of ranges of one stream, on a client that is kept for the next task with the same configuration.

    Raises:
        ReadFailed: there are no credentials as the configuration describes them, or not just now.
    """
    try:
        connected = clients.kept(client)
    except BotoCoreError as error:
        kind = "stream_unavailable" if faults.passes(error) else "stream_refused"
        raise ReadFailed(StageFailure(kind, faults.cause(error), ranges[0].partition)) from error
    puller = Puller(connected, int(client.get("max_records", 10_000)))
    rate = int(client.get("read_rate", 2 * 1024 * 1024))
    window = int(client.get("read_window_ms", 2_000)) / 1000
    stream = ranges[0].partition.topic
    arn = client.get(f"arn.{stream}")

    shards = ListedShards(connected, stream, arn)

    def polled(wanted: Range, wait: Callable[[float], bool]) -> ShardReading:
        return PollingShard(connected, puller, wanted, arn, shards, rate, window, wait)

    consumer = consumer_of(client, stream)
    if consumer is None:
        return RangeReader(ranges, most_bytes, polled, shards)
    return RangeReader(ranges, most_bytes, _sent(client, consumer, shards, polled), shards, _SENT_AT_ONCE)


def _sent(client: Mapping[str, str], consumer: str, shards: ListedShards, polled: Making) -> Making:
    """What subscribes to shards; a range whose end is known was read before, and a subscription would be too soon."""
    subscriber = Subscriber(client, consumer)
    window = int(client.get("fan_out_window_ms", 10_000)) / 1000

    def made(wanted: Range, wait: Callable[[float], bool]) -> ShardReading:
        _, end = bounds(wanted)
        if end.mark == Mark.NOW:
            return FanOutShard(subscriber.subscribe, wanted, shards, window, wait)
        known = end.hints or Hints()
        return polled(replace(wanted, end=hinted(end, replace(known, owed=0.0))), wait)

    return made


evict = clients.evict
"""Forget the client of a configuration: it failed, and the next task gets a new one."""


class RangeReader:
    """Reads the ranges of one task; afterwards `ranges` tells what was covered."""

    def __init__(
        self, ranges: Sequence[Range], most_bytes: int, making: Making, shards: ListedShards, at_once: int = _AT_ONCE
    ) -> None:
        """Read ranges of one stream.

        Args:
            ranges: what to read.
            most_bytes: bytes of records after which it is enough.
            making: gives what reads each of them.
            shards: tells the hash keys of shards, where a range does not.
            at_once: how many ranges are read at the same time.
        """
        self._progress = [_Progress(each, StagedRange(each.partition, each.start, each.start)) for each in ranges]
        self._making = making
        self._shards = shards
        self._at_once = at_once
        self._left_bytes = most_bytes
        self._came: queue.Queue[_Came] = queue.Queue(_AHEAD)
        self._stopping = threading.Event()
        self._samples = max(1, SAMPLES // len(ranges))

    @property
    def ranges(self) -> tuple[StagedRange, ...]:
        """What was read so far, range by range."""
        return tuple(_with_owed(each) for each in self._progress)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of all ranges, in order within each shard.

        Raises:
            ReadFailed: the stream refused.
        """
        pool = ThreadPoolExecutor(min(len(self._progress), self._at_once), "frazil-shards")
        try:
            for index, each in enumerate(self._progress):
                pool.submit(self._read, index, each.wanted)
            yield from self._as_they_come()
        finally:
            self._stopping.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def beyond(self, batch: pa.RecordBatch, starts: Mapping[SourcePartition, Position]) -> pa.BooleanArray:
        """Which records of a batch lie at or after the start of their partition; see `frazil.sources.base`."""
        found = pa.array([True] * batch.num_rows, pa.bool_())
        for partition, start in of_kinesis(starts).items():
            others = pc.not_equal(batch.column("partition"), str(partition.partition))
            later = pa.array([start < of_offset(each) for each in batch.column("offset").to_pylist()], pa.bool_())
            found = pc.and_(found, pc.or_(others, later))
        return found

    def _as_they_come(self) -> Iterator[pa.RecordBatch]:
        left = len(self._progress)
        while left:
            came = self._came.get()
            each = self._progress[came.index]
            match came.what:
                case Pulled() as pulled:
                    yield from self._batches_of(each, pulled)
                case Outcome() as outcome:
                    each.outcome = outcome
                    each.staged = _ended(each.staged, outcome)
                    left -= 1
                case error:
                    raise error

    def _batches_of(self, each: _Progress, pulled: Pulled) -> Iterator[pa.RecordBatch]:
        start, end = bounds(each.wanted)
        partition = each.wanted.partition
        hinted = end.hints.hash_keys if end.hints else None
        rows = unpacked(pulled.records, start, end, lambda: hinted or self._shards.hash_keys(str(partition.partition)))
        for piece in pieces(rows, _BATCH_BYTES):
            found = batch(partition.topic, str(partition.partition), piece)
            sizes = pc.binary_length(found.column("value"))
            each.staged = counted(each.staged, found.column("timestamp"), sizes, self._samples)
            self._left_bytes -= found.nbytes
            yield found
        newest = pulled.records[-1]
        is_its_place = pulled.covered == after(int(newest.sequence))
        each.staged = replace(each.staged, covered=pulled.covered, arrived=newest.arrival if is_its_place else None)

    def _read(self, index: int, wanted: Range) -> None:
        """Read one range, in a thread of its own."""

        def deliver(pulled: Pulled) -> bool:
            return self._hand_on(_Came(index, pulled)) and self._left_bytes > 0

        try:
            outcome: Outcome | BaseException = self._making(wanted, self._stopping.wait).run(deliver)
        except BaseException as error:  # noqa: BLE001 (whoever reads the batches raises it)
            outcome = error
        self._hand_on(_Came(index, outcome))

    def _hand_on(self, came: _Came) -> bool:
        """Give to whoever reads the batches, and wait for room; False: nobody reads them any more."""
        while not self._stopping.is_set():
            try:
                self._came.put(came, timeout=_LOOK)
            except queue.Full:
                continue
            return True
        return False


def _with_owed(progress: _Progress) -> StagedRange:
    """How far a range is read, with how long its shard is to be left alone from now on."""
    staged, outcome = progress.staged, progress.outcome
    if outcome is None:
        return staged
    _, covered = bounds(Range(staged.partition, staged.start, staged.covered))
    owed = max(0.0, outcome.ready_at - time.monotonic())
    return replace(staged, covered=hinted(covered, replace(covered.hints or Hints(), owed=owed)))


def _ended(staged: StagedRange, outcome: Outcome) -> StagedRange:
    covered: KinesisPosition = replace(
        outcome.covered, records=staged.parsed, read_through=outcome.read_through, is_quiet=outcome.is_quiet
    )
    return replace(
        staged,
        covered=covered,
        read_through=outcome.read_through,
        arrived=staged.arrived if covered == staged.covered else None,
        held=outcome.held,
        trouble=outcome.trouble,
    )
