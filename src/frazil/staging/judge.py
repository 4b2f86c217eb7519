"""The exact tier: one record at a time, with a reason for whatever does not fit.

A record that fits is returned as JSON text the fast statement reads exactly: keys spelled as the columns are, numbers
and times in one form. Its row is then written by the same statement as all others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any, Final

from frazil.model import Column, IcebergType, ListType, Primitive, StructType
from frazil.pipes.default import DefaultPipe
from frazil.pipes.types import TEXT_FORMS, check_text_form
from frazil.records.convert import Unfit
from frazil.sql import is_usable_name

DEEPEST: Final = 500
"""Levels of nesting a record may have."""

_TOO_DEEP: Final = f"the value is nested deeper than {DEEPEST} levels"

_RANGES: Final = {"int": 2**31, "long": 2**63}
_SHOWN = 60
"""Characters of a value that a reason shows."""


class _Number(str):
    """A JSON number as it was written; parsing it would round what a double cannot hold."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """A JSON object with all its keys, duplicates included."""

    __slots__ = ()


class _Misfit(Exception):
    """A value does not fit; carries the sentence for the reject."""


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
            parsed = _parse(text)
            if not isinstance(parsed, _Object):
                raise _Misfit(f"the value is {_kind(parsed)}, not a JSON object")
            return self._record(parsed)
        except RecursionError:
            return Unfit(_TOO_DEEP)
        except _ColumnMisfit as misfit:
            return Unfit(str(misfit), misfit.column)
        except _Misfit as misfit:
            return Unfit(str(misfit))

    def _tombstone(self) -> Unfit | None:
        required = next((column.name for column in self._pipe.payload() if column.required), None)
        return Unfit("the record is a tombstone and the column must not be NULL", required) if required else None

    def _record(self, parsed: _Object) -> str:
        members: dict[str, str] = {}
        for key, value in _unique(self._read(parsed)):
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
        return "{" + ", ".join(f"{_string(key)}: {value}" for key, value in members.items()) + "}"

    def _read(self, parsed: _Object) -> _Object:
        """The members that go to a column: the others do not land, so how often they appear is no matter."""
        if self._keeps_unknown:
            unusable = next(
                (key for key, _ in parsed if not is_usable_name(key) and not self._pipe.column_for(key)), None
            )
            if unusable is not None:
                raise _ColumnMisfit(
                    _short(unusable), "the key cannot name a column (empty, too long or with control characters)"
                )
        return _Object(member for member in parsed if self._pipe.column_for(member[0]))


class _ColumnMisfit(Exception):
    """A value does not fit its column."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def _parse(text: str) -> Any:
    try:
        parsed = _DECODER.decode(text)
        text.encode()
    except json.JSONDecodeError as error:
        raise _Misfit(f"the value is no JSON: {error.msg} at character {error.pos}") from error
    _check_depth(parsed, 0)
    return parsed


