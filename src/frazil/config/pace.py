"""When records are due: what the buffer and client-lag keys of a Snowflake connector mean for commits."""

from __future__ import annotations

import re
from collections.abc import Mapping

from frazil.config import values
from frazil.model import Buffer

FLUSH_SECONDS = 10
COUNT_RECORDS = 10_000
SIZE_BYTES = 20_000_000
"""What a `buffer.` key is where only another one is given."""

LAG_SECONDS = (1, 600)
"""Bounds of the client's lag."""

_LAG = re.compile(r"([0-9]{1,9})(?:\s+(second|minute)s?)?", re.IGNORECASE)


def buffer(seconds: int | None, records: int | None, size: int | None, *, single: bool) -> Buffer | None:
    """The bounds that the given `buffer.` keys set; None: there are none.

    With a `single` buffer, the client's own, time and count of the connector's buffer do not count.
    """
    if single:
        return None if size is None else Buffer(bytes=size)
    if seconds is None and records is None and size is None:
        return None
    return Buffer(seconds or FLUSH_SECONDS, records or COUNT_RECORDS, size or SIZE_BYTES)


def client_overrides(text: str) -> dict[str, str]:
    """The settings of the Snowflake client in `text`.

    Raises:
        ValueError: `text` is malformed, or its lag is.
    """
    overrides = values.pairs(text)
    client_lag_seconds(overrides)
    return overrides


def client_lag_seconds(overrides: Mapping[str, str]) -> int | None:
    """The lag that the client's settings ask for, if they do.

    Raises:
        ValueError: it is no duration within `LAG_SECONDS`.
    """
    text = overrides.get("max_client_lag")
    if text is None:
        return None
    match = _LAG.fullmatch(text)
    seconds = int(match[1]) * (60 if (match[2] or "").lower() == "minute" else 1) if match else None
    if seconds is None or not LAG_SECONDS[0] <= seconds <= LAG_SECONDS[1]:
        raise ValueError(
            f"holds a max_client_lag that is not from {LAG_SECONDS[0]} to {LAG_SECONDS[1]} seconds; write seconds, "
            "or a text such as 30 seconds or 2 minutes"
        )
    return seconds
