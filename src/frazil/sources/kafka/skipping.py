"""How far a consumer has come where it gives no record: it passes over aborted transactions in silence.

Its statistics tell. The position in them moves with each batch the consumer looked at, but while an answer of the
broker is taken apart, records of it may not be in the queue yet. Answers of one broker are taken apart one after the
other: once another one has been received, all records before an earlier position are in the queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

STATISTICS: Final = {"statistics.interval.ms": 200}
"""Has a consumer tell its statistics."""


@dataclass(frozen=True, slots=True)
class _Reported:
    """What statistics said of one partition."""

    position: int
    broker: int
    answers: int
    """How many answers that broker has given to the consumer."""


class Skipping:
    """Listens to the statistics of one consumer that reads one topic."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._reported: dict[int, _Reported] = {}
        """What was said last, of the positions that are not certain."""

        self._certain: dict[int, int] = {}

    def hear(self, statistics: str) -> None:
        """Take what the consumer tells: its `stats_cb`."""
        parsed = orjson.loads(statistics)
        answers = {int(each["nodeid"]): int(each["rx"]) for each in parsed["brokers"].values()}
        for name, partition in parsed["topics"].get(self._topic, {}).get("partitions", {}).items():
            self._note(int(name), _reported(partition, answers))

    def position(self, partition: int) -> int:
        """An offset before which every record of a partition is in the consumer's queue, or was taken out of it.

        So if the queue is found empty afterwards, there are no others before it.
        """
        return self._certain.get(partition, -1)

    def _note(self, partition: int, now: _Reported | None) -> None:
        before = self._reported.get(partition)
        if now is None or before is None or now.broker != before.broker:
            self._reported.pop(partition, None)
        elif now.answers > before.answers:
            self._certain[partition] = max(before.position, self.position(partition))
        else:
            return
        if now is not None:
            self._reported[partition] = now


def _reported(partition: Mapping[str, Any], answers: Mapping[int, int]) -> _Reported | None:
    position, broker = int(partition["next_offset"]), int(partition["broker"])
    if partition["fetch_state"] != "active" or position < 0 or broker not in answers:
        return None
    return _Reported(position, broker, answers[broker])
