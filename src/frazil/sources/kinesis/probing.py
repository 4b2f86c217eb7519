"""Looking whether anything has come to shards in which there was nothing: the driver asks for one record of each."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import StreamUnavailable
from frazil.model import SourcePartition
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.clock import ServiceClock
from frazil.sources.kinesis.iterators import iterator_at
from frazil.sources.kinesis.listed_shards import ListedShards
from frazil.sources.kinesis.positions import END, KinesisPosition, at_record
from frazil.sources.kinesis.pulling import Puller
from frazil.sources.kinesis.standstill import Standstill
from frazil.sources.kinesis.streams import Streams
from frazil.sources.kinesis.watch import Watch

_AT_ONCE: Final = 16
"""Shards looked at at the same time."""

_TRIES: Final = 25
"""Times that a shard is asked for a record, while it is busy or answers without one."""

_ENOUGH: Final = 3
"""Answers without a record that say there is no more, before that is believed of a record that should be there."""

_GAP: Final = 0.25
"""Seconds between two such calls: a shard takes five a second."""


class Prober:
    """Looks at quiet shards of one connector."""

    def __init__(self, client: Any, address: str, streams: Streams, watch: Watch, clock: ServiceClock) -> None:
        self._client = client
        self._puller = Puller(client, 1)
        self._address = address
        self._streams = streams
        self._watch = watch
        self._clock = clock
        self._pool = ThreadPoolExecutor(_AT_ONCE, "frazil-probes")

    def look(self, shards: Sequence[SourcePartition], others: Collection[SourcePartition]) -> None:
        """Look at shards whose readers found nothing, and note what is found.

        Args:
            shards: those to look at.
            others: further ones that are read, quiet or not.

        Raises:
            StreamUnavailable: none of them could be looked at, nor has any other given an answer since it failed.
        """
        for each, trouble in zip(shards, self._pool.map(self._trouble, shards), strict=True):
            self._watch.of(each).tell(trouble)
        failed = [each for each in shards if self._watch.of(each).trouble]
        # Where there is one to read, its reader finds out.
        are_read = any(not self._watch.of(each).is_quiet for each in others)
        if failed and not are_read and self._watch.is_outage((*shards, *others)):
            raise StreamUnavailable(
                self._address, f"say what is in {failed[0]}", str(self._watch.of(failed[0]).trouble)
            )
        # Who is refused, or gets no answer, asks no sooner than otherwise. An outage is asked about until it ends.
        for each in failed:
            self._watch.of(each).looked_at = time.monotonic()

    def have_last(self, starts: Mapping[SourcePartition, KinesisPosition]) -> dict[SourcePartition, bool]:
        """Whether shards still have the last record before a start.

        One does not if the service refuses the record's place, or answers with a later record, or with none up to the
        end of the shard. Shards that give no answer are absent.
        """
        answers = self._pool.map(self._has_last, starts, starts.values())
        return {each: answer for each, answer in zip(starts, answers, strict=True) if answer is not None}

    def close(self) -> None:
        """Look at nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _trouble(self, partition: SourcePartition) -> str | None:
        """Look at one shard; what keeps the service from saying, if anything does."""
        known = self._watch.of(partition)
        try:
            self._look(partition)
        except (ClientError, BotoCoreError) as error:
            code = faults.code(error)
            if code in faults.HELD:
                self._watch.hold(partition, code)
                known.looked_at = time.monotonic()
            elif not faults.passes(error):
                # Whatever it is, a reader says it better: the shard is read again.
                known.iterator, known.is_quiet = None, code == faults.EXPIRED
            elif code in faults.THROTTLED:
                known.looked_at = time.monotonic()
            else:
                return faults.cause(error)
        return None

    def _look(self, partition: SourcePartition) -> None:
        known, arn = self._watch.of(partition), self._streams.arn(partition.topic)
        if known.covered is None:
            return
        asked = known.young_iterator or iterator_at(self._client, partition, arn, known.covered)
        answer = self._puller.pull(asked, arn)
        if answer.iterator is None:
            shards = ListedShards(self._client, partition.topic, arn)
            shards.require_end("GetRecords", str(partition.partition), answer.children)
        now = time.monotonic()
        self._clock.hear(answer.date)
        self._watch.hold(partition, None)
        known.looked_at = now
        if answer.records:
            known.is_quiet, known.standstill = False, Standstill()
            known.keep(asked, known.iterator_since if asked == known.iterator else now)
        elif answer.iterator is None:
            known.covered, known.iterator, known.is_quiet = END, None, False
            self._streams.forget(partition.topic)
        else:
            known.read_through = max(known.read_through or 0, known.standstill.read_through(answer))
            known.keep(answer.iterator, now)

    def _has_last(self, partition: SourcePartition, start: KinesisPosition) -> bool | None:
        arn, place = self._streams.arn(partition.topic), at_record(start.value)
        iterator: str | None = None
        at_the_end = 0
        for _ in range(_TRIES):
            try:
                iterator = iterator or iterator_at(self._client, partition, arn, place)
                answer = self._puller.pull(iterator, arn)
            except (ClientError, BotoCoreError) as error:
                if faults.code(error) == faults.UNFIT:
                    return False
                if faults.code(error) not in faults.THROTTLED:
                    return None  # a reader finds out, and says it better
            else:
                if answer.records:
                    return int(answer.records[0].sequence) == start.value
                at_the_end += answer.iterator is None or not answer.behind
                if answer.iterator is None or at_the_end >= _ENOUGH:
                    return False
                iterator = answer.iterator
            time.sleep(_GAP)
        return None
