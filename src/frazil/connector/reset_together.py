"""Tables of one topic that cannot be reset each for itself: pure rules over what a connector holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from frazil.connector.token_scan import ConnectorTokens
from frazil.cycle.resets import Move
from frazil.errors import ResetRefused


def require_routes_not_left_behind(
    own: ConnectorTokens, moves: Iterable[Move], held: Sequence[ConnectorTokens], along: Collection[str]
) -> None:
    """Refuse to have a topic's own table go on behind where tables of its values do, unless they are reset as well.

    Between the two, records with a value that has no table yet would get none, and be no rejects either.

    Args:
        own: what the connector holds in the table.
        moves: what is to be done there.
        held: what connectors hold in all tables.
        along: the tables that are reset.

    Raises:
        ResetRefused: one would.
    """
    for move in moves:
        routes = own.tokens.topics[move.partition.topic].routes if move.partition.topic in own.tokens.topics else {}
        for each in _others(own, held, along):
            name = each.table.name
            if name.namespace != own.table.name.namespace or name.name not in routes.values():
                continue
            start, channel = each.tokens.start(move.partition), each.tokens.channel(move.partition)
            if move.skips and not move.after.covered_by(start, channel.read_through):
                raise ResetRefused(
                    f"{own.table.name} is the topic's own table, and {name}, which has the records of a value, would "
                    f"still read {move.partition} before there: records with new values among them would go nowhere",
                    _all_tables(own, move),
                )


def require_one_time_for_a_shard(
    own: ConnectorTokens, moves: Iterable[Move], held: Sequence[ConnectorTokens], along: Collection[str]
) -> None:
    """Refuse to have one of several tables go on at a time: who is before or after it, only the stream knows.

    A partition is read from the first of their places, so one of them would miss records, or have some again.

    Args:
        own: what the connector holds in the table.
        moves: what is to be done there.
        held: what connectors hold in all tables.
        along: the tables that are reset.

    Raises:
        ResetRefused: one would.
    """
    for move in moves:
        for each in _others(own, held, along) if not move.after.is_exact else ():
            if move.partition.topic in each.tokens.topics and not each.tokens.channel(move.partition).closed:
                raise ResetRefused(
                    f"{own.table.name} and {each.table.name} both read {move.partition}, and whether the place of one "
                    "is before the time at which the other would go on, only the stream knows",
                    _all_tables(own, move),
                )


def _others(own: ConnectorTokens, held: Iterable[ConnectorTokens], along: Collection[str]) -> Iterator[ConnectorTokens]:
    """What the connector holds in tables that are not reset."""
    yield from (each for each in held if each.connector == own.connector and str(each.table.name) not in along)


def _all_tables(own: ConnectorTokens, move: Move) -> str:
    return (
        "Reset all tables of the topic: frazil channels reset "
        f"{own.tokens.name} --topic {move.partition.topic}, without --table."
    )
