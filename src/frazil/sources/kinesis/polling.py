"""One shard read by GetRecords, for a task: paced, and as long as one cycle may take.

What passes by itself is waited out here; what a cycle cannot wait for is left to the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import Range, StageFailure
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.iterators import iterator_at
from frazil.sources.kinesis.listed_shards import ListedShards
from frazil.sources.kinesis.pace import Pace
from frazil.sources.kinesis.positions import BEGINNING, END, Hints, KinesisPosition, Mark, after, at_record, bounds
from frazil.sources.kinesis.pulling import Answer, Puller
from frazil.sources.kinesis.shard_reading import Deliver, Outcome, Pulled, RawRecord, behind
from frazil.sources.kinesis.standstill import Standstill

_PATIENCE: Final = 30.0
"""Seconds a range with a known end is read at least: others wait for all of it."""

_TRIES: Final = 2
"""How often in a row a place that the service does not take is tried again."""

_NO_HINTS: Final = Hints()


class PollingShard:
    """Reads one range of a shard; see `frazil.sources.kinesis.shard_reading.ShardReading`."""

    def __init__(
        self,
        client: Any,
        puller: Puller,
        wanted: Range,
        arn: str | None,
        shards: ListedShards,
        rate: int,
        window: float,
        wait: Callable[[float], bool],
    ) -> None:
        """Prepare to read.

        Args:
            client: botocore's.
            puller: what asks for records.
            wanted: what to read.
            arn: the stream's, where it is not known by its name.
            shards: says whether the shard has ended.
            rate: bytes a second that the shard may be asked for.
            window: seconds for which new calls are made.
            wait: waits some seconds; whether to stop now.
        """
        self._client = client
        self._puller = puller
        self._partition = wanted.partition
        self._start, self._end = bounds(wanted)
        self._arn = arn
        self._shards = shards
        self._hints = self._end.hints or _NO_HINTS
        self._pace = Pace(rate, self._hints.owed)
        self._owed_until = self._pace.ready_at
        self._deadline = time.monotonic() + (max(window, _PATIENCE) if self._end.mark == Mark.SEQUENCE else window)
        self._wait = wait
        self._covered = self._start
        self._iterator = self._hints.iterator if self._hints.at == self._start else None
        self._pulled = 0
        """Records of the range so far."""

        self._unfit = 0
        """How often in a row the service took no iterator, or no position, of ours."""

    def run(self, deliver: Deliver) -> Outcome:
        """Read, as far as the range, the service and the time allow."""
        if self._has_all:
            self._covered = self._end
            return self._outcome(None)
        read_through: int | None = None
        trouble: str | None = None
        answered = False
        standstill = Standstill()
        while self._is_time():
            try:
                iterator = self._iterator or self._new_iterator()
                asked = time.monotonic()
                answer = self._puller.pull(iterator, self._arn)
                if answer.iterator is None:
                    self._shards.require_end("GetRecords", str(self._partition.partition), answer.children)
            except (ClientError, BotoCoreError) as error:
                if faults.code(error) in faults.HELD:
                    return self._outcome(read_through, held=faults.code(error))
                trouble = self._trouble(error)
                if self._unfit > _TRIES:
                    break
                continue
            answered = True
            self._unfit = 0
            self._pace.answered(answer.size, asked)
            self._iterator = answer.iterator
            wanted = self._of_range(answer)
            self._pulled += len(wanted)
            self._covered = self._cover(answer)
            if self._is_beyond(answer):
                # The service goes on behind records that are beyond the range: nobody has them yet.
                self._iterator = None
            enough = bool(wanted) and not deliver(Pulled(wanted, self._covered))
            if self._covered.ended:
                newest = answer.records[-1].arrival if answer.records else None
                return self._outcome(max((each for each in (read_through, newest) if each), default=None))
            if not self._is_beyond(answer):
                read_through = standstill.read_through(answer)
            # What was read before comes again, whatever an answer says of the shard's newest record.
            caught_up = self._end.mark == Mark.NOW and (not answer.behind or standstill.is_reached)
            if enough or self._covered >= self._end or caught_up:
                return self._outcome(read_through, is_quiet=not answer.records and caught_up)
        return self._outcome(read_through, trouble=None if answered else trouble)

    def _is_time(self) -> bool:
        """Wait until a call is due; whether there is time for it."""
        left = self._pace.seconds_left
        if time.monotonic() + left > self._deadline:
            return False
        return not self._wait(left)

    def _new_iterator(self) -> str:
        # A place that retention has passed may be refused. All that is left is after it, from the first record on.
        is_passed = self._unfit and self._covered.mark == Mark.SEQUENCE
        place = BEGINNING if is_passed else self._covered
        self._iterator = iterator_at(self._client, self._partition, self._arn, place)
        return self._iterator

    def _trouble(self, error: Exception) -> str | None:
        """Be ready to go on after an error: what it says of the service; raises where waiting does not help."""
        if faults.passes(error):
            self._pace.refused()
            return None if faults.code(error) in faults.THROTTLED else faults.cause(error)
        self._iterator = None
        kind = faults.code(error)
        if kind == faults.EXPIRED:
            return None
        self._unfit += 1
        if kind in (faults.UNFIT, faults.GONE) and self._unfit <= _TRIES:
            self._pace.refused()
            return None
        if kind == faults.GONE:
            # Its stream was deleted since the plan was made, or it has expired: the next plan finds out.
            return faults.cause(error)
        raise ReadFailed(StageFailure("stream_refused", faults.cause(error), self._partition))

    def _of_range(self, answer: Answer) -> Sequence[RawRecord]:
        """The records of an answer that are in what is left of the range; of those that are partly in it, all."""
        records = behind(answer.records, self._covered)
        if self._end.mark == Mark.SEQUENCE and records and int(records[-1].sequence) >= self._end.value:
            records = [each for each in records if at_record(int(each.sequence)) < self._end]
        return records

    def _is_beyond(self, answer: Answer) -> bool:
        """Whether an answer has records behind what is covered with it: those beyond the end of the range."""
        return bool(answer.records) and after(int(answer.records[-1].sequence)) > self._covered

    def _cover(self, answer: Answer) -> KinesisPosition:
        """Where the shard is read to, with an answer."""
        last = after(int(answer.records[-1].sequence)) if answer.records else self._covered
        if self._end.mark == Mark.SEQUENCE:
            # A place in the shard's past need not be a record's: the count tells then.
            is_whole = last >= self._end or answer.iterator is None or self._has_all
            return self._end if is_whole else max(last, self._covered)
        return END if answer.iterator is None else max(last, self._covered)

    @property
    def _has_all(self) -> bool:
        """Whether a range that was read before has all the records that it had then."""
        is_again = self._end.mark == Mark.SEQUENCE and self._end.pulled is not None
        return is_again and self._pulled >= (self._end.pulled or 0)

    def _outcome(
        self,
        read_through: int | None,
        *,
        is_quiet: bool = False,
        held: str | None = None,
        trouble: str | None = None,
    ) -> Outcome:
        # Who got no answer owes nothing: when to ask again is for those to say who see all shards.
        ready_at = self._pace.ready_at if trouble is None else self._owed_until
        hints = Hints(self._hints.hash_keys, self._iterator, self._covered)
        covered = replace(self._covered, hints=hints, pulled=self._pulled)
        return Outcome(covered, read_through, is_quiet, held, trouble, ready_at)
