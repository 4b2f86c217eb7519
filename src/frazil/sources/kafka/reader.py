"""The task's side of Kafka: read ranges of one topic into Arrow, without silent gaps (design section 4).

A range is complete only when a record, the end-of-partition event, the consumer's position or its statistics are at or
past its planned end. Offsets only ever increase; those without a record are gaps, which compaction and transactions
make normal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)

from frazil.model import Position, Range, SourcePartition, StagedRange, StageFailure
from frazil.records import batches
from frazil.sources.base import ReadFailed
from frazil.sources.counting import SAMPLES, counted
from frazil.sources.kafka import consumers
from frazil.sources.kafka.assigning import assign
from frazil.sources.kafka.faults import is_missing_topic, is_vanished_offset, passes
from frazil.sources.kafka.headers import headers_of
from frazil.sources.kafka.positions import KafkaPosition, bounds, of_kafka
from frazil.sources.kafka.skipping import Skipping
from frazil.sources.kafka.timeouts import for_a_record

_BATCH_RECORDS = 20_000
_BATCH_BYTES = 16 * 1024 * 1024
_FIRST_BATCH = 20
"""Records of the first batch, before the size of a record is known."""

_END = KafkaError._PARTITION_EOF  # noqa: SLF001 (the library's name for its own code)

_NEVER = 2**63
"""Past all offsets."""

_POLL = 0.1
"""Seconds one call waits for records; the end of a range is looked at in between."""

SCHEMA = batches.schema(partition=pa.int32(), offset=pa.int64())
"""What Kafka's records are in batches."""

Watched: TypeAlias = Callable[[Callable[[str], None]], Consumer]
"""Makes a consumer that tells its statistics to a listener."""


@dataclass(slots=True)
class _Progress:
    """How far one range is read."""

    partition: SourcePartition
    start: KafkaPosition
    end: KafkaPosition
    staged: StagedRange

    @property
    def covered(self) -> KafkaPosition:
        """Where it is read to."""
        return bounds(Range(self.partition, self.staged.start, self.staged.covered))[1]


def open_reader(client: Mapping[str, Any], ranges: Sequence[Range], most_bytes: int) -> RangeReader:
    """A reader of ranges of one topic, on a consumer that is kept for the next task with the same configuration."""
    topic = ranges[0].partition.topic
    # Others give a record for each offset but those of markers and of what compaction removed.
    passes_over = client.get("isolation.level") == "read_committed"
    watched = partial(consumers.watched, client, topic) if passes_over else None
    return RangeReader(consumers.kept(client, topic), ranges, for_a_record(client), most_bytes, watched)


evict = consumers.evict
"""Forget the consumer of a configuration: it failed, and the next task gets a new one."""


