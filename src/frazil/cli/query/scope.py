"""What a name means in a SELECT: the columns of its relations, its aliases, and what the SELECT around it has.

An unquoted name is the one equal ignoring case, a quoted name exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark.sql import types as t
from sqlglot import exp

from frazil.errors import InvalidQuery

_T = TypeVar("_T")


@dataclass(slots=True)
class Field:
    """A column of a relation."""

    name: str

    sql: exp.Expr
    """What it is in Spark SQL."""

    type: t.DataType

    merged: bool = False
    """USING has merged it into a column of another relation: only its full name means it."""


@dataclass(slots=True)
class Source:
    """A relation of a FROM."""

    name: str
    """What the query calls it; nothing can, if it is empty."""

    namespace: str
    """Of a table that has no alias; else empty."""

    fields: list[Field]

    identity: list[exp.Expr] = field(default_factory=list)
    """What tells its rows apart, in Spark SQL: FLATTEN's SEQ is made of it."""


@dataclass(slots=True)
class Scope:
    """The names that a SELECT can use."""

    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    aliases: dict[str, list[tuple[str, exp.Expr]]] = field(default_factory=dict)
    """Aliases of the select list in lower case: as written, and what they stand for as the user wrote it."""

    def column(self, node: exp.Column) -> tuple[Field, list[exp.Identifier]] | None:
        """The column that a dotted name begins with, and the parts that are left: a path into it."""
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        for length in (3, 2, 1):
            # namespace.table.column, table.column, column: the longest that there is.
            if len(parts) >= length and (found := self._find(parts[:length])):
                return found, parts[length:]
        return self.outer.column(node) if self.outer else None

    def star(self, table: exp.Identifier | None) -> Iterator[Field]:
        """The columns that `*` or `table.*` means.

        Raises:
            InvalidQuery: there is no such table, or none at all.
        """
        sources = [source for source in self.sources if table is None or _is(table, source.name)]
        if not sources:
            raise InvalidQuery(f"{table.name}.*: FROM has no {table.name}" if table else "SELECT * needs a FROM")
        for source in sources:
            yield from (each for each in source.fields if table is not None or not each.merged)

    def known(self) -> list[str]:
        """The names of columns, for messages."""
        return list(dict.fromkeys(each.name for source in self.sources for each in source.fields))

    def _find(self, parts: list[exp.Identifier]) -> Field | None:
        *tables, last = parts
        candidates = [
            (source, each)
            for source in self.sources
            for each in source.fields
            if (_qualifies(tables, source) if tables else not each.merged)
        ]
        found = matching(((each.name, (source, each)) for source, each in candidates), last)
        if not found:
            return None
        if len(found) > 1:
            raise _ambiguous(last, found)
        return found[0][1]


def matching(named: Iterable[tuple[str, _T]], wanted: exp.Identifier) -> list[_T]:
    """All that a name means."""
    return [value for name, value in named if _is(wanted, name)]


def _is(wanted: exp.Identifier, name: str) -> bool:
    return name == wanted.name if wanted.quoted else name.lower() == wanted.name.lower()


def _qualifies(tables: list[exp.Identifier], source: Source) -> bool:
    if not source.name or not _is(tables[-1], source.name):
        return False
    return len(tables) == 1 or bool(source.namespace and _is(tables[0], source.namespace))


def _ambiguous(wanted: exp.Identifier, found: list[tuple[Source, Field]]) -> InvalidQuery:
    names = [f'{source.name}."{each.name}"' if source.name else f'"{each.name}"' for source, each in found]
    return InvalidQuery(f"{wanted.name} can mean {' or '.join(sorted(names))}: write one of these")
