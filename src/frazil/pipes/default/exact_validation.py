"""The exact tier: one record at a time, with a reason for whatever does not fit.

A record that fits is returned as JSON text the fast statement reads exactly: keys spelled as the columns are, numbers
and times in one form. Its row is then written by the same statement as all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from frazil.model import RESCUED, Column, Conversion, PartitionId, RecordOffset, RecordPlace, TableRules
from frazil.pipes.default.coercion import Coercion, within_length
from frazil.pipes.default.exact_json import (
    TOO_DEEP,
    CoercionError,
    Number,
    Object,
    Twice,
    kind_of,
    parse,
    short,
    string,
    unique,
)
from frazil.pipes.default.observation import LEVELS, observed
from frazil.pipes.default.projection import Projection, Reading
from frazil.pipes.evolution import NestedType, is_typed
from frazil.records.rejects import RejectReason
from frazil.records.value import no_object


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A record that fits, in the form the fast statement reads exactly."""

    text: str | None
    """None for a tombstone that has no defaults."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys without a column or field, by dotted path."""

    rescued: bool = False
    """Whether values went to the column of rescued ones, or would if there were one."""

    strays: bool = False
    """Whether a struct has no field for a key of the record."""


class ExactValidation:
    """Decides for one table whether a record becomes a row."""

    def __init__(
        self,
        projection: Projection,
        conversion: Conversion,
        *,
        keeps_unknown: bool = False,
        rules: TableRules = TableRules(),  # noqa: B008 (frozen)
    ) -> None:
        """Validate for the table of `projection`, by the rules as the connector has configured them.

        Args:
            projection: which keys go to which columns.
            conversion: how values become those of columns.
            keeps_unknown: whether new keys may become columns and so need usable names.
            rules: what becomes of values that the table has no place for.
        """
        self._projection = projection
        self._in_base64 = conversion.binary == "base64"
        self._coercion = Coercion(conversion, writes_base64=self._in_base64)
        self._keeps_unknown = keeps_unknown
        self._rules = rules
        self._nested = conversion.nested_type
        self._rescued: dict[str, list[Any]] = {}
        """What is rescued of the record that is looked at, by key."""

        self._dropped: Counter[str] = Counter()
        """What is dropped of it."""

        self.defaults: Mapping[str, str] = {
            column.name: self._coercion.default(column) for column in projection.payload() if column.default is not None
        }
        """The values of absent keys, as JSON text, by column."""

    def validate(
        self, text: str | None, reading: Reading, place: RecordPlace | None = None
    ) -> Rewritten | RejectReason:
        """The record as it is to be read, or why it cannot become a row; `place` is where it lies."""
        try:
            return self._tombstone(reading) if text is None else self._record(_object(text), reading, place)
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

    def _record(self, parsed: Object, reading: Reading, place: RecordPlace | None) -> Rewritten:
        members: dict[str, str] = {}
        self._coercion.strays.clear()
        self._dropped.clear()
        self._rescued.clear()
        for key, value in _members(self._known(parsed)):
            column = self._projection.column_for(key)
            if column is None:
                continue
            if column.name in members:
                if value is None:
                    continue
                if members[column.name] != "null":
                    raise _ColumnCoercionError(column.name, "two keys that differ only by case both have a value")
            members[column.name] = self._value(column, key, value)
        strays = self._coercion.strays
        self._turn_away([path for path, value in strays if not self._may_come(value, "struct")])
        for path, value in strays:
            self._set_aside(path, value, "struct")
        if self._rescued:
            self._rescue(members, place)
        return Rewritten(self._written(members, reading), dict(self._dropped), bool(self._rescued), bool(strays))

    def _rescue(self, members: dict[str, str], place: RecordPlace | None) -> None:
        """Put what was rescued, and where from, into its column."""
        column = self._projection.rescued
        if column is not None:
            members[column.name] = self._value(column, RESCUED, _rescue_document(self._rescued, place))
        elif not self._rules.may_change:
            keys = ", ".join(map(short, self._rescued))
            raise CoercionError(
                f"the table {self._rules.table} has no column {RESCUED} for the values of {keys}, and may not change"
            )

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

    def _value(self, column: Column, key: str, value: Any) -> str:
        strays = len(self._coercion.strays)
        try:
            text = self._coercion.column(column.type, value, column.name)
            return within_length(text, column, in_base64=self._in_base64)
        except CoercionError as error:
            kept = column.required or column is self._projection.rescued
            if kept or self._rules.types not in ("discard", "rescue"):
                raise _ColumnCoercionError(column.name, str(error)) from error
        del self._coercion.strays[strays:]
        self._keep(key, value, rescued=self._rules.types == "rescue")
        return "null"

    def _known(self, parsed: Object) -> Object:
        """The members that go to a column: the others do not land, so how often they appear is no matter."""
        known = Object()
        strange: list[str] = []
        for key, value in parsed:
            if self._projection.column_for(key) is not None:
                known.append((key, value))
            elif self._keeps_unknown and not self._projection.can_name_column(key):
                raise _ColumnCoercionError(
                    short(key),
                    "the key cannot name a column (empty, too long, reserved, a field's path, control characters)",
                )
            elif self._keeps_unknown and self._projection.is_reserved(key):
                self._dropped[key] = 1
            elif self._may_come(value, self._nested):
                self._set_aside(key, value, self._nested)
            else:
                strange.append(key)
        self._turn_away(strange)
        return known

    def _may_come(self, value: Any, nested: NestedType) -> bool:
        """Whether the value of a key without column or field can be in a record that lands."""
        return self._rules.columns != "freeze" or self._says_nothing_yet(value, nested)

    def _says_nothing_yet(self, value: Any, nested: NestedType) -> bool:
        """Whether a value gets no column only because it does not tell the type."""
        return self._keeps_unknown and not is_typed(observed(value, LEVELS if nested == "struct" else 0), nested)

    def _set_aside(self, key: str, value: Any, nested: NestedType) -> None:
        """Keep the value of a key without column or field elsewhere, or count that it is dropped."""
        says_nothing = self._says_nothing_yet(value, nested)
        if value is not None or not (says_nothing or self._rules.columns == "rescue"):
            self._keep(key, value, rescued=self._rules.columns == "rescue" and not says_nothing)

    def _keep(self, key: str, value: Any, *, rescued: bool) -> None:
        if rescued:
            self._rescued.setdefault(key, []).append(value)
        else:
            self._dropped[key] += 1

    def _turn_away(self, keys: Sequence[str]) -> None:
        if keys:
            raise _ColumnCoercionError(
                ", ".join(map(short, keys[:_NAMED])),
                f"the table {self._rules.table} has no column for {_some(keys)}, and gets none",
            )


