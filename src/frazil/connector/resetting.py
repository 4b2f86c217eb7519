"""`frazil channels reset`: set the tokens of channels to other offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import structlog

from frazil.connector.amending import DESPITE, Amended, amend, audited, require_stopped
from frazil.connector.brokers import Brokers
from frazil.connector.registry import Registry
from frazil.connector.reset_together import require_one_time_for_a_shard, require_routes_not_left_behind
from frazil.connector.token_scan import ConnectorTokens, connector_tokens
from frazil.cycle.resets import Move, after, chosen, moves
from frazil.errors import FrazilError, ResetRefused
from frazil.model import Position, SourcePartition
from frazil.sources.base import Source, TopicFacts
from frazil.sources.kafka.positions import KafkaPosition
from frazil.sources.kafka.source import KafkaSource
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.rules.tokens import RESET, Tokens

COMMAND = "frazil channels reset"

_log = structlog.get_logger(__name__)

Place: TypeAlias = Literal["earliest", "latest"]


@dataclass(frozen=True, slots=True)
class Where:
    """Where channels are to go on; exactly one is given."""

    offset: int | None = None
    """The offset to read next."""

    place: Place | None = None
    moment: int | None = None
    """The first record at or after it, in ms since the epoch."""

    def __str__(self) -> str:
        if self.offset is not None:
            return f"offset {self.offset}"
        return self.place or f"time {self.moment}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be reset."""

    name: str
    """A connector, by name or key, or a channel."""

    topic: str | None = None
    table: str | None = None
    """Only this topic, only this table."""


@dataclass(frozen=True, slots=True)
class Reset:
    """What a reset does, or did, to one connector on one table."""

    holding: ConnectorTokens
    moves: Sequence[Move]
    owner: str
    """What is known of the owner."""

    absent: Sequence[str]
    """Topics that the broker does not have; their tokens stay."""

    whole: bool
    """Whether it is about all channels of its topics."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a command asks of every table."""

    topic: str | None
    where: Where
    force: bool
    held: Sequence[ConnectorTokens]
    """What connectors hold in all tables."""

    along: Collection[str]
    """The tables that are reset."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """A reset of one connector on one table that is not committed yet."""

    reset: Reset
    only: SourcePartition | None
    facts: Mapping[str, TopicFacts]


class Resetter:
    """Resets channels of the connectors of one catalog."""

    def __init__(self, catalog: Catalog, registry: Registry, brokers: Brokers) -> None:
        self._catalog = catalog
        self._registered = registry.connectors()
        self._brokers = brokers

    def reset(self, wanted: Wanted, where: Where, reason: str | None, *, dry: bool, force: bool) -> list[Reset]:
        """Set the channels that are wanted to where they are to go on; with `dry`, only say what that would do.

        Raises:
            ResetRefused: there is no such channel, or it cannot go on there.
            OwnerRuns: a connector runs, and `force` does not allow that.
        """
        held = [*connector_tokens(self._catalog, DESPITE)]
        found = [(each, only) for each in held for only in _matches(each, wanted)]
        if not found:
            raise ResetRefused(
                f"no table has tokens of {wanted.name!r}" + (f" for the topic {wanted.topic}" if wanted.topic else ""),
                "Give the name of a connector or of a channel, as `frazil channels` shows them.",
            )
        connectors = sorted({each.connector for each, _ in found})
        if len(connectors) > 1:
            raise ResetRefused(
                f"{wanted.name!r} may mean {' or '.join(connectors)}", "Give the connector's name in upper case."
            )
        asked = _Asked(wanted.topic, where, force, held, {str(each.table.name) for each, _ in found})
        planned = [self._plan(each, only, asked) for each, only in found]
        if dry:
            return [each.reset for each in planned]
        done: list[Reset] = []
        for each in planned:
            try:
                done.append(self._commit(each, asked, reason))
            except FrazilError:
                if done:
                    names = [str(reset.holding.table.name) for reset in done]
                    _log.warning("the command fails after it has reset other tables", reset=names)
                raise
        return done

    def _plan(self, holding: ConnectorTokens, only: SourcePartition | None, asked: _Asked) -> _Plan:
        known = self._registered.get(holding.connector)
        owner = require_stopped(holding.table, holding.connector, holding.tokens, known, force=asked.force)
        topics = [only.topic] if only else [asked.topic] if asked.topic else sorted(holding.tokens.topics)
        with self._brokers.source(holding.connector, known, topics) as source:
            facts = source.facts(topics)
            targets = _targets(source, chosen(holding.tokens, facts, topics, only), asked.where)
        absent = [each for each in topics if each not in facts]
        found = moves(holding.tokens, targets, facts)
        require_routes_not_left_behind(holding, found, asked.held, asked.along)
        require_one_time_for_a_shard(holding, found, asked.held, asked.along)
        return _Plan(Reset(holding, found, owner, absent, only is None), only, facts)

    def _commit(self, plan: _Plan, asked: _Asked, reason: str | None) -> Reset:
        """Commit what was planned; planned anew where the connector has opened the table or committed since."""

        def change(known: Tokens | None) -> Amended:
            nonlocal plan
            holding = plan.reset.holding
            if known is not None and known.commit != holding.tokens.commit:
                plan = self._plan(replace(holding, tokens=known), plan.only, asked)
            tokens, found = plan.reset.holding.tokens, plan.reset.moves
            channels = {
                str(move.partition): {"from": tokens.channel(move.partition).token, "to": str(move.after.last)}
                for move in found
            }
            audit = audited(COMMAND, to=str(asked.where), reason=reason, tokens=channels)
            moved = after(tokens, found, plan.facts, time.time_ns() // 1_000_000, whole=plan.reset.whole)
            return Amended(moved, audit)

        if plan.reset.moves:
            amend(plan.reset.holding.table, plan.reset.holding.connector, RESET, change)
        return plan.reset


def _matches(holding: ConnectorTokens, wanted: Wanted) -> list[SourcePartition | None]:
    """What of a holding is wanted: [None] for all of its channels, one channel, or nothing."""
    if wanted.table is not None and wanted.table.lower() not in (
        str(holding.table.name).lower(),
        holding.table.name.name.lower(),
    ):
        return []
    if wanted.topic is not None and wanted.topic not in holding.tokens.topics:
        return []
    if wanted.name in (holding.connector, holding.tokens.name):
        return [None]
    return [
        each
        for each, _ in holding.tokens.channels()
        if wanted.name == f"{holding.connector}_{each.topic}_{each.partition}" and wanted.topic in (None, each.topic)
    ]


def _targets(
    source: Source, partitions: Collection[SourcePartition], where: Where
) -> Mapping[SourcePartition, Position]:
    """Where each partition goes on."""
    if where.place == "earliest":
        return source.earliest(partitions)
    if where.place == "latest":
        return source.latest(partitions)
    if where.moment is not None:
        return source.at_time(partitions, where.moment)
    if not isinstance(source, KafkaSource):
        raise ResetRefused(
            f"channels of a source of the kind {source.kind} cannot go on at {where}",
            "Choose --to-earliest, --to-latest or --to-time.",
        )
    first, end, wanted = source.earliest(partitions), source.ends(partitions), KafkaPosition(where.offset or 0)
    for partition in partitions:
        if not first[partition] <= wanted <= end[partition]:
            raise ResetRefused(
                f"{partition} cannot go on at offset {wanted.offset}: it holds those from {first[partition].offset} "
                f"up to {end[partition].offset}",
                "Choose one of them, or --to-earliest or --to-latest.",
            )
    return dict.fromkeys(partitions, wanted)
