"""Questions to brokers: they take a while, may be refused aside, and their failures become ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final, TypeVar

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from frazil.errors import BrokerRefused, BrokerUnavailable
from frazil.model import SourcePartition
from frazil.sources.kafka.faults import QUIET, Refusals, is_missing_topic, translate
from frazil.sources.kafka.positions import KafkaPosition
from frazil.sources.kafka.timeouts import for_an_answer

_LOOK: Final = 0.2
"""Seconds between two looks at whether an answer has come."""

_Answer = TypeVar("_Answer")


class BrokerAdmin:
    """An admin client whose failures are `BrokerUnavailable` and `BrokerRefused`."""

    def __init__(self, client: Mapping[str, Any], isolation: str) -> None:
        """Ask the brokers that `client` configures; ends of partitions are those a reader of `isolation` sees."""
        self.patience = for_an_answer(client)
        """Seconds to wait for one answer."""

        self._brokers = str(client["bootstrap.servers"])
        self._refusals = Refusals()
        self.admin = AdminClient({**QUIET, **client, "error_cb": self._refusals.hear})
        self._isolation = (
            IsolationLevel.READ_COMMITTED if isolation == "read_committed" else IsolationLevel.READ_UNCOMMITTED
        )

    def positions(
        self, partitions: Collection[SourcePartition], spec: OffsetSpec
    ) -> dict[SourcePartition, KafkaPosition]:
        """A position in each partition, with the epoch of the leader that answered; those without one are absent."""
        if not partitions:
            return {}
        asked = {TopicPartition(each.topic, each.partition): spec for each in partitions}
        futures = self.ask(
            "list offsets",
            lambda: self.admin.list_offsets(asked, isolation_level=self._isolation, request_timeout=self.patience),
        )
        found_at = {}
        for where, found in self.answers("give the offsets", futures):
            if found.offset == OFFSET_INVALID:
                # What librdkafka says of a partition whose broker it lost while it asked.
                raise BrokerUnavailable(self._brokers, f"give the offsets of {_named(where)}", "the connection broke")
            epoch = found.leader_epoch
            known = None if epoch is None or epoch < 0 else int(epoch)
            found_at[SourcePartition(where.topic, where.partition)] = KafkaPosition(int(found.offset), known)
        return found_at

    def answers(self, action: str, futures: Mapping[Any, Future[_Answer]]) -> Iterator[tuple[Any, _Answer]]:
        """What the broker says of each thing asked for; what does not exist is left out."""
        for asked, future in futures.items():
            try:
                yield asked, self.answer(f"{action} of {_named(asked)}", future)
            except KafkaException as error:
                if not is_missing_topic(error.args[0]):
                    raise translate(error, self._brokers, f"{action} of {_named(asked)}") from error

    def ask(self, action: str, request: Callable[[], _Answer]) -> _Answer:
        """What `request` returns."""
        try:
            return request()
        except KafkaException as error:
            self.admin.poll(0)  # brings what came aside
            raise translate(error, self._brokers, action, self._refusals) from error

    def answer(self, action: str, future: Future[_Answer]) -> _Answer:
        """What becomes of a request.

        Raises:
            KafkaException: the topic or partition does not exist.
            BrokerUnavailable: no answer came in time.
        """
        asked = time.monotonic()
        while not future.done() and time.monotonic() - asked < self.patience * 2:
            wait([future], _LOOK)
            self.admin.poll(0)
            if self._refusals.last and not future.done() and time.monotonic() - asked > self.patience / 3:
                raise BrokerRefused(self._brokers, action, self._refusals.last)
        if not future.done():
            raise BrokerUnavailable(self._brokers, action, f"no answer within {self.patience * 2:.0f} s")
        try:
            answer = future.result()
        except KafkaException as error:
            if is_missing_topic(error.args[0]):
                raise
            raise translate(error, self._brokers, action, self._refusals) from error
        self._refusals.last = None
        return answer


def _named(asked: object) -> str:
    return f"{asked.topic}-{asked.partition}" if isinstance(asked, TopicPartition) else str(asked)
