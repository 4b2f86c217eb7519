"""One shard read by a subscription, for a task: until there is no more for the moment, or for as long as a cycle takes.

A consumer may subscribe to a shard once in five seconds. Whoever plans the next cycle is told when that is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import Range, StageFailure
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.fan_out.subscription import EVENT, Event, Subscription
from frazil.sources.kinesis.listed_shards import ListedShards
from frazil.sources.kinesis.pace import Pace
from frazil.sources.kinesis.positions import BEGINNING, END, Hints, KinesisPosition, Mark, after, bounds
from frazil.sources.kinesis.shard_reading import Deliver, Outcome, Pulled, behind
from frazil.sources.kinesis.standstill import Standstill

AGAIN: Final = 5.0
"""Seconds from one subscription of a consumer to a shard to the next."""

_MARGIN: Final = 0.1
"""Seconds more: our clock and the service's need not run alike."""

_BRIEF: Final = 0.1
"""Seconds for which the answer to a subscription is waited for at least."""

_SETTLING: Final = 1.0
"""Seconds for which a shard is listened to although there is no more."""

_STILL: Final = 4.0
"""Seconds over which two events without records, and no further on, mean that there is no more."""

_IN_USE: Final = "ResourceInUseException"
_RATE: Final = 2 * 1024 * 1024
_NO_HINTS: Final = Hints()


class Subscribing(Protocol):
    """Subscribes to a shard; see `frazil.sources.kinesis.fan_out.subscription.Subscriber.subscribe`."""

    def __call__(self, shard: str, position: KinesisPosition, patience: float) -> AbstractContextManager[Subscription]:
        """Be sent what is behind a position of a shard."""


class FanOutShard:
    """Reads one range of a shard that has no end yet; see `frazil.sources.kinesis.shard_reading.ShardReading`."""

    def __init__(
        self,
        subscribe: Subscribing,
        wanted: Range,
        shards: ListedShards,
        window: float,
        wait: Callable[[float], bool],
    ) -> None:
        """Prepare to read.

        Args:
            subscribe: what subscribes.
            wanted: what to read; its end is now.
            shards: says whether the shard has ended.
            window: seconds after which the subscription ends.
            wait: waits some seconds; whether to stop now.
        """
        self._subscribe = subscribe
        self._partition = wanted.partition
        self._shards = shards
        self._start, end = bounds(wanted)
        self._hints = end.hints or _NO_HINTS
        self._window = window
        self._wait = wait
        self._pace = Pace(_RATE, self._hints.owed)
        self._deadline = time.monotonic() + self._pace.seconds_left + window
        self._covered = self._start
        self._read_through: int | None = None
        self._is_quiet = False
        self._ready_at = self._pace.ready_at
        """When a consumer may subscribe again, on the monotonic clock."""

        self._pulled = 0
        """Records of the range so far."""

        self._unfit = 0
        """How often in a row the service took no position of ours."""

    def run(self, deliver: Deliver) -> Outcome:
        """Read, as far as the service and the time allow."""
        trouble: str | None = None
        while self._is_time():
            # A place that retention has passed may be refused. All that is left is after it, from the first record on.
            is_passed = self._unfit and self._covered.mark == Mark.SEQUENCE
            place = BEGINNING if is_passed else self._covered
            subscribed = False
            try:
                with self._subscribe(str(self._partition.partition), place, max(_BRIEF, self._left)) as subscription:
                    subscribed = True
                    self._ready_at = time.monotonic() + AGAIN + _MARGIN
                    self._listen(subscription, deliver)
                return self._outcome()
            except (ClientError, BotoCoreError) as error:
                if faults.code(error) in faults.HELD:
                    return self._outcome(held=faults.code(error))
                if subscribed:
                    # Who is turned out may not come back at once: what there is by now is this cycle's.
                    return self._outcome(trouble=self._interruption(error))
                if faults.code(error) == faults.GONE:
                    # The consumer, the stream or the shard was deleted since the plan was made: the next one finds out.
                    return self._outcome(trouble=faults.cause(error))
                trouble = self._trouble(error)
        return self._outcome(trouble=trouble)

    @property
    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def _is_time(self) -> bool:
        """Wait until a call is due; whether there is time for it."""
        pause = self._pace.seconds_left
        if pause >= self._left:
            return False
        # A wait may take longer than it was to.
        return not self._wait(pause) and self._left > 0

    def _listen(self, subscription: Subscription, deliver: Deliver) -> None:
        settled = time.monotonic() + _SETTLING
        caught_up = enough = False
        standstill = Standstill(_STILL)
        while not enough and not self._wait(0.0):
            left = min(settled, self._deadline) - time.monotonic() if caught_up else self._left
            event = subscription.next(left) if left > 0 else None
            if event is None:
                self._is_quiet = self._is_quiet or caught_up
                return
            if event.continuation is None:
                self._shards.require_end(EVENT, str(self._partition.partition), event.children)
            enough = self._take(event, deliver)
            if self._covered.ended:
                newest = [event.records[-1].arrival] if event.records else []
                self._read_through = max((*newest, self._read_through or 0)) or None
                return
            self._read_through = max(self._read_through or 0, standstill.read_through(event))
            caught_up = not event.behind or standstill.is_reached
            self._is_quiet = caught_up and not event.records

    def _take(self, event: Event, deliver: Deliver) -> bool:
        """Hand an event's records on; whether the task has enough."""
        wanted = behind(event.records, self._covered)
        self._pulled += len(wanted)
        if event.continuation is None:
            self._covered = END
        else:
            # Where there are records, the last one is the better place: it has a name.
            place = event.records[-1].sequence if event.records else event.continuation
            self._covered = max(self._covered, after(int(place)))
        return bool(wanted) and not deliver(Pulled(wanted, self._covered))

    def _trouble(self, error: Exception) -> str | None:
        """Be ready to try again after no subscription came about: what the error says of the service.

        Raises:
            ReadFailed: waiting does not help.
        """
        kind = faults.code(error)
        self._pace.refused()
        if kind == _IN_USE:
            return None
        if faults.passes(error):
            return None if kind in faults.THROTTLED else faults.cause(error)
        self._unfit += 1
        if kind == faults.UNFIT and self._unfit == 1:
            return None
        raise ReadFailed(StageFailure("stream_refused", faults.cause(error), self._partition))

    def _interruption(self, error: Exception) -> str | None:
        """What ended a subscription, where the service is to blame."""
        kind = faults.code(error)
        if kind in (_IN_USE, faults.GONE) or kind in faults.THROTTLED:
            return None
        if faults.passes(error):
            return None if self._read_through else faults.cause(error)
        raise ReadFailed(StageFailure("stream_refused", faults.cause(error), self._partition))

    def _outcome(self, *, held: str | None = None, trouble: str | None = None) -> Outcome:
        hints = Hints(self._hints.hash_keys, at=self._covered)
        covered = replace(self._covered, pulled=self._pulled, hints=hints)
        return Outcome(covered, self._read_through, self._is_quiet, held, trouble, self._ready_at)
