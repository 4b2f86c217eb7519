"""Tables that have the records of one value of a topic's field: whose they are, and where they begin. Pure rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from frazil.model import Route, RoutedTable, TableName
from frazil.routing.router import key_of
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import TopicTokens

ROUTE: Final = "frazil.route"
"""The table property that says whose records a table has: the value of the field by which they are routed."""


@dataclass(frozen=True, slots=True)
class Branch:
    """What a table is to have of its topics."""

    value: str
    born: Mapping[str, TopicTokens] = field(default_factory=dict)
    """By topic, the tokens with which a new table begins: those of the topic's own table."""

    is_known: bool = False
    """Whether the topic's own table has it as a table that there is."""


def born_of(channel: Channel) -> Channel:
    """The channel of a new table, given that of the topic's own one: as far, and with nothing counted."""
    return replace(channel, inserted=0, parsed=0, errors=0, lost=0, time=None)


def tables_of(own: TableName, known: TopicTokens) -> dict[TableName, str]:
    """The tables of a topic's values, given its own table and what that knows; with the values."""
    return {replace(own, name=name): value for value, name in known.routes.items()}


def with_tables(route: Route, known: TopicTokens) -> Route:
    """A route with the tables that the topic's own table knows."""
    tables = tables_of(route.own, known).items()
    return replace(route, tables={key_of(route, value): RoutedTable(value, table) for table, value in tables})
