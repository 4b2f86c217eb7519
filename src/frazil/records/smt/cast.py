"""Cast: changes the types of fields, or of the whole value."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from frazil.records.connect.data import DATE, TIME, TIMESTAMP, Moment, Schema, SchemaAndValue, Type
from frazil.records.smt import java_text
from frazil.records.smt.date_format import DAY, iso
from frazil.records.smt.java_text import split
from frazil.records.smt.kinds import BITS, INTEGERS, Float32, described, type_of, wrapped
from frazil.records.smt.kinds import plain as plain_number
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import Remembered, basics, field_value, struct, struct_schema, with_default
from frazil.records.smt.transformation import OfPartAlone, Part, plain

_FROM: Final = frozenset({*BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING, Type.BYTES})
_TO: Final = _FROM - {Type.BYTES}


class Cast(OfPartAlone):
    """Casts what `spec` says: `field:type,…`, or one type for the whole value."""

    purpose = "casting types"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `spec` and `replace.null.with.default`."""
        super().__init__(part)
        self._fields: dict[str, Type] = {}
        self._whole: Type | None = None
        mappings = options.texts("spec", required=True)
        for mapping in mappings:
            self._read(mapping, options)
        if self._whole is not None and len(mappings) > 1:
            options.refuse("spec", "has a type for the whole value beside others. Write that type alone.")
        self._default = options.replaces_null()
        self._schemas = Remembered(self._changed)

    def _read(self, mapping: str, options: Options) -> None:
        pieces = [piece.strip() for piece in split(mapping, ":")]
        if len(pieces) not in (1, 2):
            options.refuse("spec", f"{mapping!r} is no cast. Write <field>:<type>.")
            return
        name = pieces[-1].lower()
        if name not in _TO:
            known = ", ".join(each for each in Type if each in _TO)
            options.refuse("spec", f"{pieces[-1]!r} is no type that can be cast to. Write one of {known}.")
        elif len(pieces) == 1:
            self._whole = Type(name)
        else:
            self._fields[pieces[0]] = Type(name)

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        if before.value is None:
            return before
        if self._whole is not None:
            return plain(cast(None, before.value, self._whole))
        value = self._map(before.value)
        return plain({**value, **{name: cast(None, value.get(name), to) for name, to in self._fields.items()}})

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(schema, value)
        changed = self._schemas.of(schema)
        if self._whole is not None:
            return SchemaAndValue(changed, cast(schema, value, self._whole))
        found = self._struct(value)
        values = ((each.name, field_value(found, each.name, default=self._default)) for each in found.schema.fields)
        types = {each.name: each.schema for each in found.schema.fields}
        done = ((name, self._cast(name, types[name], each)) for name, each in values)
        return SchemaAndValue(changed, struct(changed, done))

    def _cast(self, name: str, schema: Schema, value: Any) -> Any:
        return cast(schema, value, self._fields[name]) if name in self._fields else value

    def _changed(self, schema: Schema) -> Schema:
        if self._whole is not None:
            done = basics(schema, Schema(self._whole, optional=schema.optional))
        else:
            if schema.type is not Type.STRUCT:
                raise CannotTransform(f"casting fields takes structs only, and the schema is one of {schema.type}")
            fields = ((each.name, self._field(each.name, each.schema)) for each in schema.fields)
            done = replace(struct_schema(fields, schema), optional=schema.optional)
        return done if schema.default is None else with_default(done, cast(schema, schema.default, done.type))

    def _field(self, name: str, schema: Schema) -> Schema:
        if name not in self._fields:
            return schema
        done = Schema(self._fields[name], optional=schema.optional)
        return done if schema.default is None else with_default(done, cast(schema, schema.default, done.type))


def cast(schema: Schema | None, value: Any, to: Type) -> Any:
    """A value as one of another type; null stays null.

    Raises:
        CannotTransform: it cannot be one.
    """
    if value is None:
        return None
    value = plain_number(value)
    found = type_of(value) if schema is None else schema.type
    if found not in _FROM:
        raise CannotTransform(f"{described(value) if found is None else f'a value of type {found}'} cannot be cast")
    if schema is None:
        return _CASTS[to](value)
    if to is Type.STRING:
        return _text(Float32(value) if found is Type.FLOAT32 else value)
    done = _CASTS[to](encoded(schema, value))
    return done if isinstance(done, bool) else int(done) if isinstance(done, int) else _unmarked(done)


def encoded(schema: Schema, value: Any) -> Any:
    """A value of a logical type as what stands for it; decimals stay.

    Raises:
        CannotTransform: a date has a time, or a time is more than a day.
    """
    if not isinstance(value, Moment):
        return value
    if schema.name == DATE:
        if value.millis % DAY:
            raise CannotTransform("a date has a time of day")
        return wrapped(value.millis // DAY, 32)
    if schema.name == TIME and not 0 <= value.millis <= DAY:
        raise CannotTransform("a time of day is negative, or more than a day")
    return value.millis if schema.name in (TIME, TIMESTAMP) else value


def _unmarked(value: Any) -> Any:
    return float(value) if isinstance(value, float) else value


def _integer(to: Type) -> Callable[[Any], int]:
    bits, made = BITS[to], INTEGERS[to]

    def done(value: Any) -> int:
        match value:
            case bool() | int():
                return made(wrapped(int(value), bits))
            case float():
                return made(wrapped(whole(value, max(bits, 32)), bits))
            case Decimal():
                return made(wrapped(java_text.truncated(value), bits))
            case str():
                return made(_parsed(lambda: java_text.integer(value, bits)))
        raise CannotTransform(f"{described(value)} cannot be cast to {to}")

    return done


def whole(value: float, bits: int) -> int:
    """The integer that Java casts a float to: nothing for what is not a number, the last one for what is beyond."""
    if math.isnan(value):
        return 0
    last = 1 << bits - 1
    return max(-last, min(last - 1, math.trunc(value))) if math.isfinite(value) else (last - 1 if value > 0 else -last)


def _single(value: Any) -> float:
    match value:
        case str():
            return Float32(_parsed(lambda: java_text.floating(value, 32)))
        case Decimal():
            return Float32(java_text.floating(str(value), 32))
        case bool() | float():
            return Float32(value)
        case int():
            return Float32(java_text.floating(str(int(value)), 32))
    raise CannotTransform(f"{described(value)} cannot be cast to float32")


def _double(value: Any) -> float:
    match value:
        case str():
            return float(_parsed(lambda: java_text.floating(value, 64)))
        case bool() | int() | float() | Decimal():
            return float(value)
    raise CannotTransform(f"{described(value)} cannot be cast to float64")


def _boolean(value: Any) -> bool:
    match value:
        case bool():
            return value
        case str():
            return value.lower() == "true"
        case int() | float() | Decimal():
            return bool(_CASTS[Type.INT64](value))
    raise CannotTransform(f"{described(value)} cannot be cast to boolean")


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return java_text.text_of_float(value)
        case int():
            return str(int(value))
        case bytes():
            return base64.b64encode(value).decode()
        case Moment():
            return iso(value.millis)
    return str(value)


def _parsed(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except ValueError as error:
        raise CannotTransform(f"{error}, or out of range") from error


_CASTS: Final[dict[Type, Callable[[Any], Any]]] = {
    **{to: _integer(to) for to in BITS},
    Type.FLOAT32: _single,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    Type.STRING: _text,
}
