"""What a topic holds at the end, offset by offset, as a reader of committed records sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from frazil.testing.topics import PATIENCE

GAP: Final = "gap"
"""No record: a transaction's marker, or a record of one that was aborted."""

GOOD: Final = "good"
UNFIT: Final = "unfit"
TOMBSTONE: Final = "tombstone"
KINDS: Final = (GAP, GOOD, UNFIT, TOMBSTONE)

_GOOD_BEGINS: Final = b'{"run":'
"""As `frazil.testing.produce.record` writes them; `tests.soak.feed` writes no other value that begins so."""


@dataclass(frozen=True, slots=True)
class Census:
    """The kind of each offset, by partition."""

    kinds: Mapping[int, bytes]
    """One byte an offset: its place in `KINDS`."""

    def offsets(self, kind: str) -> dict[int, set[int]]:
        """The offsets of a kind."""
        code = KINDS.index(kind)
        return {place: {at for at, found in enumerate(kinds) if found == code} for place, kinds in self.kinds.items()}

    def without_row(self) -> dict[int, set[int]]:
        """The offsets of which no row is to come."""
        code = KINDS.index(GOOD)
        return {place: {at for at, found in enumerate(kinds) if found != code} for place, kinds in self.kinds.items()}

    def counts(self) -> dict[str, int]:
        """How many there are of each kind."""
        found: Counter[int] = Counter()
        for kinds in self.kinds.values():
            found.update(kinds)
        return {kind: found[code] for code, kind in enumerate(KINDS)}


def take(bootstrap: str, topic: str, partitions: int) -> Census:
    """Read a topic from its beginning to its end.

    Raises:
        TimeoutError: the broker does not give all of it.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "frazil-soak",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
    )
    try:
        return Census({place: bytes(_read(consumer, topic, place)) for place in range(partitions)})
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: str, place: int) -> bytearray:
    where = TopicPartition(topic, place, 0)
    _, end = consumer.get_watermark_offsets(where, PATIENCE)
    kinds = bytearray(end)
    consumer.assign([where])
    silent = 0.0
    while silent < PATIENCE:
        messages = consumer.consume(10_000, 1.0)
        silent = 0.0 if messages else silent + 1.0
        for message in messages:
            error = message.error()
            if error is None:
                kinds[message.offset() or 0] = KINDS.index(_kind(message.value()))
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            elif (message.offset() or 0) >= end:
                return kinds
    raise TimeoutError(f"{topic}-{place} was not read to its end within {PATIENCE:.0f} s")


def _kind(value: bytes | None) -> str:
    if value is None:
        return TOMBSTONE
    return GOOD if value.startswith(_GOOD_BEGINS) else UNFIT
