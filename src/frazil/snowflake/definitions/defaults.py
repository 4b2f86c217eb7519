"""DEFAULT: constants as Iceberg's JSON of single values."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from frazil.errors import InvalidQuery
from frazil.model import IcebergType, Primitive
from frazil.snowflake.words import Words

_SIGNS: Final = ("-", "+")
_DIGITS_OF: Final = {"int": 31, "long": 63}
_FRACTION: Final = re.compile(r"\.(\d{7,})")


def read_default(w: Words, kind: IcebergType, required: bool) -> str | None:
    """Read the constant after DEFAULT, as JSON text; None for NULL.

    Raises:
        InvalidQuery: it is no constant, or none of the column's type.
    """
    place = w.pointed_next()
    if w.take("NULL"):
        if required:
            raise InvalidQuery("a column that is NOT NULL has no default of NULL", place)
        return None
    if not isinstance(kind, Primitive) or kind.name == "variant":
        raise InvalidQuery(f"a column of type {kind} can have no DEFAULT but NULL", place)
    text, is_text = _constant(w, place)
    try:
        return orjson.dumps(_value(text, kind, is_text=is_text)).decode()
    except (ValueError, ArithmeticError) as error:
        raise InvalidQuery(f"{text[:60]!r} is no default of a column of type {kind}", place) from error


def _constant(w: Words, place: str) -> tuple[str, bool]:
    sign = next((each for each in _SIGNS if w.take(each)), "")
    if not sign and (text := w.text_or_none()) is not None:
        return text, True
    number = w.number_or_none()
    if number is not None:
        return sign + number, False
    if not sign and (w.comes("TRUE") or w.comes("FALSE")):
        return w.word("a constant"), False
    raise InvalidQuery(
        "the DEFAULT of an Iceberg column is a constant: a number, a text in quotes, TRUE or FALSE", place
    )


def _value(text: str, kind: Primitive, *, is_text: bool) -> Any:
    if kind.name in ("string", "boolean") and is_text != (kind.name == "string"):
        raise ValueError(text)
    return _READ[kind.name](text, kind)


def _whole(text: str, kind: Primitive) -> int:
    number = decimal.Decimal(text)
    if number != int(number) or not -(2 ** _DIGITS_OF[kind.name]) <= number < 2 ** _DIGITS_OF[kind.name]:
        raise ValueError(text)
    return int(number)


def _decimal(text: str, kind: Primitive) -> str:
    with decimal.localcontext(prec=2 * decimal.MAX_PREC.bit_length()):
        number = decimal.Decimal(text)
        fitted = number.quantize(decimal.Decimal(1).scaleb(-kind.scale))
    if fitted != number or len(fitted.as_tuple().digits) > kind.precision:
        raise ValueError(text)
    return f"{fitted:f}"


def _floating(text: str, _: Primitive) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(text)
    return number


def _boolean(text: str, _: Primitive) -> bool:
    return text.upper() == "TRUE"


def _moment(text: str, kind: Primitive) -> str:
    beyond = _FRACTION.search(text)
    if beyond and beyond[1].rstrip("0")[6:]:
        # Python's moments have microseconds.
        raise ValueError(text)
    moment = dt.datetime.fromisoformat(text.replace(beyond[0], beyond[0][:7]) if beyond else text)
    if kind.name.startswith("timestamptz"):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return aware.astimezone(dt.UTC).isoformat(timespec="microseconds")
    if moment.tzinfo:
        raise ValueError(text)
    return moment.isoformat(timespec="microseconds")


_READ: Final[Mapping[str, Callable[[str, Primitive], Any]]] = {
    "boolean": _boolean,
    "int": _whole,
    "long": _whole,
    "double": _floating,
    "decimal": _decimal,
    "string": lambda text, _: text,
    "date": lambda text, _: dt.date.fromisoformat(text).isoformat(),
    "time": lambda text, _: dt.time.fromisoformat(text).isoformat(timespec="microseconds"),
    "timestamp": _moment,
    "timestamptz": _moment,
    "timestamp_ns": _moment,
    "timestamptz_ns": _moment,
    "uuid": lambda text, _: str(uuid.UUID(text)),
    "binary": lambda text, _: bytes.fromhex(text).hex(),
}
