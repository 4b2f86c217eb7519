"""Put orders into a stream at a steady rate, each customer's in their order, and keep what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple, Self

from frazil.dev.orders import moment_now, order
from frazil.dev.pace import Pace

CUSTOMERS: Final = 1_000

TICK: Final = 0.05
"""Seconds between two requests."""

MOST: Final = 500
"""Records of one PutRecords; the API takes no more."""

_AGAIN: Final = 0.1
"""Seconds after which records that were refused are put again."""

_PASSING: Final = ("ProvisionedThroughputExceededException", "InternalFailure")


class Acknowledged(NamedTuple):
    """An order that is in the stream."""

    customer: str
    """Its partition key."""

    number: int
    """Which of its customer's orders it is, from 0 on."""

    shard: str
    sequence: str


class OrdersToStream:
    """A thread that puts orders until it is stopped.

    A request has at most one order of a customer, and is repeated for what was refused before the next one is made: so
    a customer's orders are in the stream in the order of their numbers.

    Args:
        client: boto3's; it must not repeat requests by itself, as one whose answer was lost would double records.
        stream: an existing stream.
        rate: orders per second.
        run: begins every customer's id, so that the orders of two runs are not the same customers'.
    """

    def __init__(self, client: Any, stream: str, rate: float, run: str) -> None:
        self._client = client
        self._stream = stream
        self._rate = rate
        self._run = run
        self._rng = Random(run)  # noqa: S311 (made-up orders are no secrets)
        self._numbers: Counter[str] = Counter()
        self._next = 0
        self._acknowledged: list[Acknowledged] = []
        self._error: Exception | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._put_all, name=f"orders to {stream}", daemon=True)

    def start(self) -> Self:
        """Begin to produce."""
        order(0, Random(0))  # noqa: S311 (fills the pools, so that the first second is at its rate too)
        self._thread.start()
        return self

    def stop(self) -> Sequence[Acknowledged]:
        """Stop once every order that was made is acknowledged, and return them all.

        Raises:
            Exception: what the client raised; nothing was put after that.
        """
        self._stopping.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._acknowledged

    @property
    def is_running(self) -> bool:
        """Whether it puts orders still."""
        return self._thread.is_alive()

    @property
    def records(self) -> int:
        """Orders acknowledged so far."""
        return len(self._acknowledged)

    def _put_all(self) -> None:
        pace = Pace(self._rate, MOST)
        try:
            while not self._stopping.is_set():
                if due := pace.take():
                    self._put([self._made(number) for number in self._rng.sample(range(CUSTOMERS), due)])
                self._stopping.wait(TICK)
        except Exception as error:  # noqa: BLE001 (`stop` raises it)
            self._error = error

    def _made(self, customer: int) -> tuple[str, int, bytes]:
        """The next order of a customer: the customer's id, the order's number, and what is put."""
        name = f"{self._run}-{customer:04}"
        number = self._numbers[name]
        self._numbers[name] += 1
        document = order(self._next, self._rng, moment_now())
        self._next += 1
        return name, number, b'{"customer_id":"%b","customer_order":%d,%b' % (name.encode(), number, document[1:])

    def _put(self, orders: Sequence[tuple[str, int, bytes]]) -> None:
        left = orders
        while left:
            records = [{"Data": data, "PartitionKey": name} for name, _, data in left]
            answers = self._client.put_records(StreamName=self._stream, Records=records)["Records"]
            refused = []
            for each, answer in zip(left, answers, strict=True):
                if "SequenceNumber" in answer:
                    name, number, _ = each
                    self._acknowledged.append(Acknowledged(name, number, answer["ShardId"], answer["SequenceNumber"]))
                elif answer["ErrorCode"] in _PASSING:
                    refused.append(each)
                else:
                    raise RuntimeError(f"{self._stream} refused an order: {answer}")
            left = refused
            if left:
                time.sleep(_AGAIN)
