"""The exact tier: one record at a time, with a reason for whatever does not fit.

A record that fits is returned as JSON text the fast statement reads exactly: keys spelled as the columns are, numbers
and times in one form. Its row is then written by the same statement as all others.
"""

from __future__ import annotations

from typing import Any

from frazil.model import Column
from frazil.pipes.default import DefaultPipe
from frazil.records.convert import Unfit
from frazil.sql import is_usable_name
from frazil.staging.exact_json import TOO_DEEP, Misfit, Object, Twice, kind_of, parse, short, string, unique
from frazil.staging.fit import fit


class Judge:
    """Decides for one table whether a record becomes a row."""

    def __init__(self, pipe: DefaultPipe, keeps_unknown: bool) -> None:
        """Judge for the table of `pipe`; `keeps_unknown` when new keys may become columns and so need usable names."""
        self._pipe = pipe
        self._keeps_unknown = keeps_unknown
        self.spelled: set[str] = set()
        """Names of the columns that records were written anew for."""

    def judge(self, text: str | None) -> str | Unfit | None:
        """The record as text the fast statement reads exactly (None for a tombstone), or why it cannot become a row."""
        if text is None:
            return self._tombstone()
        try:
            parsed = parse(text)
            if not isinstance(parsed, Object):
                raise Misfit(f"the value is {kind_of(parsed)}, not a JSON object")
            return self._record(parsed)
        except RecursionError:
            return Unfit(TOO_DEEP)
        except _ColumnMisfit as misfit:
            return Unfit(str(misfit), misfit.column)
        except Misfit as misfit:
            return Unfit(str(misfit))

    def _tombstone(self) -> Unfit | None:
        required = next((column.name for column in self._pipe.payload() if column.required), None)
        return Unfit("the record is a tombstone and the column must not be NULL", required) if required else None

    def _record(self, parsed: Object) -> str:
        members: dict[str, str] = {}
        for key, value in _members(self._read(parsed)):
            column = self._pipe.column_for(key)
            if column is None:
                continue
            if column.name in members:
                if value is None:
                    continue
                if members[column.name] != "null":
                    raise _ColumnMisfit(column.name, "two keys that differ only by case both have a value")
            members[column.name] = _fit_column(column, value)
        for column in self._pipe.payload():
            if column.required and members.get(column.name, "null") == "null":
                raise _ColumnMisfit(column.name, "the column must not be NULL and the record has no value for it")
        self.spelled.update(members)
        return "{" + ", ".join(f"{string(key)}: {value}" for key, value in members.items()) + "}"

    def _read(self, parsed: Object) -> Object:
        """The members that go to a column: the others do not land, so how often they appear is no matter."""
        if self._keeps_unknown:
            unusable = next(
                (key for key, _ in parsed if not is_usable_name(key) and not self._pipe.column_for(key)), None
            )
            if unusable is not None:
                raise _ColumnMisfit(
                    short(unusable), "the key cannot name a column (empty, too long or with control characters)"
                )
        return Object(member for member in parsed if self._pipe.column_for(member[0]))


class _ColumnMisfit(Exception):
    """A value does not fit its column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def _fit_column(column: Column, value: Any) -> str:
    try:
        return fit(column.type, value)
    except Misfit as misfit:
        raise _ColumnMisfit(column.name, str(misfit)) from misfit


def _members(parsed: Object) -> list[tuple[str, Any]]:
    try:
        return unique(parsed)
    except Twice as twice:
        raise _ColumnMisfit(twice.key, str(twice)) from twice
