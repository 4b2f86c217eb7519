"""What goes wrong on demand: faults that are set on operations of the local stream, a number of times or by chance."""

from __future__ import annotations

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from frazil.dev.kinesis.failures import Refused
from frazil.dev.kinesis.shapes import model

SUBSCRIPTION_EVENTS: Final = "SubscribeToShardEvent"
"""Named as an operation, it stands for each event of a subscription: errors come within the stream of events."""

_STATUS: Final = {"InternalFailure": 500, "InternalFailureException": 500, "ServiceUnavailable": 503}


@dataclass(slots=True)
class Fault:
    """One thing that goes wrong."""

    error: str | None = None
    """The name of the error that is answered; None for none."""

    status: int | None = None
    """The HTTP status of the error, where it is not the usual one."""

    reset: bool = False
    """The connection is reset instead of an answer."""

    seconds: float = 0.0
    """How long the answer takes, besides."""

    empty: bool = False
    """GetRecords gives no records though there are some, as it may at any time; it goes on where it was."""

    operations: Sequence[str] = ()
    """The operations it happens to; all when empty."""

    stream: str | None = None
    """The name of the stream it happens to; None for all."""

    shard: str | None = None
    """The id of the shard it happens to; None for all."""

    times: int | None = None
    """How often it happens yet; None until it is taken back."""

    fraction: float = 1.0
    """How likely it happens to a request."""

    after: bool = False
    """The request is carried out first, so only its answer is lost."""

    each_record: bool = False
    """It happens to records of PutRecords, each for itself, not to requests; their answer says which failed."""

    happened: int = 0
    """How often it has happened."""

    number: int = 0
    """Names it among those of one server."""

    def __post_init__(self) -> None:
        unknown = {*self.operations} - {SUBSCRIPTION_EVENTS, *model().operation_names}
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))} is no operation of Kinesis, so this would never happen")
        if (self.times is not None and self.times < 1) or self.seconds < 0 or not 0 < self.fraction <= 1:
            raise ValueError("a fault happens once at least, to a fraction above 0 up to 1, after 0 seconds or more")

    def refused(self) -> Refused:
        """The error that is answered."""
        code = self.error or "InternalFailure"
        return Refused(code, f"{code} was asked for (fault {self.number}).", self.status or _STATUS.get(code, 400))


class Breaking(ABC):
    """The usual faults by name, wherever they are set; `where` has other fields of `Fault`."""

    @abstractmethod
    def add(self, fault: Fault) -> Fault:
        """Set a fault; `remove` takes it back."""

    @abstractmethod
    def remove(self, number: int) -> None:
        """Take back the fault of that number, if it is still set."""

    @abstractmethod
    def clear(self) -> None:
        """Take back all faults."""

    @abstractmethod
    def all(self) -> list[dict[str, Any]]:
        """What is set, for people and programs to read."""

    @contextmanager
    def during(self, fault: Fault) -> Iterator[Fault]:
        """Set a fault for as long as the block runs."""
        fault = self.add(fault)
        try:
            yield fault
        finally:
            self.remove(fault.number)

    def throttle(self, *operations: str, **where: Any) -> Fault:
        """Answer that throughput is exceeded."""
        return self.add(Fault("ProvisionedThroughputExceededException", operations=operations, **where))

    def fail(self, *operations: str, **where: Any) -> Fault:
        """Answer with a failure of the service, status 500."""
        return self.add(Fault("InternalFailure", operations=operations, **where))

    def expire(self, **where: Any) -> Fault:
        """Have iterators expire before they are used."""
        return self.add(Fault("ExpiredIteratorException", operations=("GetRecords",), **where))

    def kms(self, error: str, *operations: str, **where: Any) -> Fault:
        """Answer with an error of the key service, such as KMSThrottlingException or KMSDisabledException."""
        return self.add(Fault(error, operations=operations, **where))

    def slow(self, seconds: float, *operations: str, **where: Any) -> Fault:
        """Answer late."""
        return self.add(Fault(seconds=seconds, operations=operations, **where))

    def empty(self, **where: Any) -> Fault:
        """Answer GetRecords without records, though there are some."""
        return self.add(Fault(empty=True, operations=("GetRecords",), **where))

    def reset(self, *operations: str, **where: Any) -> Fault:
        """Reset the connection instead of an answer."""
        return self.add(Fault(reset=True, operations=operations, **where))


class Faults(Breaking):
    """The faults that are set on one server; safe to use from any thread."""

    def __init__(self) -> None:
        self.chance = random.Random()  # noqa: S311 (nothing secret is drawn from it)
        """What fractions are drawn from; seed it for a run that can be repeated."""

        self._set: list[Fault] = []
        self._given = 0
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        """Set a fault; `remove` takes it back."""
        with self._lock:
            self._given += 1
            fault.number = self._given
            self._set.append(fault)
        return fault

    def remove(self, number: int) -> None:
        """Take back the fault of that number, if it is still set."""
        with self._lock:
            self._set = [fault for fault in self._set if fault.number != number]

    def clear(self) -> None:
        """Take back all faults."""
        with self._lock:
            self._set = []

    def all(self) -> list[dict[str, Any]]:
        """What is set, for people and programs to read."""
        with self._lock:
            return [asdict(fault) for fault in self._set]

    def meet(self, operation: str, stream: str | None, shard: str | None, *, each_record: bool = False) -> Fault | None:
        """The fault that happens to this request or record, if any; it has happened then."""
        if not self._set:
            return None
        with self._lock:
            for fault in self._set:
                if fault.each_record == each_record and self._strikes(fault, operation, stream, shard):
                    fault.happened += 1
                    if fault.times is not None:
                        fault.times -= 1
                        self._set = [each for each in self._set if each.times is None or each.times > 0]
                    return fault
        return None

    def of_record(self, stream: str, shard: str) -> Refused | None:
        """What a record of PutRecords fails with, if anything."""
        fault = self.meet("PutRecords", stream, shard, each_record=True)
        return fault.refused() if fault else None

    def _strikes(self, fault: Fault, operation: str, stream: str | None, shard: str | None) -> bool:
        return (
            _names(fault, operation)
            and fault.stream in (None, stream)
            and fault.shard in (None, shard)
            and (fault.fraction >= 1.0 or self.chance.random() < fault.fraction)
        )


def _names(fault: Fault, operation: str) -> bool:
    # A fault of all operations breaks no subscription that is under way: that takes its name.
    return operation in fault.operations if fault.operations else operation != SUBSCRIPTION_EVENTS
