"""Which shards ListShards gives, and the tokens that lead to its next page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused, invalid
from frazil.dev.kinesis.model import Shard, Stream

EXPIRES_AFTER: Final = 300_000
"""Milliseconds for which a token can be used."""

MOST_SHARDS: Final = 1000
"""How many shards a page has at most."""


@dataclass(frozen=True, slots=True)
class ShardFilter:
    """Which shards are wanted."""

    kind: str = "FROM_TRIM_HORIZON"
    shard: str | None = None
    timestamp: float | None = None
    """In seconds."""


@dataclass(frozen=True, slots=True)
class Token:
    """Where the next page begins."""

    stream: int
    after: str
    kind: str
    shard: str | None
    timestamp: float | None
    issued: int

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def parse(engine: Engine, text: str) -> Token:
    """Read what a client gives back.

    Raises:
        Refused: it is no token, or has expired.
    """
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(text), type=Token)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise invalid("Invalid NextToken.") from None
    if token.kind not in _FILTERS:
        raise invalid("Invalid NextToken.")
    if engine.now() - token.issued > EXPIRES_AFTER:
        raise Refused("ExpiredNextTokenException", "The NextToken has expired; begin the listing anew.")
    return token


def page(
    engine: Engine, stream: Stream, wanted: ShardFilter, after: str | None, most: int
) -> tuple[list[Shard], Token | None]:
    """The shards of `wanted` that follow `after`, and the token of the next page if there is one."""
    shards = [
        shard
        for shard in engine.shards(stream)
        if matches(engine, stream, wanted, shard) and (after is None or shard.id > after)
    ]
    most = min(most, MOST_SHARDS)
    if len(shards) <= most:
        return shards, None
    shown = shards[:most]
    return shown, Token(stream.row, shown[-1].id, wanted.kind, wanted.shard, wanted.timestamp, engine.now())


def matches(engine: Engine, stream: Stream, wanted: ShardFilter, shard: Shard) -> bool:
    """Whether a filter leaves a shard in.

    Raises:
        Refused: the filter lacks what its type needs.
    """
    return _FILTERS[wanted.kind](engine, stream, wanted, shard)


def _after(_: Engine, __: Stream, wanted: ShardFilter, shard: Shard) -> bool:
    if wanted.shard is None:
        raise invalid("ShardFilter of type AFTER_SHARD_ID needs a ShardId.")
    return shard.id > wanted.shard


def _at_horizon(engine: Engine, stream: Stream, _: ShardFilter, shard: Shard) -> bool:
    horizon = engine.horizon(stream)
    return shard.epoch <= horizon if stream.created < horizon else not shard.parents


def _at(_: Engine, __: Stream, wanted: ShardFilter, shard: Shard) -> bool:
    moment = _timestamp(wanted)
    return shard.epoch <= moment and (shard.closed_at is None or shard.closed_at >= moment)


def _since(_: Engine, __: Stream, wanted: ShardFilter, shard: Shard) -> bool:
    return shard.closed_at is None or shard.closed_at >= _timestamp(wanted)


def _timestamp(wanted: ShardFilter) -> int:
    if wanted.timestamp is None:
        raise invalid(f"ShardFilter of type {wanted.kind} needs a Timestamp.")
    return round(wanted.timestamp * 1000)


_FILTERS: Final[Mapping[str, Callable[[Engine, Stream, ShardFilter, Shard], bool]]] = {
    "AFTER_SHARD_ID": _after,
    "AT_TRIM_HORIZON": _at_horizon,
    "FROM_TRIM_HORIZON": lambda *_: True,
    "AT_LATEST": lambda _, __, ___, shard: shard.is_open,
    "AT_TIMESTAMP": _at,
    "FROM_TIMESTAMP": _since,
}
