"""Records of many shapes, for programs that look at what a shape costs rather than at how fast it is."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

import orjson
from confluent_kafka.admin import AdminClient, NewTopic

from frazil.dev.orders import order
from workload import order_producer, send

LARGEST: Final = 16 * 1024 * 1024
"""Bytes a record may have in the topics made here."""

_POOL: Final = 64
"""Different bodies of records that are too large to make up each of them anew."""


@dataclass(frozen=True, slots=True)
class WriteShape:
    """Records that are alike."""

    name: str
    meaning: str
    values: Callable[[], Iterator[bytes]]
    """Values without end."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the connector, over the usual ones."""

    rejected: bool = False
    """Whether none of them can become a row."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is in a topic."""

    records: int
    bytes: int


def load(bootstrap_servers: str, topic: str, shape: WriteShape, partitions: int, size: int) -> Loaded:
    """Fill a new topic with about `size` bytes of values."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    config = {"max.message.bytes": str(LARGEST)}
    admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(60)
    producer = order_producer(bootstrap_servers, LARGEST)
    records = written = 0
    for value in shape.values():
        send(producer, topic, value, b"%d" % records, records % partitions)
        records, written = records + 1, written + len(value)
        if written >= size:
            break
    producer.flush()
    return Loaded(records, written)


def _orders() -> Iterator[bytes]:
    rng = Random(0)
    return (order(number, rng) for number in itertools.count())


def _small() -> Iterator[bytes]:
    return (
        b'{"id": %d, "sensor": "s-%05d", "at": "2026-11-01T12:00:%02dZ", "value": %d.%d, "ok": true}'
        % (number, number % 10_000, number % 60, number % 977, number % 10)
        for number in itertools.count()
    )


def _with_bodies(body: Callable[[Random], bytes]) -> Iterator[bytes]:
    """Records of an id and one of a few large bodies."""
    rng = Random(0)
    bodies = [body(rng) for _ in range(_POOL)]
    return (b'{"id": %d, "body": %b}' % (number, bodies[number % _POOL]) for number in itertools.count())


def _nested(size: int) -> Callable[[Random], bytes]:
    """A list of orders of so many bytes."""
    count = max(1, size // 780)
    return lambda rng: b"[" + b",".join(order(number, rng) for number in range(count)) + b"]"


def _text(size: int) -> Callable[[Random], bytes]:
    return lambda rng: b'"' + rng.randbytes(size // 2).hex().encode() + b'"'


def _numbers(size: int) -> Callable[[Random], bytes]:
    return lambda rng: b"[" + b",".join(b"%d" % rng.randrange(10) for _ in range(size // 2)) + b"]"


def _wide() -> Iterator[bytes]:
    rng = Random(0)
    bodies = [
        b", ".join(b'"column_%03d": %d' % (key, rng.randrange(10**9)) for key in range(990)) for _ in range(_POOL)
    ]
    return (b'{"id": %d, %b}' % (number, bodies[number % _POOL]) for number in itertools.count())


def _made_up_keys() -> Iterator[bytes]:
    rng = Random(0)
    for number in itertools.count():
        keys = {str(uuid.UUID(int=rng.getrandbits(128))): number for _ in range(10)}
        yield orjson.dumps({"id": number, **keys})


def _repetitive() -> Iterator[bytes]:
    note = b"nothing to say about this one; " * 22
    return (b'{"id": %d, "note": "%b", "paid": true}' % (number, note) for number in itertools.count())


SHAPES: Final = (
    WriteShape("orders", "780 B, nested values as VARIANT", _orders),
    WriteShape("structs", "the same, nested values as structs and lists", _orders, {"frazil.nested.type": "struct"}),
    WriteShape("small", "100 B, five scalars", _small),
    WriteShape("large", "100 kB, most of it one VARIANT", lambda: _with_bodies(_nested(100_000))),
    WriteShape("huge", "10 MB, most of it one VARIANT", lambda: _with_bodies(_nested(10_000_000))),
    WriteShape("huge-text", "10 MB, most of it one text", lambda: _with_bodies(_text(10_000_000))),
    WriteShape("huge-numbers", "10 MB of one-digit numbers in one VARIANT", lambda: _with_bodies(_numbers(10_000_000))),
    WriteShape("wide", "22 kB, 991 columns", _wide),
    WriteShape("made-up-keys", "460 B, ten keys that no other record has", _made_up_keys),
    WriteShape("repetitive", "730 B, compressed to a hundredth", _repetitive),
    WriteShape("rejects", "780 B, none of them JSON", lambda: (each[:-1] for each in _orders()), rejected=True),
)
