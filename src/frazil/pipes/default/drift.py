"""What a task sees in keys that have no column: the shapes of their values, from which columns can be made.

Records whose new keys look like those before them are nothing new: the decoder of the fast tier accepts them, by the
types that `_like` gives it. Only the others are looked at here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isinf
from typing import Annotated, Any, Final, Union

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from frazil.model import (
    NOTHING_OBSERVED,
    Column,
    Conversion,
    Drift,
    ObservedType,
    RecordPlace,
    SchemaChange,
    TableRules,
)
from frazil.pipes.changes import changed, together
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.decoder import LONG, Undescribed, is_field_name, struct
from frazil.pipes.default.exact_json import CoercionError, Number, Object, parse
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.growth import Growth
from frazil.pipes.default.projection import Projection
from frazil.pipes.evolution import columns_for, unambiguous
from frazil.records.new_keys import MIXED, NewKeys
from frazil.records.rejects import RejectReason
from frazil.sql import LONGEST_NAME

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_DEEPEST: Final = 50
"""Levels below which a value counts as nested, whatever is in it."""


class DriftWatch:
    """Collects the new keys of the records of one chunk, which come in the order of where they lie."""

    def __init__(
        self,
        projection: Projection,
        conversion: Conversion,
        column_budget: int,
        position: Callable[[int], RecordPlace],
        rules: TableRules = TableRules(),  # noqa: B008 (frozen)
    ) -> None:
        """Watch the records that go to the table of `projection`, which may get `column_budget` columns.

        `position` tells where the record of a row lies; `rules` say what becomes of other values.
        """
        self.found = NewKeys(column_budget)
        """The new keys of records that land if these get columns."""

        self.change = SchemaChange()
        """What columns that are there have to become for these records."""

        self.rejected: dict[int, RejectReason] = {}
        """Why rows with new keys would not even then; where no key is found, those are all the rows with new keys."""

        self._projection = projection
        self._conversion = conversion
        self._position = position
        self._rules = rules
        self._levels = _DEEPEST if conversion.nested_type == "struct" else 0

    def look(self, row: int, value: bytes) -> bool:
        """Whether the record has something new."""
        text = value.decode()
        seen = seen_in(text, self._projection.is_settled, deep=self._levels > 0, at=self._position(row))
        if not seen or not self.found.would_learn(seen):
            return False
        asked = growth(text, self._projection, self._conversion) if self._rules.types == "evolve" else SchemaChange()
        if reason := self._unfit_even_then(text, seen, asked):
            self.rejected[row] = reason
        else:
            self.found.note_all(seen)
            self.change = together([self.change, asked])
        return True

    def decoded(self) -> dict[str, Any]:
        """The keys the fast tier's decoder may accept, and as what: values with nothing new."""
        return {key: _like(seen, self._levels) for key, seen in self.found.items() if is_field_name(key)}

    def _unfit_even_then(self, text: str, seen: Drift, asked: SchemaChange) -> RejectReason | None:
        """Why a record is no row even of a table with the columns its own keys would be given; None if it is one.

        Other records may make a column wider, so that a record fits that does not by itself: then its keys are found
        when it is staged for that column.
        """
        keys, kinds = self._projection, columns_for(seen, self._conversion.nested_type, self._projection.name_for)
        added = (Column(0, name, kind) for name, kind in unambiguous(kinds, keys.columns).items())
        evolved = Projection((*changed(keys.columns, asked), *added), keys.normalizes)
        return ExactValidation(evolved, self._conversion, keeps_unknown=True, rules=self._rules).diagnose(text)


def growth(text: str | None, projection: Projection, conversion: Conversion) -> SchemaChange:
    """What a record asks of the columns that are there; nothing where it is no JSON object."""
    try:
        parsed = None if text is None else parse(text)
    except (CoercionError, RecursionError):
        return SchemaChange()
    if parsed is not None and not isinstance(parsed, Object):
        return SchemaChange()
    return Growth(projection, Coercion(conversion)).asked_by(parsed)


def members(value: bytes | str) -> Mapping[str, Raw]:
    """The members of a JSON object, unparsed; of a key given twice the last.

    Raises:
        msgspec.DecodeError: the text is not a JSON object.
    """
    found: Mapping[str, Raw] = _MEMBERS.decode(value)
    return found


def seen_in(
    value: str, known: Callable[[str], bool], *, deep: bool, at: RecordPlace | None = None
) -> Mapping[str, ObservedType]:
    """What the values of a record's keys look like that are not known.

    A record that is not a JSON object has none.

    Args:
        value: the record's value.
        known: whether a key is known.
        deep: whether to look into objects and arrays.
        at: where the record lies.
    """
    try:
        parsed = parse(value)
    except (CoercionError, RecursionError):
        return {}
    if not isinstance(parsed, Object):
        return {}
    levels = _DEEPEST if deep else 0
    return {key: _seen(member, levels, at) for key, member in parsed if not known(key)}


def _seen(value: Any, levels: int, at: RecordPlace | None) -> ObservedType:
    match value:
        case Object():
            found = value if levels else ()
            return _seen_object({key: _seen(member, levels - 1, at) for key, member in found}, at)
        case list():
            element = NOTHING_OBSERVED
            for item in value if levels else ():
                element = element.merged_with(_seen(item, levels - 1, at))
            return ObservedType(element=element, first=at)
        case _:
            return ObservedType(frozenset({_scalar(value)}), first=at)


def _seen_object(fields: Mapping[str, ObservedType], at: RecordPlace | None) -> ObservedType:
    if any(len(name) > LONGEST_NAME for name in fields):
        return replace(MIXED, first=at)
    # In the order that merging leaves them in: whether records are merged hangs on how they are spread over tasks.
    return ObservedType(fields=tuple(sorted(fields.items(), key=lambda item: item[0])), first=at)


def _scalar(value: str | bool | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case Number() if not value.lstrip("-").isdigit():
            # Beyond a double's range, too, only text keeps the value.
            return "huge" if isinf(float(value)) else "double"
        case Number():
            return "long" if len(value) < 21 and -(2**63) <= int(value) < 2**63 else "huge"
        case _:
            return "string"


_LIKE: Final[dict[str, Any]] = {"null": None, "boolean": bool, "long": LONG, "string": str}
_NO_INTEGER: Final = Annotated[int, Meta(ge=1, le=0)]
"""Without it, the decoder takes whole numbers for fractions."""


def _like(seen: ObservedType, levels: int) -> Any:
    """What the decoder accepts as values that look like what was seen; `levels` as they were looked into."""
    kinds = [_LIKE[kind] for kind in sorted(seen.scalars) if kind in _LIKE]
    if "double" in seen.scalars:
        kinds += [float] if "long" in seen.scalars else [float, _NO_INTEGER]
    if seen.element is not None:
        kinds.append(types.GenericAlias(list, _like(seen.element, levels - 1) if levels else Raw))
    if seen.fields is not None:
        kinds.append(_object_like(dict(seen.fields), levels - 1) if levels else _AnyObject)
    return Union[tuple(kinds)] if kinds else Undescribed  # noqa: UP007 (as many as there are)


class _AnyObject(msgspec.Struct):
    pass


def _object_like(fields: Mapping[str, ObservedType], levels: int) -> Any:
    named = {f"field_{number}": key for number, key in enumerate(fields) if is_field_name(key)}
    kinds = [(place, _like(fields[key], levels) | UnsetType, UNSET) for place, key in named.items()]
    return struct("Object", kinds, named)
