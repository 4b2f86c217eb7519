"""Aggregated records of user records under one partition key."""

from __future__ import annotations

from frazil.sources.kinesis.aggregation import UserRecord
from frazil.testing.aggregation import aggregate


def aggregated(*values: bytes, key: str = "key") -> bytes:
    """User records, all under one partition key."""
    return aggregate([UserRecord(key, None, each) for each in values])
