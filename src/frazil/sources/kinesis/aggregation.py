"""Aggregated records, as Amazon's Kinesis Producer Library makes them: many user records in the data of one record.

The data begin with four bytes that mark them, and end with the MD5 of what is between: a protobuf message of

    1: partition keys, 2: explicit hash keys, 3: records of {1: index of the partition key, 2: index of the explicit
    hash key, 3: data, 4: tags}.

Whatever is not exactly that is a plain record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

MAGIC: Final = b"\xf3\x89\x9a\xc2"
_DIGEST: Final = 16
_HASH_KEYS: Final = 2**128


class UserRecord(NamedTuple):
    """A record as its producer gave it to the library."""

    partition_key: str
    explicit_hash_key: int | None
    """What it is placed by; None: the MD5 of the partition key."""

    data: bytes

    @property
    def hash_key(self) -> int:
        """The hash key by which it is placed in a shard."""
        return hash_key_of(self.partition_key) if self.explicit_hash_key is None else self.explicit_hash_key


def hash_key_of(partition_key: str) -> int:
    """The hash key of a partition key."""
    digest = hashlib.md5(partition_key.encode(errors="surrogatepass"), usedforsecurity=False).digest()
    return int.from_bytes(digest, "big")


def split(data: bytes) -> Sequence[UserRecord] | None:
    """The user records of an aggregated record's data; None where they are those of a plain record."""
    if data[:4] != MAGIC or len(data) <= len(MAGIC) + _DIGEST:
        return None
    message, digest = data[len(MAGIC) : -_DIGEST], data[-_DIGEST:]
    if hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return None
    try:
        return _records(message)
    except (IndexError, ValueError):
        return None


def belongs(records: Sequence[UserRecord], lowest: int, highest: int) -> bool:
    """Whether the hash keys of all records are within a shard's, both ends included."""
    keys = {(each.partition_key, each.explicit_hash_key): each for each in records}
    return all(lowest <= each.hash_key <= highest for each in keys.values())


def _records(message: bytes) -> list[UserRecord] | None:
    """The user records of a message; raises IndexError or ValueError where it is none."""
    keys: list[str] = []
    hash_keys: list[int] = []
    found: list[tuple[int, int | None, bytes]] = []
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        if tag & 7 != 2:
            return None
        size, at = _varint(message, at)
        if at + size > end:
            return None
        if tag == 0x1A:
            found.append(_record(message, at, at + size))
        elif tag == 0x0A:
            keys.append(message[at : at + size].decode())
        elif tag == 0x12:
            hash_keys.append(_hash_key(message[at : at + size]))
        else:
            return None
        at += size
    if not found:
        return None
    return [UserRecord(keys[key], None if place is None else hash_keys[place], data) for key, place, data in found]


def _record(message: bytes, at: int, end: int) -> tuple[int, int | None, bytes]:
    """The indices of the keys of one record, and its data."""
    key: int | None = None
    hash_key: int | None = None
    data: bytes | None = None
    while at < end:
        tag, at = _varint(message, at)
        if tag == 0x08:
            key, at = _varint(message, at)
        elif tag == 0x10:
            hash_key, at = _varint(message, at)
        elif tag in (0x1A, 0x22):
            size, at = _varint(message, at)
            if at + size > end:
                raise ValueError("a field is longer than its record")
            if tag == 0x1A:
                data = message[at : at + size]
            at += size
        else:
            raise ValueError("a field that no record has")
    if at != end or key is None or data is None:
        raise ValueError("a record without a key or data")
    return key, hash_key, data


def _hash_key(text: bytes) -> int:
    if not text.isdigit() or len(text) > 39 or int(text) >= _HASH_KEYS:
        raise ValueError("no hash key")
    return int(text)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of up to 64 bits, and where it ends."""
    byte = message[at]
    if byte < 0x80:
        return byte, at + 1
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
