"""The exact tier: one record at a time, with a reason for whatever does not fit.

A record that fits is returned as JSON text the fast statement reads exactly: keys spelled as the columns are, numbers
and times in one form. Its row is then written by the same statement as all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from frazil.model import Column, Conversion
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.exact_json import (
    TOO_DEEP,
    CoercionError,
    Object,
    Twice,
    kind_of,
    parse,
    short,
    string,
    unique,
)
from frazil.pipes.default.projection import Projection, Reading
from frazil.records.rejects import RejectReason


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A record that fits, in the form the fast statement reads exactly."""

    text: str | None
    """None for a tombstone that has no defaults."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys without a column or field, by dotted path."""


class ExactValidation:
    """Decides for one table whether a record becomes a row."""

    def __init__(self, projection: Projection, conversion: Conversion, *, keeps_unknown: bool = False) -> None:
        """Validate for the table of `projection`, by the rules as the connector has configured them.

        Args:
            projection: which keys go to which columns.
            conversion: the rules.
            keeps_unknown: whether new keys may become columns and so need usable names.
        """
        self._projection = projection
        self._coercion = Coercion(conversion)
        self._keeps_unknown = keeps_unknown
        self.defaults: Mapping[str, str] = {
            column.name: self._coercion.default(column) for column in projection.payload() if column.default is not None
        }
        """The values of absent keys, as JSON text, by column."""

    def validate(self, text: str | None, reading: Reading) -> Rewritten | RejectReason:
        """The record as it is to be read, or why it cannot become a row."""
        try:
            return self._tombstone(reading) if text is None else self._record(_object(text), reading)
        except RecursionError:
            return RejectReason(TOO_DEEP)
        except _ColumnCoercionError as error:
            return RejectReason(str(error), error.column)
        except CoercionError as error:
            return RejectReason(str(error))

    def diagnose(self, text: str | None) -> RejectReason | None:
        """Why a record cannot become a row; None if it can."""
        found = self.validate(text, Reading())
        return found if isinstance(found, RejectReason) else None

    def _tombstone(self, reading: Reading) -> Rewritten:
        """A row of metadata and defaults."""
        required = next((each.name for each in self._projection.payload() if each.required and not each.default), None)
        if required is not None:
            raise _ColumnCoercionError(required, "the record is a tombstone and the column must not be NULL")
        return Rewritten(self._written({}, reading) if self.defaults else None)

    def _record(self, parsed: Object, reading: Reading) -> Rewritten:
        members: dict[str, str] = {}
        self._coercion.dropped.clear()
        for key, value in _members(self._known(parsed)):
            column = self._projection.column_for(key)
            if column is None:
                continue
            if column.name in members:
                if value is None:
                    continue
                if members[column.name] != "null":
                    raise _ColumnCoercionError(column.name, "two keys that differ only by case both have a value")
            members[column.name] = self._value(column, value)
        return Rewritten(self._written(members, reading), dict(self._coercion.dropped))

    def _written(self, members: Mapping[str, str], reading: Reading) -> str:
        """The record anew, with every key that records have, as they are spelled."""
        written: list[str] = []
        for column in self._projection.payload():
            value = members.get(column.name) or self.defaults.get(column.name, "null")
            if column.required and value == "null":
                raise _ColumnCoercionError(
                    column.name, "the column must not be NULL and the record has no value for it"
                )
            if spellings := reading.spellings.get(column.name):
                written.append(f"{string(spellings[0])}: {value}")
        return "{" + ", ".join(written) + "}"

    def _value(self, column: Column, value: Any) -> str:
        try:
            return self._coercion.text(column.type, value, column.name)
        except CoercionError as error:
            raise _ColumnCoercionError(column.name, str(error)) from error

    def _known(self, parsed: Object) -> Object:
        """The members that go to a column: the others do not land, so how often they appear is no matter."""
        known = Object()
        for key, value in parsed:
            if self._projection.column_for(key) is not None:
                known.append((key, value))
            elif self._keeps_unknown and not self._projection.can_name_column(key):
                raise _ColumnCoercionError(
                    short(key),
                    "the key cannot name a column (empty, too long, reserved, a field's path, control characters)",
                )
            else:
                self._coercion.dropped[key] = 1
        return known


class _ColumnCoercionError(Exception):
    """A value does not fit its column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def _object(text: str) -> Object:
    parsed = parse(text)
    if not isinstance(parsed, Object):
        raise CoercionError(f"the value is {kind_of(parsed)}, not a JSON object")
    return parsed


def _members(parsed: Object) -> list[tuple[str, Any]]:
    try:
        return unique(parsed)
    except Twice as twice:
        raise _ColumnCoercionError(twice.key, str(twice)) from twice
