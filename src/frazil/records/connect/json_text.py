"""Connect's values as the JSON texts that become rows.

A schema is compiled once to a function that turns its values into what msgspec writes; a value without a schema is
looked at as it comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from frazil.records.connect import moments
from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    Moment,
    Number,
    Schema,
    SchemaAndValue,
    Struct,
    Type,
)
from frazil.records.connect.debezium import meaning
from frazil.records.connect.unreadable import Unfit, Unreadable, shown

Write: TypeAlias = Callable[[Any], str | None]
"""Writes a value as JSON; null is None."""

_Plain: TypeAlias = Callable[[Any], Any]
"""Turns a value into what `_ENCODER` writes."""

_ENCODER: Final = msgspec.json.Encoder()
_MOST_DIGITS: Final = 38
_MOST_ZEROS: Final = 1000
"""Decimals that would have more are written with an exponent."""

_NAMED: Final = {DECIMAL, DATE, TIME, TIMESTAMP}
_MOMENTS: Final[Mapping[str | None, Callable[[int], str]]] = {
    DATE: moments.timestamp,
    TIME: moments.time,
    TIMESTAMP: moments.timestamp,
}


def json_text(content: SchemaAndValue) -> str | None:
    """A value as JSON; None for null.

    Raises:
        Unreadable: the value does not fit its schema, or JSON.
    """
    return writer(content.schema)(content.value)


def writer(schema: Schema | None) -> Write:
    """What writes the values of a schema; None is the schema of what has none."""
    plain = _without_schema if schema is None else _compiled(schema, {})

    def write(value: Any) -> str | None:
        try:
            found = plain(value)
            return None if found is None else encoded(found)
        except RecursionError as error:
            raise Unreadable("is nested too deep") from error

    return write


def encoded(value: Any) -> str:
    """What `plain_of` gives, as JSON.

    Raises:
        Unreadable: a text in it has no form in UTF-8.
    """
    try:
        return _ENCODER.encode(value).decode()
    except UnicodeEncodeError as error:
        raise Unreadable(f"has a text with half of a surrogate pair: {shown(error.object)}") from error


def plain_of(schema: Schema) -> Callable[[Any], Any]:
    """What turns the values of a schema, none of them null, into what `encoded` writes."""
    return _present(schema, {})


def _compiled(schema: Schema, known: dict[int, _Plain]) -> _Plain:
    """A function for values, nulls and defaults; `known` has those of the schemas around it, itself perhaps."""
    if id(schema) in known:
        return lambda value: known[id(schema)](value)
    known[id(schema)] = _without_schema  # until it is known
    present = _present(schema, known)
    name = schema.name if schema.name in _NAMED else schema.type.value

    def plain(value: Any) -> Any:
        if value is None:
            if schema.default is not None:
                return present(schema.default)
            if not schema.optional:
                raise Unfit(f"no value, and its schema, a {name}, is neither optional nor has a default")
            return None
        return present(value)

    known[id(schema)] = plain
    return plain


def _present(schema: Schema, known: dict[int, _Plain]) -> _Plain:
    """A function for values that are not null."""
    if (means := meaning(schema)) is not None:
        return lambda value: _without_schema(means(value))
    match schema.type:
        case Type.STRUCT:
            return _struct(schema, known)
        case Type.ARRAY:
            return _array(schema, known)
        case Type.MAP:
            return _map(schema, known)
        case Type.BYTES if schema.name == DECIMAL:
            return _checked(schema, Decimal, _decimal)
        case Type.INT32 | Type.INT64 if schema.name in _MOMENTS:
            text = _MOMENTS[schema.name]
            return _checked(schema, Moment, lambda value: text(value.millis))
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            return _integer(schema)
        case Type.FLOAT32:
            return _checked(schema, float | int, lambda value: _double(shortest(value)))
        case Type.FLOAT64:
            return _checked(schema, float | int, _double)
        case Type.BOOLEAN:
            return _checked(schema, bool, _same)
        case Type.STRING:
            return _checked(schema, str, str)
        case _:
            return _checked(schema, bytes | bytearray | memoryview, bytes)


def _checked(schema: Schema, kinds: Any, plain: _Plain) -> _Plain:
    def checked(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise _mismatch(schema, value)
        return plain(value)

    return checked


def _mismatch(schema: Schema, value: Any) -> Unfit:
    name = schema.name if schema.name in _NAMED else schema.type.value
    return Unfit(f"a value that is no {name}, as its schema says: {shown(value)}")


def _integer(schema: Schema) -> _Plain:
    def plain(value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, Moment):
            return value.millis
        raise _mismatch(schema, value)

    return plain


def _struct(schema: Schema, known: dict[int, _Plain]) -> _Plain:
    fields = [(each.name, _compiled(each.schema, known)) for each in schema.fields]

    def plain(value: Any) -> Any:
        if not isinstance(value, Struct):
            raise _mismatch(schema, value)
        get = value.values.get
        row = {}
        for name, field in fields:
            try:
                row[name] = field(get(name))
            except Unfit as error:
                raise error.inside(name) from None
        return row

    return plain


def _array(schema: Schema, known: dict[int, _Plain]) -> _Plain:
    element = _without_schema if schema.value is None else _compiled(schema.value, known)

    def plain(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _mismatch(schema, value)
        return [element(each) for each in value]

    return plain


def _map(schema: Schema, known: dict[int, _Plain]) -> _Plain:
    key = _without_schema if schema.key is None else _compiled(schema.key, known)
    content = _without_schema if schema.value is None else _compiled(schema.value, known)
    has_texts = schema.key is not None and schema.key.type is Type.STRING

    def plain(value: Any) -> Any:
        if not isinstance(value, Mapping | list | tuple):
            raise _mismatch(schema, value)
        pairs = [(key(each), content(found)) for each, found in _pairs(value)]
        return dict(pairs) if has_texts and all(isinstance(each, str) for each, _ in pairs) else pairs

    return plain


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, Mapping) else value


def _without_schema(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    plain = _BY_KIND.get(kind)
    return _any(value) if plain is None else plain(value)


def _members(value: Mapping[Any, Any]) -> Any:
    found = {}
    for key, content in value.items():
        if type(key) is not str:
            return _pairs_or_members(value)
        kind = type(content)
        if kind in _AS_THEY_ARE:
            found[key] = content
        elif kind is Number:
            found[key] = msgspec.Raw(content.encode())
        else:
            found[key] = _without_schema(content)
    return found


def _pairs_or_members(value: Mapping[Any, Any]) -> Any:
    pairs = [(_without_schema(key), _without_schema(found)) for key, found in value.items()]
    # A Number is a text to Python only.
    has_texts = all(isinstance(key, str) and not isinstance(key, Number) for key in value)
    return dict(pairs) if has_texts else pairs


def _any(value: Any) -> Any:
    """Kinds that are somebody's own, and those that are rare."""
    match value:
        case int():
            return _whole(int(value))
        case str():
            return str(value)
        case float():
            # A kind of float of its own says how many digits it has.
            return _double(float(repr(value)))
        case Mapping():
            return _members(value)
        case tuple():
            return [_without_schema(each) for each in value]
        case bytearray() | memoryview():
            return bytes(value)
        case Moment():
            return moments.timestamp(value.millis)
        case Struct():
            return _compiled(value.schema, {})(value)
        case _:
            raise Unfit(f"a value that JSON has no form for: {shown(value)}")


def _whole(value: int) -> Any:
    return value if -(2**63) <= value < 2**64 else msgspec.Raw(str(value).encode())


def _same(value: Any) -> Any:
    return value


def _double(value: float) -> Any:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"


def shortest(value: float) -> float:
    """The number of the shortest digits that tell a 32-bit number from all others, as Java prints it."""
    return float(str(np.float32(value))) if math.isfinite(value) else value


def _decimal(value: Decimal) -> Any:
    """A number of up to 38 digits, and the text of what has more, as a column of numbers could not hold it."""
    if not value.is_finite():
        raise Unfit(f"a decimal that is no number: {shown(value)}")
    if len(value.as_tuple().digits) <= _MOST_DIGITS:
        return msgspec.Raw(str(value).encode())
    return f"{value:f}" if abs(value.adjusted()) < _MOST_ZEROS else str(value)


_AS_THEY_ARE: Final = frozenset({type(None), bool, str, bytes})
"""What the encoder writes as it is."""

_BY_KIND: Final[Mapping[type, _Plain]] = {
    dict: _members,
    list: lambda value: [_without_schema(each) for each in value],
    Number: lambda value: msgspec.Raw(value.encode()),
    int: _whole,
    float: _double,
    Decimal: _decimal,
}
