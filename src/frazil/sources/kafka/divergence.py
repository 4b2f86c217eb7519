"""Where a log parts from the one that positions are of: it was truncated there, and may have grown again (KIP-320).

librdkafka asks a partition's leader where its records of a leader epoch and of those before end. It does not give the
answer, only whether it is before the position that a consumer is assigned to. So the place is found by halving.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException

from frazil.errors import BrokerUnavailable
from frazil.model import SourcePartition
from frazil.sources.kafka.assigning import assign
from frazil.sources.kafka.faults import QUIET, is_vanished_offset, passes, translate
from frazil.sources.kafka.leaders import Leaders
from frazil.sources.kafka.positions import KafkaPosition

Holds = Callable[[Mapping[SourcePartition, KafkaPosition]], Mapping[SourcePartition, bool]]
"""Whether logs still hold what was before positions; those for which nobody can say are absent."""

_POLL: Final = 0.1
"""Seconds one call waits for an answer."""

_ACTION: Final = "say whether its log still holds what was read"


def divergences(
    holds: Holds,
    positions: Mapping[SourcePartition, KafkaPosition],
    earliest: Mapping[SourcePartition, KafkaPosition],
    ends: Mapping[SourcePartition, KafkaPosition],
) -> dict[SourcePartition, KafkaPosition | None]:
    """The first place before each position that is another record's now; see `frazil.sources.base.Source.diverged`."""
    truncated = {each: positions[each] for each, held in holds(positions).items() if not held}
    # Of an epoch to come, no log can tell where it ended: this one is not a later state of the one that was read.
    comparable = {each for each, found in truncated.items() if _is_older(found, ends[each])}
    low = {each: min(earliest[each].offset, truncated[each].offset) for each in comparable}
    high = {each: truncated[each].offset for each in comparable}
    while between := {each: (low[each] + high[each]) // 2 for each in low if high[each] - low[each] > 1}:
        for each, held_there in holds({each: _at(truncated[each], at) for each, at in between.items()}).items():
            (low if held_there else high)[each] = between[each]
    return {each: _at(found, low[each]) if each in low else None for each, found in truncated.items()}


class Prober:
    """A consumer that looks at positions and keeps nothing of what it reads."""

    def __init__(self, client: Mapping[str, Any], patience: float) -> None:
        """Ask the brokers that `client` configures, and wait `patience` seconds for their answers."""
        self._brokers = str(client["bootstrap.servers"])
        self._patience = patience
        fixed = {
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            # An answer is the first record, or the end; none comes while aborted records are passed over.
            "isolation.level": "read_uncommitted",
            "queued.min.messages": 1,
        }
        self._consumer = Consumer({**QUIET, **client, **fixed})
        self._leaders = Leaders(self._consumer)

    def holds(self, positions: Mapping[SourcePartition, KafkaPosition]) -> Mapping[SourcePartition, bool]:
        """Whether logs still hold what was before positions.

        Raises:
            BrokerUnavailable: they did not say in time.
            BrokerRefused: they do not let us read.
        """
        answers: dict[SourcePartition, bool] = {}
        deadline = time.monotonic() + self._patience
        self._leaders.find({each.topic for each in positions})
        assign(self._consumer, positions)
        try:
            while len(answers) < len(positions):
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(self._brokers, _ACTION, f"no answer within {self._patience:.0f} s")
                for message in self._consumer.consume(len(positions), _POLL):
                    partition = SourcePartition(message.topic() or "", message.partition() or 0)
                    answer = self._answer(message.error())
                    if partition in positions and answer is not None:
                        answers.setdefault(partition, answer)
        finally:
            self._consumer.unassign()
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def _answer(self, error: KafkaError | None) -> bool | None:
        """What a record or an event says of the position before it; None: nothing."""
        if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (the library's name for its code)
            return True
        if is_vanished_offset(error):
            return False
        if passes(error):
            return None
        raise translate(KafkaException(error), self._brokers, _ACTION)


def _is_older(position: KafkaPosition, end: KafkaPosition) -> bool:
    epochs = position.leader_epoch, end.leader_epoch
    return epochs[0] is not None and epochs[1] is not None and epochs[0] <= epochs[1]


def _at(position: KafkaPosition, offset: int) -> KafkaPosition:
    return KafkaPosition(offset, position.leader_epoch)
