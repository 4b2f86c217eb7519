"""Snowflake's types as those of Iceberg's columns (docs/how-to/define-tables.md has the table)."""

from __future__ import annotations

from typing import Final

from frazil.errors import InvalidQuery
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.snowflake.places import near
from frazil.snowflake.words import Words

MOST_DIGITS: Final = 38

_DECIMALS: Final = frozenset({"NUMBER", "DECIMAL", "NUMERIC", "DEC"})
_WHOLE: Final = dict.fromkeys(("INT", "INTEGER", "SMALLINT", "TINYINT", "BYTEINT"), "int") | dict.fromkeys(
    ("BIGINT", "LONG"), "long"
)
# All of Snowflake's names for floating point mean 64 bits: a column of 32 would round what they hold.
_FLOATING: Final = dict.fromkeys(("FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "DOUBLE PRECISION", "REAL"), "double")
_TEXTS: Final = dict.fromkeys(
    ("VARCHAR", "STRING", "TEXT", "CHAR", "CHARACTER", "NCHAR", "NVARCHAR", "NVARCHAR2", "CHAR VARYING",
     "NCHAR VARYING", "CHARACTER VARYING"),
    "string",
)  # fmt: skip
_BYTES: Final = dict.fromkeys(("BINARY", "VARBINARY"), "binary")
_PLAIN: Final = {"BOOLEAN": "boolean", "DATE": "date", "UUID": "uuid", "VARIANT": "variant"}
_MOMENTS: Final = dict.fromkeys(
    ("DATETIME", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMP_NTZ", "TIMESTAMP WITHOUT TIME ZONE"), "timestamp"
) | dict.fromkeys(
    ("TIMESTAMPLTZ", "TIMESTAMP_LTZ", "TIMESTAMPTZ", "TIMESTAMP_TZ", "TIMESTAMP WITH TIME ZONE",
     "TIMESTAMP WITH LOCAL TIME ZONE"),
    "timestamptz",
)  # fmt: skip
_SIZED: Final = _TEXTS | _BYTES
_SINGLE: Final = frozenset({"CHAR", "CHARACTER", "NCHAR"})
"""Types of one character where no length is written."""

_NESTED: Final = ("OBJECT", "ARRAY", "MAP")
_KNOWN: Final = sorted({*_DECIMALS, *_WHOLE, *_FLOATING, *_SIZED, *_PLAIN, *_MOMENTS, "TIME", *_NESTED})

_MICROSECONDS: Final = 6
_NANOSECONDS: Final = 9


def read_type(w: Words) -> IcebergType:
    """Read a type, whatever length it has.

    Raises:
        InvalidQuery: there is none of that name, or Iceberg has none that holds its values.
    """
    return read_sized_type(w)[0]


def read_sized_type(w: Words) -> tuple[IcebergType, int | None]:
    """Read a type and the length that a text or bytes may have; None for any.

    Raises:
        InvalidQuery: there is none of that name, or Iceberg has none that holds its values.
    """
    place = w.pointed_next()
    name = _name(w)
    if name not in _SIZED:
        return _read_type(w, name, place), None
    sizes = _sizes(w, name, 1)
    if sizes and sizes[0] < 1:
        raise InvalidQuery(f"{name}({sizes[0]}) is not possible: a length is 1 at least", place)
    length = sizes[0] if sizes else 1 if name in _SINGLE else None
    return Primitive(_SIZED[name]), length


def _read_type(w: Words, name: str, place: str) -> IcebergType:
    if name in _DECIMALS:
        return _decimal(w, place)
    if name in _MOMENTS:
        return _moment(w, name, place)
    if name == "TIME":
        if _digits(w, name, place) > _MICROSECONDS:
            raise InvalidQuery("Iceberg's times have microseconds: write TIME(6)", place)
        return Primitive("time")
    for plain in (_WHOLE, _FLOATING, _PLAIN):
        if name in plain:
            return Primitive(plain[name])
    if name in _NESTED:
        return _nested(w, name, place)
    raise InvalidQuery(f"there is no type {name[:40]} for a column{near(name, _KNOWN)}", place)


def _name(w: Words) -> str:
    name = w.word("a type")
    if name == "TIMESTAMP":
        for rest in (("WITH", "TIME", "ZONE"), ("WITH", "LOCAL", "TIME", "ZONE"), ("WITHOUT", "TIME", "ZONE")):
            if w.take(*rest):
                return " ".join((name, *rest))
    return name


def _decimal(w: Words, place: str) -> Primitive:
    sizes = _sizes(w, "NUMBER", 2)
    precision, scale = (*sizes, *(MOST_DIGITS, 0)[len(sizes) :])
    if not 1 <= precision <= MOST_DIGITS or scale > precision:
        raise InvalidQuery(
            f"NUMBER({precision},{scale}) is not possible: it has 1 to {MOST_DIGITS} digits, and no more after the "
            "point than in all",
            place,
        )
    return Primitive("decimal", precision, scale)


def _moment(w: Words, name: str, place: str) -> Primitive:
    digits = _digits(w, name, place)
    return Primitive(_MOMENTS[name] + ("_ns" if digits > _MICROSECONDS else ""))


def _digits(w: Words, name: str, place: str) -> int:
    """The digits of seconds after the point."""
    sizes = _sizes(w, name, 1)
    digits = sizes[0] if sizes else _MICROSECONDS
    if digits > _NANOSECONDS:
        raise InvalidQuery(f"{name}({digits}) is not possible: seconds have at most {_NANOSECONDS} digits", place)
    return digits


def _sizes(w: Words, name: str, most: int) -> list[int]:
    """The numbers in parentheses after a type's name, if there are any."""
    if not w.comes("("):
        return []
    inside = Words(w.text, w.parenthesised(f"the size of {name}"))
    found = [inside.whole(f"the size of {name}")]
    while len(found) < most and inside.take(","):
        found.append(inside.whole(f"the size of {name}"))
    inside.end()
    return found


def _nested(w: Words, name: str, place: str) -> IcebergType:
    if not w.comes("("):
        if name == "MAP":
            raise InvalidQuery("a MAP says what it holds: MAP(VARCHAR, NUMBER)", place)
        return Primitive("variant")
    inside = Words(w.text, w.parenthesised(f"what the {name} holds"))
    found = _structure(inside, name, place)
    inside.end()
    return found


def _structure(w: Words, name: str, place: str) -> IcebergType:
    if name == "OBJECT":
        fields = [_field(w)]
        while w.take(","):
            fields.append(_field(w))
        return StructType(tuple(fields))
    first = read_type(w)
    if name == "ARRAY":
        return ListType(0, first, w.take("NOT", "NULL"))
    if not isinstance(first, Primitive) or first.name == "variant":
        raise InvalidQuery("the keys of a MAP are texts or numbers", place)
    w.need(",")
    value = read_type(w)
    return MapType(0, first, 0, value, w.take("NOT", "NULL"))


def _field(w: Words) -> Column:
    name = w.name("the name of a field").name
    kind = read_type(w)
    return Column(0, name, kind, w.take("NOT", "NULL"))
