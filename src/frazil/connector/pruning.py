"""`frazil channels prune`: drop the tokens of topics that are gone, without waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frazil.connector.amending import DESPITE, Amended, amend, audited, require_stopped
from frazil.connector.brokers import Brokers
from frazil.connector.registry import Registry
from frazil.connector.resetting import Wanted
from frazil.connector.token_scan import ConnectorTokens, connector_tokens
from frazil.cycle.gone import account, gone, still, without
from frazil.cycle.identity import replaced
from frazil.errors import ResetRefused
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.rules.tokens import PRUNED, Tokens, TopicTokens

COMMAND = "frazil channels prune"


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning does, or did, to the tokens of one connector in one table."""

    holding: ConnectorTokens
    topics: Mapping[str, TopicTokens]
    """Those that are gone, with what the tokens say of them."""

    elsewhere: Sequence[str]
    """Topics of another cluster than the connector's, of which nothing is known; their tokens stay."""

    made_again: Sequence[str]
    """Topics that are others than the tokens speak of; their tokens stay, for a reset to set."""

    owner: str
    """What is known of the owner."""


class Pruner:
    """Drops tokens of the connectors of one catalog."""

    def __init__(self, catalog: Catalog, registry: Registry, brokers: Brokers) -> None:
        self._catalog = catalog
        self._registered = registry.connectors()
        self._brokers = brokers

    def prune(self, wanted: Wanted, reason: str | None, *, dry: bool, force: bool) -> list[Pruned]:
        """Drop the tokens of topics that the brokers do not have; with `dry`, only say which those are.

        Raises:
            ResetRefused: there is no such connector, or nothing is known of its brokers.
            OwnerRuns: it runs, and `force` does not allow that.
            BrokerUnavailable, BrokerRefused: the brokers do not say what there is; then nothing is dropped.
        """
        found = [each for each in connector_tokens(self._catalog, DESPITE) if _matches(each, wanted)]
        if not found:
            raise ResetRefused(
                f"no table has tokens of {wanted.name!r}" + (f" for the topic {wanted.topic}" if wanted.topic else ""),
                "Give the name of a connector, as `frazil channels` shows it.",
            )
        connectors = sorted({each.connector for each in found})
        if len(connectors) > 1:
            raise ResetRefused(
                f"{wanted.name!r} may mean {' or '.join(connectors)}", "Give the connector's name in upper case."
            )
        planned = [self._plan(each, wanted.topic, force=force) for each in found]
        if not dry:
            for each in planned:
                self._commit(each, reason)
        return planned

    def _plan(self, holding: ConnectorTokens, topic: str | None, *, force: bool) -> Pruned:
        known = self._registered.get(holding.connector)
        owner = require_stopped(holding.table, holding.connector, holding.tokens, known, force=force)
        tokens, topics = holding.tokens, [topic] if topic else sorted(holding.tokens.topics)
        with self._brokers.source(holding.connector, known, topics) as source:
            cluster, facts = source.cluster(), source.facts(topics)
        dropped = gone(tokens, cluster, facts, topics)
        return Pruned(
            holding,
            dropped,
            [each for each in topics if each not in facts and each not in dropped],
            [each for each in topics if each in facts and replaced(tokens, facts[each])],
            owner,
        )

    def _commit(self, plan: Pruned, reason: str | None) -> None:
        def change(known: Tokens | None) -> Amended:
            tokens = known or plan.holding.tokens
            audit = audited(COMMAND, reason=reason, topics=account(still(tokens, plan.topics)))
            return Amended(without(tokens, plan.topics), audit)

        if plan.topics:
            amend(plan.holding.table, plan.holding.connector, PRUNED, change)


def _matches(holding: ConnectorTokens, wanted: Wanted) -> bool:
    if wanted.table is not None and wanted.table.lower() not in (
        str(holding.table.name).lower(),
        holding.table.name.name.lower(),
    ):
        return False
    if wanted.topic is not None and wanted.topic not in holding.tokens.topics:
        return False
    return wanted.name in (holding.connector, holding.tokens.name)
