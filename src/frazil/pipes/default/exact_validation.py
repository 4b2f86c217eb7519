"""The exact tier: one record at a time, with a reason for whatever does not fit.

A record that fits is returned as JSON text the fast statement reads exactly: keys spelled as the columns are, numbers
and times in one form. Its row is then written by the same statement as all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from frazil.pipes.default.pipe import DefaultPipe
from frazil.records.rejects import RejectReason


class ExactValidation:
    """Decides for one table whether a record becomes a row."""

    def __init__(
        self,
        pipe: DefaultPipe,
        conversion: Conversion,
        spellings: Mapping[str, Sequence[str]],
        *,
        keeps_unknown: bool = False,
    ) -> None:
        """Judge for the table of `pipe`.

        Args:
            pipe: the table's projection.
            conversion: the rules as the connector has configured them.
            spellings: how the columns' keys are spelled in the records; a live view of what the screen learns.
            keeps_unknown: whether new keys may become columns and so need usable names.
        """
        self._pipe = pipe
        self._fit = Coercion(conversion)
        self._spellings = spellings
        self._keeps_unknown = keeps_unknown
        self.defaults = {
            column.name: self._fit.default(column) for column in pipe.payload() if column.default is not None
        }
        """The values of absent keys, as JSON text, by column."""

        self.dropped: Counter[str] = Counter()
        """Keys without a column or field in the accepted records, by dotted path; whoever takes them clears it."""

    def judge(self, text: str | None) -> str | RejectReason | None:
        """The record as text the fast statement reads exactly (None for a tombstone), or why it cannot become a row."""
        if text is None:
            return self._tombstone()
        try:
            parsed = parse(text)
            if not isinstance(parsed, Object):
                raise CoercionError(f"the value is {kind_of(parsed)}, not a JSON object")
            return self._record(parsed)
        except RecursionError:
            return RejectReason(TOO_DEEP)
        except _ColumnCoercionError as misfit:
            return RejectReason(str(misfit), misfit.column)
        except CoercionError as misfit:
            return RejectReason(str(misfit))

    def _tombstone(self) -> str | RejectReason | None:
        """A row of metadata and defaults."""
        required = next((each.name for each in self._pipe.payload() if each.required and not each.default), None)
        if required is not None:
            return RejectReason("the record is a tombstone and the column must not be NULL", required)
        return self._written({}) if self.defaults else None

    def _record(self, parsed: Object) -> str:
        members: dict[str, str] = {}
        self._fit.dropped.clear()
        for key, value in _members(self._known(parsed)):
            column = self._pipe.column_for(key)
            if column is None:
                continue
            if column.name in members:
                if value is None:
                    continue
                if members[column.name] != "null":
                    raise _ColumnCoercionError(column.name, "two keys that differ only by case both have a value")
            members[column.name] = self._value(column, value)
        text = self._written(members)
        self.dropped.update(self._fit.dropped)
        return text

    def _written(self, members: Mapping[str, str]) -> str:
        """The record anew, with every key that records have, as they are spelled."""
        written: list[str] = []
        for column in self._pipe.payload():
            value = members.get(column.name) or self.defaults.get(column.name, "null")
            if column.required and value == "null":
                raise _ColumnCoercionError(
                    column.name, "the column must not be NULL and the record has no value for it"
                )
            if spellings := self._spellings.get(column.name):
                written.append(f"{string(spellings[0])}: {value}")
        return "{" + ", ".join(written) + "}"

    def _value(self, column: Column, value: Any) -> str:
        try:
            return self._fit.text(column.type, value, column.name)
        except CoercionError as misfit:
            raise _ColumnCoercionError(column.name, str(misfit)) from misfit

    def _known(self, parsed: Object) -> Object:
        """The members that go to a column: the others do not land, so how often they appear is no matter."""
        known = Object()
        for key, value in parsed:
            if self._pipe.column_for(key) is not None:
                known.append((key, value))
            elif self._keeps_unknown and not self._pipe.can_name_column(key):
                raise _ColumnCoercionError(
                    short(key),
                    "the key cannot name a column (empty, too long, reserved, a field's path, control characters)",
                )
            else:
                self._fit.dropped[key] = 1
        return known


class _ColumnCoercionError(Exception):
    """A value does not fit its column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def _members(parsed: Object) -> list[tuple[str, Any]]:
    try:
        return unique(parsed)
    except Twice as twice:
        raise _ColumnCoercionError(twice.key, str(twice)) from twice