def _check_depth(value: Any, depth: int) -> None:
    if depth > DEEPEST:
        raise _Misfit(_TOO_DEEP)
    if isinstance(value, _Object):
        for _, member in value:
            _check_depth(member, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_depth(item, depth + 1)


def _unique(members: _Object) -> list[tuple[str, Any]]:
    """The members with each key once: of duplicates the one that has a value, if only one has."""
    found: dict[str, Any] = {}
    for key, value in members:
        if found.get(key) is not None and value is not None:
            raise _ColumnMisfit(key, "the key appears twice with a value")
        if found.get(key) is None:
            found[key] = value
    return list(found.items())


def _fit_column(column: Column, value: Any) -> str:
    try:
        return _fit(column.type, value)
    except _Misfit as misfit:
        raise _ColumnMisfit(column.name, str(misfit)) from misfit


def _fit(kind: IcebergType, value: Any) -> str:
    if value is None:
        return "null"
    match kind:
        case Primitive(name="variant"):
            return _variant(value)
        case Primitive(name="boolean"):
            return _boolean(value)
        case Primitive(name="int" | "long" as name):
            return _integer(name, value)
        case Primitive(name="float" | "double" as name):
            return _floating(name, value)
        case Primitive(name="decimal"):
            return _decimal(kind, value)
        case Primitive(name="string"):
            return _text(value)
        case Primitive(name=name) if name in TEXT_FORMS:
            return _time(name, value)
        case StructType(fields=fields):
            return _struct(fields, value)
        case ListType():
            return _list(kind, value)
        case _:
            raise _Misfit(f"columns of type {kind} cannot be written")


def _boolean(value: Any) -> str:
    if not isinstance(value, bool):
        raise _unfit(value, "boolean")
    return "true" if value else "false"


def _integer(name: str, value: Any) -> str:
    number = _exact(value, name)
    if number != number.to_integral_value():
        raise _Misfit(f"{_shown(value)} is not a whole number")
    if not -_RANGES[name] <= number < _RANGES[name]:
        raise _Misfit(f"{_shown(value)} is out of the range of {name}")
    return str(int(number))


def _floating(name: str, value: Any) -> str:
    if not isinstance(value, _Number):
        raise _unfit(value, name)
    number = float(value)
    limit = 3.4028235677973366e38 if name == "float" else float("inf")
    if abs(number) >= limit and "inf" not in value.lower():
        raise _Misfit(f"{_shown(value)} is out of the range of {name}")
    return str(value)


def _decimal(kind: Primitive, value: Any) -> str:
    # Decimal's own arithmetic rounds to 28 digits: this context has room for all of the value's.
    number = _exact(value, str(kind)).normalize(Context(prec=len(value), Emax=MAX_EMAX, Emin=MIN_EMIN))
    _, digits, exponent = number.as_tuple()
    if int(exponent) < -kind.scale:
        raise _Misfit(f"{_shown(value)} has more than {kind.scale} digits after the point")
    if len(digits) + int(exponent) > kind.precision - kind.scale and number:
        raise _Misfit(f"{_shown(value)} is out of the range of {kind}")
    return f"{number:f}"


def _variant(value: Any) -> str:
    text = _raw(value)
    wrong = next((number for number in _numbers(value) if not survives_in_variant(number)), None)
    if wrong is not None:
        raise _Misfit(f"the number {_shown(wrong)} is more than a VARIANT keeps exactly")
    return text


def survives_in_variant(number: str) -> bool:
    """Whether a JSON number keeps its value in a VARIANT, where whole numbers are BIGINT and others DOUBLE."""
    if number.lstrip("-").isdigit():
        return -_RANGES["long"] <= Decimal(number) < _RANGES["long"]
    try:
        exact = Decimal(number)
    except InvalidOperation:
        return False
    return exact.is_finite() and exact == Decimal(repr(float(number)))


def _numbers(value: Any) -> list[_Number]:
    found: list[_Number] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case _Number() as number:
                found.append(number)
            case _Object() as members:
                waiting.extend(member for _, member in members)
            case list() as items:
                waiting.extend(items)
    return found


def _text(value: Any) -> str:
    if isinstance(value, _Number):
        return _string(_plain(value))
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return '"true"' if value else '"false"'
    return _string(_raw(value))


def _plain(number: _Number) -> str:
    """A number's text in a text column: plain, without trailing zeros (spec 4.3)."""
    try:
        exact = Decimal(number)
    except InvalidOperation:
        return str(number)
    if not exact.is_finite() or abs(exact.adjusted()) >= 1000:
        return str(number)
    text = f"{exact:f}" if exact else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _time(name: str, value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, _Number):
        raise _unfit(value, name)
    try:
        check_text_form(name, value)
    except ValueError as error:
        raise _Misfit(f"{_shown(value)} does not fit a column of type {name}: {error}") from error
    return _string(value)


def _struct(fields: Sequence[Column], value: Any) -> str:
    if not isinstance(value, _Object):
        raise _unfit(value, "struct")
    names = {field.name.casefold(): field for field in fields}
    members: dict[str, str] = {}
    read = _Object(member for member in value if member[0].casefold() in names)
    for key, member in _unique_members(read):
        field = next((each for each in fields if each.name == key), names[key.casefold()])
        if members.get(field.name, "null") != "null" and member is not None:
            raise _Misfit(f"two keys equal to {field.name} ignoring case both have a value")
        if field.name not in members or member is not None:
            members[field.name] = _within(field.name, field.type, member)
    for field in fields:
        if field.required and members.get(field.name, "null") == "null":
            raise _Misfit(f"the field {field.name} must not be NULL")
    return "{" + ", ".join(f"{_string(key)}: {text}" for key, text in members.items()) + "}"


def _list(kind: ListType, value: Any) -> str:
    if isinstance(value, _Object) or not isinstance(value, list):
        raise _unfit(value, "list")
    if kind.element_required and any(item is None for item in value):
        raise _Misfit("an element of the list is null and must not be")
    return "[" + ", ".join(_within(f"[{index}]", kind.element, item) for index, item in enumerate(value)) + "]"


def _within(where: str, kind: IcebergType, value: Any) -> str:
    try:
        return _fit(kind, value)
    except _Misfit as misfit:
        raise _Misfit(f"{where}: {misfit}") from misfit


def _unique_members(value: _Object) -> list[tuple[str, Any]]:
    try:
        return _unique(value)
    except _ColumnMisfit as misfit:
        raise _Misfit(f"{misfit.column}: {misfit}") from misfit


def _exact(value: Any, name: str) -> Decimal:
    if not isinstance(value, _Number):
        raise _unfit(value, name)
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise _unfit(value, name) from error
    if not number.is_finite():
        raise _unfit(value, name)
    return number


def _unfit(value: Any, name: str) -> _Misfit:
    return _Misfit(f"{_kind(value)} does not fit a column of type {name}: {_shown(value)}")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case _Number():
            return "a number"
        case str():
            return "a text"
        case _Object():
            return "an object"
        case _:
            return "an array"


def _raw(value: Any) -> str:
    """The value as compact JSON, numbers as they were written."""
    written: list[str] = []
    _write(value, written)
    return "".join(written)


def _write(value: Any, written: list[str]) -> None:
    # One stack frame a level: a generator for the members would need two, and Python allows about a thousand.
    match value:
        case None:
            written.append("null")
        case bool():
            written.append("true" if value else "false")
        case _Number():
            written.append(str(value))
        case str():
            written.append(_string(value))
        case _Object():
            separator = "{"
            for key, member in value:
                written.append(f"{separator}{_string(key)}:")
                _write(member, written)
                separator = ","
            written.append("}" if value else "{}")
        case _:
            separator = "["
            for item in value:
                written.append(separator)
                _write(item, written)
                separator = ","
            written.append("]" if value else "[]")


def _string(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Misfit("a text holds an unpaired surrogate, which is no character") from error
    return json.dumps(text, ensure_ascii=False)


def _shown(value: Any) -> str:
    return _short(value if isinstance(value, str) else _raw(value))


def _short(text: str) -> str:
    safe = text.encode("utf-8", "replace").decode()
    return repr(safe) if len(safe) <= _SHOWN else repr(safe[:_SHOWN]) + "…"


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