class _ColumnCoercionError(Exception):
    """A value does not fit its column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


_NAMED: Final = 10
"""Keys that a reason names."""


def _some(keys: Sequence[str]) -> str:
    named = ", ".join(map(short, keys[:_NAMED]))
    return named if len(keys) <= _NAMED else f"{named} and {len(keys) - _NAMED} more keys"


def _rescue_document(values: Mapping[str, Sequence[Any]], place: RecordPlace | None) -> Object:
    """What is written of rescued values: those of a key that came more than once as an array."""
    each = Object((key, found[0] if len(found) == 1 else list(found)) for key, found in values.items())
    document = Object([("values", each)])
    if place is not None:
        partition, position = place
        where = (("topic", partition.topic), ("partition", partition.partition), ("offset", position))
        document.append(("source", Object((name, _json(value)) for name, value in where)))
    return document


def _json(value: RecordOffset | PartitionId) -> str:
    return Number(value) if isinstance(value, int) else str(value)


def _object(text: str) -> Object:
    parsed = parse(text)
    if not isinstance(parsed, Object):
        raise CoercionError(no_object(kind_of(parsed)))
    return parsed


def _members(parsed: Object) -> list[tuple[str, Any]]:
    try:
        return unique(parsed)
    except Twice as twice:
        raise _ColumnCoercionError(twice.key, str(twice)) from twice