class RangeReader:
    """Reads the ranges of one task; afterwards `ranges` tells what was covered."""

    def __init__(
        self,
        consumer: Consumer,
        ranges: Sequence[Range],
        patience: float = for_a_record({}),
        most_bytes: int = 512 * 1024 * 1024,
        watched: Watched | None = None,
    ) -> None:
        """Read `ranges`, or of them what has about `most_bytes`.

        For `patience` seconds the broker may give none of their records. `watched` makes a consumer that reads on when
        `consumer` has been silent for a tenth of that: it may be passing over aborted transactions, which shows in the
        statistics only. As far as it has come by then counts as read.
        """
        self._consumer = consumer
        self._patience = patience
        self._watched = watched
        self._skipping: Skipping | None = None
        self._left_bytes = most_bytes
        self._topic = ranges[0].partition.topic
        self._progress = {
            int(each.partition.partition): _Progress(
                each.partition, *bounds(each), StagedRange(each.partition, each.start, each.start)
            )
            for each in ranges
        }
        self._open = dict(self._progress)
        """Those that are not read to their ends."""

        self._last_record = self._last_progress = time.monotonic()
        """When a record came, and when anything showed that the consumer had come further."""

        self._skipped_any = False
        """Whether something is covered that shows in the statistics only."""

        self._samples = max(1, SAMPLES // len(ranges))

    @property
    def ranges(self) -> tuple[StagedRange, ...]:
        """What was read so far, range by range."""
        return tuple(each.staged for each in self._progress.values())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of all ranges, in order within each partition.

        Raises:
            ReadFailed: an offset vanished, the broker refused, or nothing came for too long.
        """
        given = self._consumer
        try:
            assign(given, {each.partition: each.start for each in self._progress.values()})
            yield from self._until_done()
        finally:
            given.unassign()
            if self._consumer is not given:
                self._consumer.close()

    def beyond(self, batch: pa.RecordBatch, starts: Mapping[SourcePartition, Position]) -> pa.BooleanArray:
        """Which records of a batch lie at or after the start of their partition; see `frazil.sources.base`."""
        found = pa.array([True] * batch.num_rows, pa.bool_())
        for partition, start in of_kafka(starts).items():
            others = pc.not_equal(batch.column("partition"), partition.partition)
            found = pc.and_(found, pc.or_(others, pc.greater_equal(batch.column("offset"), start.offset)))
        return found

    def _until_done(self) -> Iterator[pa.RecordBatch]:
        wanted = _FIRST_BATCH
        self._last_progress = self._last_record = time.monotonic()
        while self._open and self._left_bytes > 0:
            # Asked for more than there is, the call would wait for it.
            messages = self._consumer.consume(min(wanted, self._left()), _POLL)
            if self._is_enough(messages):
                return
            for records in _pieces(self._accept(messages)):
                batch = _to_arrow(records)
                self._count(batch)
                average = max(1, batch.nbytes // len(records))
                wanted = min(_BATCH_RECORDS, max(1, _BATCH_BYTES // average))
                self._left_bytes -= batch.nbytes
                yield batch

    def _is_enough(self, messages: Sequence[Message]) -> bool:
        """Whether what was read is to be committed before more is waited for; `messages` are what came just now."""
        now = time.monotonic()
        if messages:
            self._last_progress = self._last_record = now
        elif self._positions_reached() or self._has_skipped():
            self._last_progress = now
        elif self._watched and not self._skipping and now - self._last_record > self._patience / 10:
            self._watch(self._watched)
        if now - self._last_progress > self._patience and not self._skipped_any:
            raise self._silence()
        return self._skipped_any and now - self._last_record > self._patience

    def _watch(self, watched: Watched) -> None:
        """Read on with a consumer that tells how far it has come."""
        self._consumer.unassign()
        self._skipping = Skipping(self._topic)
        self._consumer = watched(self._skipping.hear)
        assign(self._consumer, {each.partition: _rest(each) for each in self._open.values()})

    def _has_skipped(self) -> bool:
        """Cover what the consumer has passed over; to be asked when it has just given nothing."""
        moved = False
        for number, each in [*self._open.items()] if self._skipping else []:
            position = self._skipping.position(number) if self._skipping else -1
            if position >= each.end.offset:
                self._finish([number])
            elif position > each.covered.offset:
                each.staged = _over_a_gap(each, position)
            else:
                continue
            moved = self._skipped_any = True
        return moved

    def _left(self) -> int:
        """How many offsets of the ranges are not read yet."""
        return sum(each.covered.distance(each.end) for each in self._open.values())

    def _accept(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The records that belong to the ranges; notes ends and raises for what cannot be read."""
        ends = {number: each.end.offset for number, each in self._open.items()}
        finished: set[int] = set()
        # Here and below, one call for all messages instead of one for each: there are millions of them.
        if any(map(Message.error, messages)):
            finished = self._ended([message for message in messages if message.error()], ends)
            messages = [message for message in messages if not message.error()]
        last = _last(messages)
        finished |= {number for number, message in last.items() if message.offset() + 1 >= ends.get(number, _NEVER)}
        if any(message.offset() >= ends.get(number, 0) for number, message in last.items()):
            messages = [message for message in messages if message.offset() < ends.get(message.partition(), 0)]
            last = _last(messages)
        for number, message in last.items():
            each, epoch = self._progress[number], message.leader_epoch()
            each.staged = replace(each.staged, covered=KafkaPosition(message.offset() + 1, epoch), record_epoch=epoch)
        self._finish(finished)
        return messages

    def _ended(self, events: Iterable[Message], ends: Mapping[int, int]) -> set[int]:
        """The partitions that have come to the ends of their ranges, as events say; raises for those that say worse."""
        ended = set()
        for event in events:
            number, error = event.partition(), event.error()
            self._event(number, error)
            # The offset of an end is the next record's.
            if error.code() == _END and event.offset() >= ends.get(number, _NEVER):
                ended.add(number)
        return ended

    def _count(self, batch: pa.RecordBatch) -> None:
        """Add records to what is known of their ranges."""
        partitions, stamps = batch.column("partition"), batch.column("timestamp")
        sizes = pc.binary_length(batch.column("value"))
        found = partitions.unique().to_pylist()
        for number in found:
            mine = None if len(found) == 1 else pc.equal(partitions, number)
            each = self._progress[number]
            each.staged = counted(each.staged, _where(stamps, mine), _where(sizes, mine), self._samples)

    def _event(self, number: int, error: KafkaError) -> None:
        """Raise for an event after which a range cannot be read."""
        each = self._progress.get(number)
        partition = each.partition if each else None
        if is_vanished_offset(error):
            raise ReadFailed(StageFailure("data_loss", f"an offset of {partition} is gone: {error.str()}", partition))
        if is_missing_topic(error):
            # Deleted since the plan was made; the next one finds out whether it is gone.
            raise ReadFailed(StageFailure("broker_unavailable", error.str(), partition))
        if error.code() != _END and not passes(error):
            raise ReadFailed(StageFailure("broker_refused", error.str(), partition))

    def _positions_reached(self) -> bool:
        """Finish the ranges whose end the consumer has passed without a record to show for it."""
        positions = self._consumer.position([TopicPartition(self._topic, number) for number in self._open])
        reached = {each.partition for each in positions if each.offset >= self._open[each.partition].end.offset}
        self._finish(reached)
        return bool(reached)

    def _finish(self, numbers: Collection[int]) -> None:
        """Note that the ranges of these partitions are read to their ends."""
        for number in numbers:
            each = self._open.pop(number)
            if each.covered < each.end:
                each.staged = _over_a_gap(each, each.end.offset)
        if self._open and numbers:
            # What lies past the end is the next cycle's: it must not fill the queue of the ranges still open.
            self._consumer.pause([TopicPartition(self._topic, number) for number in numbers])

    def _silence(self) -> ReadFailed:
        waiting = next(iter(self._open.values()))
        message = (
            f"{waiting.partition} gave no record for {self._patience:.0f} s at offset {waiting.covered.offset}, "
            f"before the planned end {waiting.end.offset}"
        )
        return ReadFailed(StageFailure("broker_unavailable", message, waiting.partition))


def _rest(progress: _Progress) -> KafkaPosition:
    known = progress.staged.record_epoch
    return KafkaPosition(progress.covered.offset, progress.start.leader_epoch if known is None else known)


def _over_a_gap(progress: _Progress, end: int) -> StagedRange:
    """A range covered up to `end`, where nothing came of the last offsets that could tell their leader epoch."""
    planned = progress.end.leader_epoch
    known = [epoch for epoch in (planned, progress.staged.record_epoch) if epoch is not None]
    return replace(progress.staged, covered=KafkaPosition(end, None if planned is None else max(known)))


def _last(messages: Sequence[Message]) -> dict[int, Message]:
    """The last message of each partition."""
    return dict(zip(map(Message.partition, messages), messages, strict=True))


def _where(column: pa.Array, mask: pa.BooleanArray | None) -> pa.Array:
    return column if mask is None else column.filter(mask)


def _pieces(records: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The records in pieces of about `_BATCH_BYTES`: how many were asked for says nothing of how large they are."""
    begin = 0
    if sum(map(len, records)) > _BATCH_BYTES * 5 // 4:
        size = 0
        for number, message in enumerate(records):
            size += len(message)
            if size >= _BATCH_BYTES:
                yield records[begin : number + 1]
                begin, size = number + 1, 0
    if begin < len(records):
        yield records[begin:]


def _to_arrow(messages: Sequence[Message]) -> pa.RecordBatch:
    timestamps = np.fromiter(chain.from_iterable(map(Message.timestamp, messages)), np.int64, 2 * len(messages))
    kind, stamp = timestamps[::2], timestamps[1::2]
    headers = headers_of(messages)
    header_type = SCHEMA.field("headers").type
    columns = [
        batches.topics(messages[0].topic(), len(messages)),
        pa.array(list(map(Message.partition, messages)), pa.int32()),
        pa.array(list(map(Message.offset, messages)), pa.int64()),
        pa.array(stamp, pa.int64(), mask=kind == TIMESTAMP_NOT_AVAILABLE),
        pa.array(kind == TIMESTAMP_LOG_APPEND_TIME, pa.bool_()),
        pa.array(list(map(Message.key, messages)), pa.binary()),
        _binary(list(map(Message.value, messages))),
        pa.array(headers, header_type) if any(headers) else pa.nulls(len(messages), header_type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _binary(cells: list[bytes | None]) -> pa.BinaryArray:
    """The cells as a column, in a buffer of their size: Arrow's own grows, and each time what is in it is copied."""
    try:
        data = b"".join(cells)  # type: ignore[arg-type]
    except TypeError:  # there are tombstones
        return pa.array(cells, pa.binary())
    ends = np.fromiter(accumulate(map(len, cells), initial=0), np.int32, len(cells) + 1)  # type: ignore[arg-type]
    return pa.Array.from_buffers(pa.binary(), len(cells), [None, pa.py_buffer(ends), pa.py_buffer(data)])
