"""Which records of a chunk go to which table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from frazil.errors import FrazilError
from frazil.model import Route, TableName
from frazil.records.rejects import RejectReason
from frazil.routing.fields import Field, NoValue
from frazil.routing.names import generated_name, unusable

_REMEMBERED: Final = 10_000
"""Spellings of values whose way is remembered."""

_TOLD_BESIDES: Final = 100
"""New values that are told beyond those that can have tables, for some of their names may be refused."""

_SHOWN: Final = 80
"""Characters of a value that a reason shows."""


@dataclass(frozen=True, slots=True)
class _New:
    """A value that has no table yet."""

    name: str
    value: str


_Way: TypeAlias = TableName | RejectReason | _New


@dataclass(frozen=True, slots=True)
class Split:
    """Where the records of a chunk go, by their numbers."""

    tables: dict[TableName, list[int]] = field(default_factory=dict)
    rejected: dict[int, RejectReason] = field(default_factory=dict)
    new: list[int] = field(default_factory=list)
    """Those whose values have no table yet."""


class Router:
    """Routes the records of one task."""

    def __init__(self, route: Route) -> None:
        """Route as `route` says."""
        self.new: dict[str, str] = {}
        """Values that are to get tables, by the names that were generated from them."""

        self._route = route
        self._field = Field(route.path) if route.path else None
        self._ways: dict[bytes, _Way] = {}

    def split(self, texts: Iterable[bytes | None], *, tell_new: bool = True) -> Split:
        """Where records go, given their JSON texts, None for a tombstone: that goes to the topic's own table.

        Where topics decide, the texts are their topics, None for what stays where it was.

        Args:
            texts: in order.
            tell_new: whether `new` is to have the values without a table.
        """
        found = Split()
        for row, text in enumerate(texts):
            way = self._route.own if text is None else self._way(text)
            match way:
                case RejectReason():
                    found.rejected[row] = way
                case _New(name, value):
                    found.new.append(row)
                    if tell_new:
                        self._tell(name, value)
                case _:
                    found.tables.setdefault(way, []).append(row)
        return found

    def _way(self, text: bytes) -> _Way:
        try:
            spelled = text if self._field is None else self._field.spelled(text)
        except NoValue as error:
            return RejectReason(str(error))
        way = self._ways.get(spelled)
        if way is None:
            if len(self._ways) >= _REMEMBERED:
                self._ways.clear()
            way = self._ways[spelled] = self._found(spelled)
        return way

    def _found(self, spelled: bytes) -> _Way:
        try:
            value = self._named(spelled.decode()) if self._field is None else self._field.text(spelled)
        except NoValue as error:
            return RejectReason(str(error))
        name = key_of(self._route, value)
        known = self._route.tables.get(name)
        if known is not None:
            return known.table if known.value == value else self._collides(value, known.value, known.table)
        begin = self._begin(value)
        if reason := unusable(name):
            return RejectReason(f"{begin}, which makes a name for a table that {reason}")
        if reason := self._route.refused.get(name):
            return RejectReason(f"{begin}, and {reason}")
        if self._route.is_full:
            return RejectReason(f"{begin}, which has no table, and frazil.route.max.tables allows no other one")
        return _New(name, value)

    def _named(self, topic: str) -> str:
        assert self._route.naming is not None  # noqa: S101 (a route without a field has one)
        try:
            return self._route.naming(topic)
        except FrazilError as error:
            raise NoValue(error.message) from error

    def _begin(self, value: str) -> str:
        if self._field is None:
            return f"its topic leads to the table {_shown(value)}"
        return f"its field {self._field.name} is {_shown(value)}"

    def _collides(self, value: str, other: str, table: TableName) -> RejectReason:
        return RejectReason(
            f"{self._begin(value)}, which makes the same name for a table as "
            f"{_shown(other)}, whose records are in {table}"
        )

    def _tell(self, name: str, value: str) -> None:
        most = self._route.most - len(self._route.tables) + _TOLD_BESIDES
        if name in self.new:
            self.new[name] = min(value, self.new[name])
        elif len(self.new) < most:
            self.new[name] = value


def key_of(route: Route, value: str) -> str:
    """The name by which a route knows the table of a value."""
    return value if route.naming is not None else generated_name(route.own.name, value)


def _shown(value: str) -> str:
    safe = value.encode("utf-8", "replace").decode()
    return repr(safe) if len(safe) <= _SHOWN else repr(safe[:_SHOWN]) + "…"
