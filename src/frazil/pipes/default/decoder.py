"""Iceberg types as a strict JSON decoder: what it accepts, DuckDB reads exactly.

The decoder is msgspec's, compiled from the columns. What a type of msgspec's cannot tell, a look at the decoded value
does: whether a decimal has too many digits, whether a text column's value is a text at all, whether DuckDB's cast from
JSON to a VARIANT keeps all of it.
"""

from __future__ import annotations

import datetime as dt
import re
import types
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, cast

import msgspec
import orjson
from msgspec import UNSET, Meta, Raw, UnsetType

from frazil.model import Column, Conversion, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.default.times import NANOSECONDS_FROM, TimeType, is_plain
from frazil.pipes.types import fixed_length, is_bytes
from frazil.records.variant import MARK, is_kept_from_json

REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for a record it does not accept."""

Look = Callable[[Any], bool]
"""Whether a decoded value is acceptable after all."""

LONG: Final = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_LARGEST_FLOAT: Final = 3.4028234663852886e38
_STRING: Final = str | bool | LONG
"""A number's text is the exact tier's, but for whole numbers, which DuckDB prints as they came."""


def _digits(most: int) -> Any:
    """A text of a whole number that DuckDB reads like the number."""
    return Annotated[str, Meta(pattern=rf"\A-?(0|[1-9][0-9]{{0,{most - 1}}})\Z")]


def _hexadecimal(length: int) -> Any:
    """A text of so many bytes."""
    return Annotated[str, Meta(pattern=rf"\A[0-9a-fA-F]{{{2 * length}}}\Z")]


_PAIRS: Final = r"\A([0-9a-fA-F]{2})*\Z"
_BASE64: Final = r"\A(?:[A-Za-z0-9+/]{4})*+([A-Za-z0-9+/]([AQgw]=|[A-Za-z0-9+/][AEIMQUYcgkosw048])=)?\Z"
"""The one text that base64 has for some bytes."""

_DAY: Final = (
    r"((?!0000)[0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31))"
)
"""A day that there is, but for 29 February."""

_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_DATE: Final = Annotated[str, Meta(pattern=rf"\A{_DAY}(T{_CLOCK}Z?)?\Z")]
"""A date, also as the timestamp in UTC that converters make of one."""

_LONGEST_NUMBER: Final = 20
"""Characters of the longest whole number that a text column takes as it is."""

_TYPES: Final[dict[str, Any]] = {
    "boolean": bool,
    "int": Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] | _digits(9),
    "long": LONG | _digits(18),
    "float": Annotated[float, Meta(ge=-_LARGEST_FLOAT, le=_LARGEST_FLOAT)],
    "double": float,
    "string": _STRING,
    "date": dt.date,
    "uuid": uuid.UUID,
    "binary": Annotated[str, Meta(pattern=_PAIRS)],
    "variant": Raw,
    "decimal": Raw,
}

_SINCE_EPOCH: Final = Annotated[int, Meta(gt=-NANOSECONDS_FROM, lt=NANOSECONDS_FROM)]
"""Whole numbers that are seconds, milliseconds or microseconds; not all nanoseconds are exact."""

_QUICK_TIMES: Final[dict[str, Any]] = {
    "time": Annotated[dt.time, Meta(tz=False)],
    "timestamp": Annotated[dt.datetime, Meta(tz=False)] | _SINCE_EPOCH,
    "timestamptz": dt.datetime | _SINCE_EPOCH,
    "timestamp_ns": Annotated[dt.datetime, Meta(tz=False)] | LONG,
    "timestamptz_ns": dt.datetime | LONG,
}
"""Faster than the exact forms and a little wider: whoever uses them asks DuckDB for the form."""


class _Time:
    """A text in the form a time column takes; the decoder keeps one of each kind, not the texts."""

    name: TimeType


class _TimeOfDay(_Time):
    name = "time"


class _Timestamp(_Time):
    name = "timestamp"


class _TimestampTz(_Time):
    name = "timestamptz"


class _TimestampNs(_Time):
    name = "timestamp_ns"


class _TimestampTzNs(_Time):
    name = "timestamptz_ns"


_EXACT_TIMES: Final[dict[str, type[_Time]]] = {
    kind.name: kind for kind in (_TimeOfDay, _Timestamp, _TimestampTz, _TimestampNs, _TimestampTzNs)
}
_ACCEPTED: Final[dict[type[Any], _Time]] = {kind: kind() for kind in _EXACT_TIMES.values()}


class Undescribed:
    """A value the decoder cannot describe; only null is accepted."""


NOTHING_YET: Final = Annotated[list[Undescribed], Meta(max_length=0)] | None
"""A value that does not tell the type of a column: null, or an empty array."""


class Dialect:
    """How types are decoded for one connector."""

    def __init__(self, conversion: Conversion) -> None:
        """Read values by the rules of `conversion`."""
        # Texts without a zone are in its time zone; DuckDB takes them for UTC.
        self._needs_zone = conversion.time_zone != "UTC"
        self._is_base64 = conversion.binary == "base64"
        # What converters make of moments that schemas name is in UTC, and says so.
        self._names_utc = conversion.value_converter.kind != "json"

    def decoder(self, record: Any) -> Callable[[bytes | str], Any]:
        """A decoder for a struct that `struct` made."""
        return msgspec.json.Decoder(record, dec_hook=self._hook).decode

    def column(self, kind: IcebergType, *, quick: bool) -> Any:
        """What the decoder accepts for a column; `quick` for times whose form is checked elsewhere."""
        if quick and isinstance(kind, Primitive) and kind.name in _QUICK_TIMES:
            if kind.name == "timestamptz" and self._needs_zone:
                return Annotated[dt.datetime, Meta(tz=True)] | _SINCE_EPOCH
            if kind.name == "timestamptz_ns" and self._needs_zone:
                return Annotated[dt.datetime, Meta(tz=True)] | LONG
            if kind.name == "timestamp" and self._names_utc:
                return dt.datetime | _SINCE_EPOCH
            return _QUICK_TIMES[kind.name]
        return self._within(kind)

    def limited(self, kind: IcebergType, length: int) -> Any:
        """The same for a column whose texts or bytes have at most that length."""
        if kind != Primitive("string"):
            return Undescribed if self._is_base64 else Annotated[str, Meta(pattern=_PAIRS, max_length=2 * length)]
        text = Annotated[str, Meta(max_length=length)]
        return text if length < _LONGEST_NUMBER else text | bool | LONG

    def _within(self, kind: IcebergType) -> Any:
        match kind:
            case Primitive(name=name):
                length = fixed_length(kind)
                if self._is_base64 and is_bytes(kind):
                    return Undescribed if length is not None else Annotated[str, Meta(pattern=_BASE64)]
                if name == "date" and self._names_utc:
                    return _DATE
                return _EXACT_TIMES.get(name) or (_TYPES[name] if length is None else _hexadecimal(length))
            case ListType(element=element, element_required=required):
                inner = self._within(element)
                return types.GenericAlias(list, inner if required else _optional(inner))
            case MapType(key=key, value=value, value_required=required):
                if key != Primitive("string"):
                    return Undescribed
                inner = self._within(value)
                return types.GenericAlias(dict, (str, inner if required else _optional(inner)))
            case StructType(fields=fields):
                return self._struct_of(fields)

    def _struct_of(self, columns: tuple[Column, ...]) -> Any:
        if not all(is_field_name(column.name) for column in columns):
            return Undescribed
        fields = [
            field(_place(number), self._within(column.type), required=column.required, present=bool(column.default))
            for number, column in enumerate(columns)
        ]
        return struct("Struct", fields, {_place(number): column.name for number, column in enumerate(columns)})

    def _hook(self, kind: type[_Time | Undescribed], value: Any) -> _Time:
        """Accept a text for a time column only in the forms DuckDB reads exactly."""
        accepted = _ACCEPTED.get(kind)
        needs_zone = self._needs_zone
        if accepted is None or not isinstance(value, str) or not is_plain(accepted.name, value, needs_zone=needs_zone):
            raise TypeError("not in the column's form")
        return accepted


def struct(name: str, fields: list[Any], renamed: Mapping[str, str]) -> Any:
    """A struct for the decoder: `fields` as `field` makes them, `renamed` their keys by place."""
    # Required fields come first: Python's signatures want those without a default in front.
    ordered = sorted(fields, key=len)
    return msgspec.defstruct(name, ordered, rename=renamed, forbid_unknown_fields=True, gc=False)


def field(place: str, kind: Any, *, required: bool, present: bool) -> tuple[Any, ...]:
    """A field of a struct: `required` when null is refused, `present` when the key must be there."""
    if kind is Raw:
        return (place, kind) if required or present else (place, kind, _NULL)
    kind = kind if required else kind | None
    return (place, kind) if required or present else (place, kind | UnsetType, UNSET)


_NULL: Final = Raw(b"null")
"""What a raw field has whose key is absent: nothing that looks at it has to ask for more."""


_FIELD_NAME: Final = re.compile(r'[^"\\\x00-\x1f]*')


def is_field_name(key: str) -> bool:
    """Whether msgspec takes a field of that name; records with other keys are refused, and read by the exact tier."""
    return _FIELD_NAME.fullmatch(key) is not None


def is_null(value: Any) -> bool:
    """Whether a decoded value stands for NULL."""
    return value is None or value is UNSET or (type(value) is Raw and bytes(value) == b"null")


def look(kind: IcebergType, *, required: bool) -> Look | None:
    """What is left to look at in a decoded value, if anything is."""
    match kind:
        case Primitive(name="decimal"):
            return _look_at_decimal(kind, required=required)
        case Primitive(name="variant"):
            return _becomes_value if required else becomes_variant
        case ListType(element=element, element_required=element_required):
            return _all(look(element, required=element_required))
        case MapType(key=key, value=value, value_required=value_required) if key == Primitive("string"):
            inner = _all(look(value, required=value_required))
            return inner and (lambda found: not found or inner(found.values()))
        case StructType(fields=fields):
            return _look_at_fields(fields)
        case _:
            return None


def look_at_text(value: Raw) -> bool:
    """Whether a text column takes a raw value as DuckDB reads it: a text, a whole number, an object or an array."""
    raw = bytes(value)
    # An escaped code point may be half of a surrogate pair.
    return b"\\u" not in raw and (raw[0] in _OPENING or _PLAIN_TEXT(raw) is not None)


_OPENING: Final = b'"{['
_PLAIN_TEXT: Final = re.compile(rb"null|true|false|-?(0|[1-9][0-9]{0,17})").fullmatch


def _look_at_decimal(kind: Primitive, *, required: bool) -> Look:
    before = kind.precision - kind.scale
    whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before else "0"
    fraction = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale else ""
    null = "" if required else "|null"
    # A text of a number is read like the number.
    matches = re.compile(f'("?)-?{whole}{fraction}\\1{null}'.encode()).fullmatch
    return cast("Look", matches)


def _all(inner: Look | None) -> Look | None:
    return inner and (lambda values: not values or all(map(inner, values)))


def _look_at_fields(fields: Iterable[Column]) -> Look | None:
    looks = [
        (_place(number), found)
        for number, column in enumerate(fields)
        if (found := look(column.type, required=column.required))
    ]
    if not looks:
        return None
    return lambda value: value is None or value is UNSET or all(each(getattr(value, place)) for place, each in looks)


def _place(number: int) -> str:
    return f"field_{number}"


def _optional(kind: Any) -> Any:
    return kind if kind is Raw else cast("Any", kind) | None


def _becomes_value(value: Raw) -> bool:
    """Whether a raw value is none that would be NULL, and becomes the VARIANT it stands for."""
    return not is_null(value) and becomes_variant(value)


def opened_becomes_variant(value: Raw) -> bool:
    """The same where texts stand for JSON: what they say, the exact tier finds out."""
    return bytes(value)[:1] != b'"' and becomes_variant(value)


def becomes_variant(value: Raw) -> bool:
    """Whether DuckDB makes of a raw value the VARIANT it stands for.

    Two things would be lost in silence: digits of numbers, and keys that come twice. A document that is written anew
    as it came, but for zeros at the end of fractions, has neither, and most are; what is looked at beyond that is there
    for producers that write blanks.
    """
    raw = bytes(value)
    if raw[0] == _QUOTE:
        return b"\\u" not in raw and not raw.startswith(_MARKED)
    if raw[0] not in b"{[":
        return raw in (b"null", b"true", b"false") or is_kept_from_json(raw.decode())
    try:
        parsed = _DECODE(raw)
        written = orjson.dumps(parsed, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:  # a whole number has more than 53 bits
        written = b""
    except REFUSED:
        return False
    if written == raw or _WITHOUT_ZEROS(rb"\1", raw) == written:
        return True
    return (_has_short_numbers(raw) and _has_no_key_twice(raw, written)) or _is_kept(raw)


_WITHOUT_ZEROS: Final = re.compile(rb"(\.[0-9]+?)0+(?=[,}\]])").sub
_QUOTE: Final = ord('"')
_MARKED: Final = b'"' + MARK.encode()
_DECODE: Final = msgspec.json.Decoder().decode


def _has_short_numbers(raw: bytes) -> bool:
    """Whether no number has more digits than every double keeps, or an exponent that could be below all of them."""
    return b"e-" not in raw and b"E-" not in raw and _TOO_LONG not in raw.translate(_DIGITS)


_TOO_LONG: Final = b"0" * 16
"""Digits, the point among them: a fraction of 15 digits has as many, one of 16 has more."""

_DIGITS: Final = bytes(ord("0") if chr(byte) in "0123456789." else ord(" ") for byte in range(256))


def _has_no_key_twice(raw: bytes, written: bytes) -> bool:
    """Whether a document has as many keys as what was read of it, judging by the colons behind quotes.

    Texts may have some, too: as many in the one as in the other, if quotes are written in the same way.
    """
    return raw.count(b'":') == written.count(b'":') and not any(odd in raw for odd in _ODD)


_ODD: Final = (b"\\u", b'" ', b'"\n', b'"\r', b'"\t')
"""Quotes that may be written in another way, and those that may have a blank before their colon."""


def _is_kept(raw: bytes) -> bool:
    """The same for any document, number by number and key by key."""
    try:
        members = _members(_EXACTLY(raw))
    except (*REFUSED, OverflowError):
        return False
    # Texts may begin with blanks, and hold escaped quotes before colons.
    return members == len(_KEYS(raw.replace(rb"\\", b"").replace(rb"\"", b"")))


_KEYS: Final = re.compile(rb'"[ \t\n\r]*:').findall


def _members(container: Any) -> int:
    """How many members an object or an array has at all levels.

    Raises:
        OverflowError: a whole number has more than 64 bits.
    """
    count, values = (len(container), container.values()) if type(container) is dict else (0, container)
    for value in values:
        kind = type(value)
        if kind is dict or kind is list:
            count += _members(value)
        elif kind is int and not -(2**63) <= value < 2**63:
            raise OverflowError(value)
    return count


def _require_exact(number: str) -> None:
    if len(number) <= _SURELY_EXACT and "e" not in number and "E" not in number:
        return
    # Most long numbers are doubles that some program wrote in full: those come back as they were.
    if repr(float(number)) != number and not is_kept_from_json(number):
        raise ValueError("more digits than a DOUBLE keeps")


_SURELY_EXACT: Final = 16
"""Characters of a fraction without an exponent, its point included, that a DOUBLE keeps."""

_EXACTLY: Final = msgspec.json.Decoder(float_hook=_require_exact).decode
