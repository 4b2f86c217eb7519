"""When records are due: what the buffer and client-lag keys of a Snowflake connector mean for commits.

`frazil.commit.interval.ms` goes over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from frazil.config import values
from frazil.model import Buffer

FLUSH_TIME = "buffer.flush.time"
COUNT_RECORDS = "buffer.count.records"
SIZE_BYTES = "buffer.size.bytes"
CLIENT_LAG = "snowflake.streaming.max.client.lag"
CLIENT_OVERRIDES = "snowflake.streaming.client.provider.override.map"

LAG_IN_OVERRIDES = "max_client_lag"
LONGEST_LAG_SECONDS = 600
DEFAULT_INTERVAL_MS = 1000
DEFAULT_BUFFER = Buffer(seconds=10, records=10_000, bytes=20_000_000)
"""What the keys of the buffer are where only another one of them is given."""

_LAG = re.compile(r"([0-9]{1,9})(?:\s+(second|minute)s?)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pace:
    """What the keys say; None where they say nothing."""

    interval_ms: int | None = None
    lag_seconds: int | None = None
    overrides: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of the Snowflake client, keys in lower case."""

    seconds: int | None = None
    records: int | None = None
    bytes: int | None = None
    single: bool = False
    """Whether the only buffer is the client's own, so that time and count do not count."""

    @property
    def commit_interval_ms(self) -> int:
        """Milliseconds from the start of one cycle to the start of the next."""
        if self.interval_ms is not None:
            return self.interval_ms
        lag = self.lag_seconds or lag_in(self.overrides)
        return DEFAULT_INTERVAL_MS if lag is None else lag * 1000

    @property
    def buffer(self) -> Buffer | None:
        """When a partition is due; None: at once."""
        if self.interval_ms is not None:
            return None
        if self.single:
            return None if self.bytes is None else Buffer(bytes=self.bytes)
        if self.seconds is None and self.records is None and self.bytes is None:
            return None
        return Buffer(
            seconds=self.seconds or DEFAULT_BUFFER.seconds,
            records=self.records or DEFAULT_BUFFER.records,
            bytes=self.bytes or DEFAULT_BUFFER.bytes,
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """The given keys that another one makes void, with the reason."""
        buffered = {FLUSH_TIME: self.seconds, COUNT_RECORDS: self.records, SIZE_BYTES: self.bytes}
        given = [key for key, value in buffered.items() if value is not None]
        if self.interval_ms is not None:
            void = [
                *given,
                *([CLIENT_LAG] if self.lag_seconds else []),
                *([CLIENT_OVERRIDES] if self.overrides else []),
            ]
            yield from ((key, "frazil.commit.interval.ms is given, and goes over it") for key in void)
            return
        if self.single:
            reason = "snowflake.streaming.enable.single.buffer leaves the connector's own buffer out"
            yield from ((key, reason) for key in given if key != SIZE_BYTES)
        if self.overrides and (self.lag_seconds or LAG_IN_OVERRIDES not in self.overrides):
            yield CLIENT_OVERRIDES, f"only {LAG_IN_OVERRIDES} counts of it, where {CLIENT_LAG} is not given"


def read_overrides(text: str) -> dict[str, str]:
    """The settings of the Snowflake client in `text`.

    Raises:
        ValueError: `text` is malformed, or its lag is.
    """
    overrides = values.pairs(text)
    lag_in(overrides)
    return overrides


def lag_in(overrides: Mapping[str, str]) -> int | None:
    """The lag that the client's settings ask for, if they do.

    Raises:
        ValueError: it is no duration within 1 to `LONGEST_LAG_SECONDS`.
    """
    text = overrides.get(LAG_IN_OVERRIDES)
    if text is None:
        return None
    match = _LAG.fullmatch(text)
    seconds = int(match[1]) * (60 if (match[2] or "").lower() == "minute" else 1) if match else None
    if seconds is None or not 1 <= seconds <= LONGEST_LAG_SECONDS:
        raise ValueError(
            f"holds a {LAG_IN_OVERRIDES} that is not from 1 to {LONGEST_LAG_SECONDS} seconds; write seconds, or a text "
            "such as 30 seconds or 2 minutes"
        )
    return seconds
