"""The task's side of Kafka: read ranges of one topic into Arrow, without silent gaps (design section 4).

A range is complete only when a record, the end-of-partition event or the consumer's position is at or past its planned
end. Offsets only ever increase; those without a record are gaps, which compaction and transactions make normal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, Message, TopicPartition

from frazil.model import Range, StagedRange, StageFailure
from frazil.sources.kafka.faults import QUIET, is_missing_topic, is_vanished_offset, passes
from frazil.sources.kafka.headers import headers_of
from frazil.sources.kafka.patience import for_a_record

_BATCH_RECORDS = 20_000
_BATCH_BYTES = 16 * 1024 * 1024
_FIRST_BATCH = 2_000
"""Records of the first batch, before the size of a record is known."""

_SAMPLES = 32
"""Timestamps kept of each range."""

_POLL = 0.1
"""Seconds one call waits for records; the end of a range is looked at in between."""

SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("log_append_time", pa.bool_()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.map_(pa.string(), pa.binary())),
    ]
)
"""One record a row; timestamps are ms since the epoch, null when the record has none."""


class ReadFailed(Exception):
    """A range cannot be read to its end; carries the failure as the value the driver gets."""

    def __init__(self, failure: StageFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class _Progress:
    """How far one range is read."""

    range: Range
    staged: StagedRange
    done: bool = False


class RangeReader:
    """Reads the ranges of one task; afterwards `ranges` tells what was covered."""

    def __init__(self, consumer: Consumer, ranges: Sequence[Range], patience: float = for_a_record({})) -> None:
        """Read `ranges`; `patience` is for how many seconds the broker may give none of their records."""
        self._consumer = consumer
        self._patience = patience
        self._topic = ranges[0].partition.topic
        self._progress = {
            each.partition.partition: _Progress(each, StagedRange(each.partition, each.start, each.start))
            for each in ranges
        }

    @property
    def ranges(self) -> tuple[StagedRange, ...]:
        """What was read so far, range by range."""
        return tuple(each.staged for each in self._progress.values())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the records of all ranges, in order within each partition.

        Raises:
            ReadFailed: an offset vanished, the broker refused, or nothing came for too long.
        """
        assigned = [TopicPartition(self._topic, number, each.range.start) for number, each in self._progress.items()]
        self._consumer.assign(assigned)
        # A partition paused at the end of an earlier range stays paused through an assignment.
        self._consumer.resume(assigned)
        try:
            yield from self._until_done()
        finally:
            self._consumer.unassign()

    def _until_done(self) -> Iterator[pa.RecordBatch]:
        wanted, last_progress = _FIRST_BATCH, time.monotonic()
        while any(not each.done for each in self._progress.values()):
            # Asked for more than there is, the call would wait for it.
            messages = self._consumer.consume(min(wanted, self._left()), _POLL)
            if messages:
                last_progress = time.monotonic()
            elif self._positions_reached():
                continue
            elif time.monotonic() - last_progress > self._patience:
                raise self._silence()
            records = self._accept(messages)
            if records:
                batch = _to_arrow(records)
                average = max(1, batch.nbytes // len(records))
                wanted = min(_BATCH_RECORDS, max(1, _BATCH_BYTES // average))
                yield batch

    def _left(self) -> int:
        """How many offsets of the ranges are not read yet."""
        return sum(each.range.end - each.staged.covered for each in self._progress.values() if not each.done)

    def _accept(self, messages: Sequence[Message]) -> list[Message]:
        """The records that belong to the ranges; notes ends and raises for what cannot be read."""
        accepted = []
        progress = self._progress
        for message in messages:
            each = progress.get(message.partition())
            error = message.error()
            if error is not None:
                self._event(each, message, error)
            elif each is not None and not each.done:
                if message.offset() < each.range.end:
                    accepted.append(message)
                if message.offset() + 1 >= each.range.end:
                    self._finish(each)
        self._count(accepted)
        return accepted

    def _count(self, records: Sequence[Message]) -> None:
        by_partition: dict[int, list[Message]] = {}
        for message in records:
            by_partition.setdefault(message.partition(), []).append(message)
        for number, messages in by_partition.items():
            each = self._progress[number]
            stamps = [stamp for kind, stamp in (message.timestamp() for message in messages) if kind]
            known = [stamp for stamp in (each.staged.oldest, each.staged.newest) if stamp is not None] + stamps
            each.staged = replace(
                each.staged,
                covered=each.range.end if each.done else messages[-1].offset() + 1,
                parsed=each.staged.parsed + len(messages),
                bytes=each.staged.bytes + sum(len(message.value() or b"") for message in messages),
                leader_epoch=messages[-1].leader_epoch(),
                oldest=min(known, default=None),
                newest=max(known, default=None),
                sample=(*each.staged.sample, *stamps[:: max(1, len(stamps) // _SAMPLES)])[-_SAMPLES:],
            )

    def _event(self, each: _Progress | None, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the library's name for its own code)
            if each is not None and message.offset() >= each.range.end:
                self._finish(each)
        elif is_vanished_offset(error):
            partition = each.range.partition if each else None
            raise ReadFailed(StageFailure("data_loss", f"an offset of {partition} is gone: {error.str()}", partition))
        elif is_missing_topic(error):
            # Deleted since the plan was made; the next one finds out whether it is gone.
            raise ReadFailed(StageFailure("broker_unavailable", error.str(), each.range.partition if each else None))
        elif not passes(error):
            raise ReadFailed(StageFailure("broker_refused", error.str(), each.range.partition if each else None))

    def _positions_reached(self) -> bool:
        """Finish the ranges whose end the consumer has passed without a record to show for it."""
        open_ranges = {number: each for number, each in self._progress.items() if not each.done}
        positions = self._consumer.position([TopicPartition(self._topic, number) for number in open_ranges])
        reached = [position for position in positions if position.offset >= open_ranges[position.partition].range.end]
        for position in reached:
            self._finish(open_ranges[position.partition])
        return bool(reached)

    def _finish(self, each: _Progress) -> None:
        each.done = True
        each.staged = replace(each.staged, covered=each.range.end)
        if any(not other.done for other in self._progress.values()):
            # What lies past the end is the next cycle's: it must not fill the queue of the ranges still open.
            self._consumer.pause([TopicPartition(self._topic, each.range.partition.partition)])

    def _silence(self) -> ReadFailed:
        waiting = next(each for each in self._progress.values() if not each.done)
        message = (
            f"{waiting.range.partition} gave no record for {self._patience:.0f} s at offset {waiting.staged.covered}, "
            f"before the planned end {waiting.range.end}"
        )
        return ReadFailed(StageFailure("broker_unavailable", message, waiting.range.partition))


def consumer_config(client: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a task's consumer: the user's, with what correctness needs on top."""
    tuned = {
        "fetch.wait.max.ms": 10,
        "fetch.message.max.bytes": 8 * 1024 * 1024,
        "queued.min.messages": 100_000,
        "queued.max.messages.kbytes": 32_768,
        **QUIET,
    }
    fixed = {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # Unset, librdkafka answers a vanished offset with a plain end of partition: records lost in silence.
        "auto.offset.reset": "error",
    }
    return {**tuned, **client, **fixed}


def _to_arrow(messages: Sequence[Message]) -> pa.RecordBatch:
    stamps = [message.timestamp() for message in messages]
    headers = headers_of(messages)
    columns = [
        pa.array([message.partition() for message in messages], pa.int32()),
        pa.array([message.offset() for message in messages], pa.int64()),
        pa.array([stamp if kind else None for kind, stamp in stamps], pa.int64()),
        pa.array([kind == TIMESTAMP_LOG_APPEND_TIME for kind, _ in stamps], pa.bool_()),
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array(headers, SCHEMA.field("headers").type)
        if any(headers)
        else pa.nulls(len(messages), SCHEMA.field("headers").type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
