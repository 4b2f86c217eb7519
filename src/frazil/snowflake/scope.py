"""What a name means in a SELECT: the columns of its relations, its aliases, and what the SELECT around it has.

An unquoted name is the one equal ignoring case, a quoted name exactly that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from frazil.snowflake.places import Refused, near
from frazil.snowflake.reading import shown

_T = TypeVar("_T")

_MOST_SHOWN = 20
"""Names that a message lists."""


@dataclass(slots=True)
class Reading:
    """What is read of a table in one place of the query."""

    columns: set[str] = field(default_factory=set)
    """The columns that are needed, as the table spells them."""


@dataclass(slots=True)
class Field:
    """A column of a relation."""

    name: str

    sql: exp.Expr
    """What it is in DuckDB SQL."""

    type: exp.DataType

    merged: bool = False
    """USING has merged it into a column of another relation: only its full name means it."""

    column: str = ""
    """The table's name for it, if it is a column of a table."""

    reading: Reading | None = None
    """Where it is noted that the column is needed."""

    def used(self) -> exp.Expr:
        """Its SQL, noted as needed."""
        if self.reading:
            self.reading.columns.add(self.column)
        return self.sql.copy()


@dataclass(slots=True)
class Source:
    """A relation of a FROM."""

    name: str
    """What the query calls it; nothing can, if it is empty."""

    namespace: str
    """Of a table that has no alias; else empty."""

    fields: list[Field]

    identity: list[exp.Expr] = field(default_factory=list)
    """What tells its rows apart, in DuckDB SQL: FLATTEN's SEQ is made of it."""

    optional: bool = False
    """An outer join may leave it without a row."""


@dataclass(slots=True)
class Scope:
    """The names that a SELECT can use."""

    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    aliases: dict[str, list[tuple[str, exp.Expr]]] = field(default_factory=dict)
    """Aliases of the select list in lower case: as written, and what they stand for as the user wrote it."""

    def column(self, node: exp.Column) -> tuple[Field, list[exp.Identifier]] | None:
        """The column that a dotted name begins with, and the parts that are left: a path into it."""
        found = self.own(node)
        return found or (self.outer.column(node) if self.outer else None)

    def own(self, node: exp.Column) -> tuple[Field, list[exp.Identifier]] | None:
        """The same, of the relations of this SELECT alone."""
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        for length in (3, 2, 1):
            # namespace.table.column, table.column, column: the longest that there is.
            if len(parts) >= length and (found := self._find(parts[:length])):
                return found, parts[length:]
        return None

    def star(self, table: exp.Identifier | None) -> Iterator[Field]:
        """The columns that `*` or `table.*` means.

        Raises:
            Refused: there is no such table, or none at all.
        """
        sources = [source for source in self.sources if table is None or _is(table, source.name)]
        if not sources:
            reason = f"FROM has no {table.name}" if table else "SELECT * needs a FROM"
            raise Refused(reason + near(table.name, [each.name for each in self.sources]) if table else reason, table)
        for source in sources:
            yield from (each for each in source.fields if table is not None or not each.merged)

    def known(self) -> list[str]:
        """The names of columns, for messages."""
        return list(dict.fromkeys(each.name for source in self.sources for each in source.fields))

    def unknown(self, node: exp.Column) -> Refused:
        """That there is no such column."""
        known = self.known()
        listed = ", ".join(known[:_MOST_SHOWN]) + (", …" if len(known) > _MOST_SHOWN else "")
        hint = near(node.name, [*known, *(alias for each in self.aliases.values() for alias, _ in each)])
        there_are = listed or "none: the query has no FROM"
        return Refused(f"there is no column {shown(node)}; there are: {there_are}{hint}", node)

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


def _ambiguous(wanted: exp.Identifier, found: list[tuple[Source, Field]]) -> Refused:
    names = [f'{source.name}."{each.name}"' if source.name else f'"{each.name}"' for source, each in found]
    return Refused(f"{wanted.name} can mean {' or '.join(sorted(names))}: write one of these", wanted)
