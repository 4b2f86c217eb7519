"""Where in a shard reading begins, and the opaque texts that clients hold such places in."""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Final, Literal

from frazil.dev.kinesis import numbers
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused, invalid
from frazil.dev.kinesis.model import Shard, Stream

EXPIRES_AFTER: Final = 300_000
"""Milliseconds for which an iterator can be used."""

Kind = Literal["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]


@dataclass(frozen=True, slots=True)
class Start:
    """From where a client wants to read."""

    kind: Kind
    number: str | None = None
    timestamp: float | None = None
    """In seconds."""


@dataclass(frozen=True, slots=True)
class Iterator:
    """A place in a shard, for a while."""

    stream: int
    """The row of the stream's incarnation."""

    shard: str
    ordinal: int
    """The record to read next, if it is still there."""

    issued: int

    def __str__(self) -> str:
        text = f"{self.stream} {self.shard} {self.ordinal} {self.issued}".encode()
        return base64.urlsafe_b64encode(zlib.crc32(text).to_bytes(4, "big") + text).decode()


def parse(text: str) -> Iterator:
    """Read what a client gives back.

    Raises:
        Refused: it is no iterator.
    """
    try:
        read = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Invalid ShardIterator.") from None
    if len(read) < 4 or zlib.crc32(read[4:]) != int.from_bytes(read[:4], "big"):
        raise invalid("Invalid ShardIterator.")
    stream, shard, ordinal, issued = read[4:].decode().split(" ")
    return Iterator(int(stream), shard, int(ordinal), int(issued))


def usable(engine: Engine, iterator: Iterator) -> tuple[Stream, Shard]:
    """The stream and shard that an iterator is for.

    Raises:
        Refused: it has expired, or what it is for is gone.
    """
    age = engine.now() - iterator.issued
    if age > EXPIRES_AFTER:
        raise Refused(
            "ExpiredIteratorException",
            f"Iterator expired. The iterator was created {age / 1000:.0f} s ago, which exceeds the "
            f"{EXPIRES_AFTER // 1000} s that an iterator can be used.",
        )
    stream = engine.incarnation(iterator.stream)
    return stream, engine.shard(stream, iterator.shard)


def place(engine: Engine, stream: Stream, shard: Shard, start: Start) -> int:
    """The ordinal of the record that reading begins with.

    Raises:
        Refused: a sequence number of another shard, or a timestamp in the future, or neither where one is needed.
    """
    if start.kind == "TRIM_HORIZON":
        return shard.trimmed + 1
    if start.kind == "LATEST":
        return shard.count + 1
    if start.kind == "AT_TIMESTAMP":
        return _since(engine, shard, start.timestamp)
    if start.number is None:
        raise invalid(f"Must specify a sequence number for iterator type {start.kind}.")
    return _of_number(engine, stream, shard, start)


def _since(engine: Engine, shard: Shard, timestamp: float | None) -> int:
    if timestamp is None:
        raise invalid("Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP.")
    moment, now = round(timestamp * 1000), engine.now()
    if moment > now:
        raise invalid(
            "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "
            f"timestampInMillis: {moment}, currentTimestampInMillis: {now}"
        )
    found = engine.store.first_since(shard, moment)
    return shard.count + 1 if found is None else found.ordinal


def _of_number(engine: Engine, stream: Stream, shard: Shard, start: Start) -> int:
    number = numbers.parse(start.number or "")
    if (
        number is None
        or (number.epoch, number.shard) != (shard.epoch, shard.number)
        or _is_ahead(engine, shard, number)
    ):
        raise invalid(
            f"StartingSequenceNumber {start.number} used in GetShardIterator on shard {shard.id} in stream "
            f"{stream.name} is invalid because it did not come from this stream and shard."
        )
    found = engine.store.first_since(shard, number.arrival, number.ordinal)
    if found is None:
        return shard.count + 1
    # It is the number's own record, or comes after the number.
    own = found == (number.arrival, number.ordinal)
    passed = own and (number.between > 0 or start.kind == "AFTER_SEQUENCE_NUMBER")
    return found.ordinal + 1 if passed else found.ordinal


def _is_ahead(engine: Engine, shard: Shard, number: numbers.Number) -> bool:
    if shard.ending is not None:
        return int(str(number)) > int(shard.ending)
    return number.arrival > max(engine.now(), shard.arrival)
