"""JSON as values of Connect's schemas.

Connect's own JsonConverter takes any JSON for any schema: the text "a" is the int32 0, and 70000 the int16 4464. Here
what is no value of its schema is refused.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from frazil.records.connect.data import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, Moment, Number, Schema, Struct, Type
from frazil.records.connect.exact_json import MOST_DIGITS
from frazil.records.connect.moments import DAY
from frazil.records.connect.unreadable import Unfit, shown

Read: TypeAlias = Callable[[Any], Any]
"""Turns a value of `frazil.records.connect.exact_json.parsed` into one of Connect's.

Raises:
    Unreadable: it is no value of the schema.
"""

_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LOGICAL: Final = {(Type.BYTES, DECIMAL), (Type.INT32, DATE), (Type.INT32, TIME), (Type.INT64, TIMESTAMP)}
_MOST_BYTES: Final = math.ceil(MOST_DIGITS * math.log2(10) / 8)
_MOST_DIGITS: Final = 20
"""More than the longest 64-bit integers have."""


def reader(schema: Schema | None) -> Read:
    """What reads the values of a schema; None is the schema of what has none."""
    return _reader(schema, {})


def _reader(schema: Schema | None, known: dict[int, Read]) -> Read:
    """The reader of a schema; `known` has those of schemas that stand several times in the whole one, by identity."""
    if schema is None:
        return lambda value: value
    if (found := known.get(id(schema))) is not None:
        return found
    present = _present(schema, known)

    def read(value: Any) -> Any:
        if value is not None:
            return present(value)
        if schema.default is None and not schema.optional:
            raise Unfit(f"no value, and its schema, {_name(schema)!r}, is neither optional nor has a default")
        return schema.default

    known[id(schema)] = read
    return read


def _present(schema: Schema, known: dict[int, Read]) -> Read:
    if (schema.type, schema.name) in _LOGICAL:
        return _logical(schema)
    match schema.type:
        case Type.STRUCT:
            return _struct(schema, known)
        case Type.ARRAY:
            return _array(schema, known)
        case Type.MAP:
            return _map(schema, known)
        case Type.FLOAT32 | Type.FLOAT64:
            return lambda value: _float(value, schema)
        case Type.BOOLEAN:
            return lambda value: value if isinstance(value, bool) else _refuse(value, schema)
        case Type.STRING:
            return lambda value: value if _is_text(value) else _refuse(value, schema)
        case Type.BYTES:
            return lambda value: _bytes(value, schema)
        case _:
            return lambda value: _integer(value, schema)


def _logical(schema: Schema) -> Read:
    match schema.name:
        case name if name == DECIMAL:
            scale = int(schema.parameters[SCALE])
            return lambda value: _decimal(value, scale, schema)
        case name if name == DATE:
            return lambda value: Moment(_integer(value, schema) * DAY)
        case name if name == TIME:
            return lambda value: Moment(_time(value, schema))
        case _:
            return lambda value: Moment(_integer(value, schema))


def _struct(schema: Schema, known: dict[int, Read]) -> Read:
    fields = [(each.name, _reader(each.schema, known)) for each in schema.fields]

    def read(value: Any) -> Struct:
        if not isinstance(value, Mapping):
            _refuse(value, schema)
        found = {}
        for name, field in fields:
            try:
                found[name] = field(value.get(name))
            except Unfit as error:
                raise error.inside(name) from None
        return Struct(schema, found)

    return read


def _array(schema: Schema, known: dict[int, Read]) -> Read:
    element = _reader(schema.value, known)
    return lambda value: [element(each) for each in _list(value, schema)]


def _map(schema: Schema, known: dict[int, Read]) -> Read:
    """Connect writes maps as objects if all keys are texts, and else as pairs or objects of a key and a value."""
    key, content = _reader(schema.key, known), _reader(schema.value, known)
    has_texts = schema.key is not None and schema.key.type is Type.STRING

    def read(value: Any) -> Any:
        if isinstance(value, Mapping) and has_texts:
            return {name: content(each) for name, each in value.items()}
        pairs = [_pair(each) or _refuse(value, schema) for each in _list(value, schema)]
        return [(key(each), content(found)) for each, found in pairs]

    return read


def _list(value: Any, schema: Schema) -> list[Any]:
    if not isinstance(value, list):
        raise _misfit(value, schema)
    return value


def _pair(written: Any) -> tuple[Any, Any] | None:
    """A key with its value: JsonConverter writes a list of two, JsonSchemaConverter an object."""
    match written:
        case [key, value]:
            return key, value
        case {"key": key, "value": value} if len(written) == 2:
            return key, value
        case _:
            return None


def _integer(value: Any, schema: Schema) -> int:
    number = _number(value)
    if number is None or number.adjusted() >= _MOST_DIGITS or number != number.to_integral_value():
        raise _misfit(value, schema)
    bits = _BITS[schema.type]
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _misfit(value, schema)
    return int(number)


def _float(value: Any, schema: Schema) -> float:
    if _is_text(value) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if not isinstance(value, Number) or math.isinf(found := float(value)):
        _refuse(value, schema)
    return found


def _decimal(value: Any, scale: int, schema: Schema) -> Decimal:
    """A number, or the unscaled number's bytes: both formats are read, whichever is set for writing."""
    if isinstance(value, Number):
        number = _number(value)
        return _refuse(value, schema) if number is None else number
    return from_unscaled(_bytes(value, schema), scale)


def from_unscaled(data: bytes, scale: int) -> Decimal:
    """A decimal from the big-endian two's complement of its digits.

    Raises:
        Unfit: it has more than about `MOST_DIGITS` digits.
    """
    if len(data) > _MOST_BYTES:
        raise Unfit(f"a decimal of {len(data):,} bytes, more than the {_MOST_BYTES:,} of {MOST_DIGITS:,} digits")
    return with_scale(int.from_bytes(data, "big", signed=True), scale)


def with_scale(unscaled: int, scale: int) -> Decimal:
    """A decimal with all of its digits."""
    # A tuple is exact, where arithmetic would round to a context's precision.
    return Decimal((int(unscaled < 0), tuple(map(int, Decimal(abs(unscaled)).as_tuple().digits)), -scale))


def _time(value: Any, schema: Schema) -> int:
    millis = _integer(value, schema)
    return millis if 0 <= millis <= DAY else _refuse(value, schema)


def _bytes(value: Any, schema: Schema) -> bytes:
    if not _is_text(value):
        raise _misfit(value, schema)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise _misfit(value, schema) from None


def _number(value: Any) -> Decimal | None:
    try:
        found = Decimal(value) if isinstance(value, Number) else None
    except InvalidOperation:  # an exponent without end
        return None
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _name(schema: Schema) -> str:
    return schema.name or str(schema.type)


def _refuse(value: Any, schema: Schema) -> Any:
    raise _misfit(value, schema)


def _misfit(value: Any, schema: Schema) -> Unfit:
    return Unfit(f"a value that is no {_name(schema)!r}, as its schema says: {shown(value)}")
