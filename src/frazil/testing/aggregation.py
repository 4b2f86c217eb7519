"""Aggregated records as Amazon's Kinesis Producer Library makes them, to put into streams."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

_MAGIC: Final = b"\xf3\x89\x9a\xc2"


def aggregate(records: Sequence[tuple[str, int | None, bytes]]) -> bytes:
    """The data of one record that has several user records.

    Args:
        records: the partition key, the explicit hash key if there is one, and the data of each.
    """
    keys = list(dict.fromkeys(key for key, _, _ in records))
    hash_keys = list(dict.fromkeys(hash_key for _, hash_key, _ in records if hash_key is not None))
    message = b"".join(
        [
            *(_field(1, key.encode()) for key in keys),
            *(_field(2, str(hash_key).encode()) for hash_key in hash_keys),
            *_records(records, keys, hash_keys),
        ]
    )
    return _MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def _records(
    records: Sequence[tuple[str, int | None, bytes]], keys: Sequence[str], hash_keys: Sequence[int]
) -> Iterator[bytes]:
    for key, hash_key, data in records:
        place = b"" if hash_key is None else b"\x10" + _varint(hash_keys.index(hash_key))
        yield _field(3, b"\x08" + _varint(keys.index(key)) + place + _field(3, data))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
