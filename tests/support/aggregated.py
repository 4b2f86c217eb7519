"""Aggregated records, as Amazon's Kinesis Producer Library packs them."""

from __future__ import annotations

import hashlib

from frazil.sources.kinesis.aggregation import MAGIC


def aggregated(*values: bytes, key: str = "key") -> bytes:
    """Short user records, all under one short partition key."""
    records = (b"\x08\x00\x1a" + bytes([len(each)]) + each for each in values)
    message = _field(0x0A, key.encode()) + b"".join(_field(0x1A, each) for each in records)
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def _field(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content
