"""When records are due: what the buffer and client-lag keys of a Snowflake connector mean for commits.

`frazil.commit.interval.ms` goes over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AliasChoices as Keys
from pydantic import Field

from frazil.config import values
from frazil.config.settings_base import Flag, SettingsBase
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


class PaceSettings(SettingsBase):
    """The settings of when records are due; None where the configuration says nothing."""

    own_commit_interval_ms: Annotated[int | None, values.by(values.integer(at_least=0))] = Field(
        validation_alias=Keys("frazil.commit.interval.ms"),
        default=None,
        json_schema_extra={"default": "`snowflake.streaming.max.client.lag`, else `1000`"},
    )
    """Milliseconds from the start of one cycle to the start of the next; 0 runs them back to back. Where it is given,
    `buffer.*` and `snowflake.streaming.max.client.lag` do not count."""

    max_client_lag_seconds: Annotated[
        int | None, values.by(values.integer(at_least=1, at_most=LONGEST_LAG_SECONDS))
    ] = Field(validation_alias=Keys(CLIENT_LAG), default=None)
    """Seconds from the start of one cycle to the start of the next, 1 to 600."""

    client_overrides: Annotated[Mapping[str, str], values.by(read_overrides)] = Field(
        validation_alias=Keys(CLIENT_OVERRIDES), default_factory=dict, repr=False
    )
    """Settings of the Snowflake client, as `key:value` pairs separated by commas. Only `max_client_lag` has an effect,
    where `snowflake.streaming.max.client.lag` is not given: seconds, or `30 seconds`, `2 minutes`."""

    buffer_seconds: Annotated[int | None, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys(FLUSH_TIME),
        default=None,
        json_schema_extra={"default": "`10` beside another of the three"},
    )
    """Seconds after which a partition's records are committed, at least 1. With this key, `buffer.count.records` or
    `buffer.size.bytes`, a partition waits until the first of the three bounds is reached; without, nothing waits."""

    buffer_records: Annotated[int | None, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys(COUNT_RECORDS),
        default=None,
        json_schema_extra={"default": "`10000` beside another of the three"},
    )
    """Records after which a partition's records are committed, at least 1."""

    buffer_bytes: Annotated[int | None, values.by(values.integer(at_least=1))] = Field(
        validation_alias=Keys(SIZE_BYTES),
        default=None,
        json_schema_extra={"default": "`20000000` beside another of the three"},
    )
    """Bytes after which a partition's records are committed, at least 1."""

    single_buffer: Flag = Field(validation_alias=Keys("snowflake.streaming.enable.single.buffer"), default=False)
    """Whether the connector's buffer is left out: `buffer.flush.time` and `buffer.count.records` do not count."""

    @property
    def commit_interval_ms(self) -> int:
        """Milliseconds from the start of one cycle to the start of the next."""
        if self.own_commit_interval_ms is not None:
            return self.own_commit_interval_ms
        lag = self.max_client_lag_seconds or lag_in(self.client_overrides)
        return DEFAULT_INTERVAL_MS if lag is None else lag * 1000

    @property
    def buffer(self) -> Buffer | None:
        """When a partition is due; None: at once."""
        if self.own_commit_interval_ms is not None:
            return None
        if self.single_buffer:
            # Without a bound of time the rest of a topic that became quiet would wait for ever.
            if self.buffer_bytes is None:
                return None
            return Buffer(seconds=self.commit_interval_ms / 1000, bytes=self.buffer_bytes)
        if self.buffer_seconds is None and self.buffer_records is None and self.buffer_bytes is None:
            return None
        return Buffer(
            seconds=self.buffer_seconds or DEFAULT_BUFFER.seconds,
            records=self.buffer_records or DEFAULT_BUFFER.records,
            bytes=self.buffer_bytes or DEFAULT_BUFFER.bytes,
        )

    def void_keys(self) -> Iterator[tuple[str, str]]:
        """The given keys that another one makes void, with the reason."""
        given = {
            FLUSH_TIME: self.buffer_seconds,
            COUNT_RECORDS: self.buffer_records,
            SIZE_BYTES: self.buffer_bytes,
            CLIENT_LAG: self.max_client_lag_seconds,
            CLIENT_OVERRIDES: self.client_overrides or None,
        }
        if self.own_commit_interval_ms is not None:
            reason = "frazil.commit.interval.ms is given, and goes over it"
            yield from ((key, reason) for key, value in given.items() if value is not None)
            return
        if self.single_buffer:
            reason = "snowflake.streaming.enable.single.buffer leaves the connector's own buffer out"
            yield from ((key, reason) for key in (FLUSH_TIME, COUNT_RECORDS) if given[key] is not None)
        if self.client_overrides and (self.max_client_lag_seconds or LAG_IN_OVERRIDES not in self.client_overrides):
            yield CLIENT_OVERRIDES, f"only {LAG_IN_OVERRIDES} counts of it, where {CLIENT_LAG} is not given"
