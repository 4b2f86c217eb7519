"""An independent reading of the rules (spec 4.3): what must land of a record, by json, Decimal, Fraction and datetime.

Nothing of frazil is used but the names of types.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct as bits
import uuid
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from frazil.model import Column, Conversion, IcebergType, ListType, MapType, Primitive, StructType

REJECT = object()
"""What the reading says of a record that must not land."""


class CoercionError(Exception):
    """A value does not fit."""


class Pairs(list[Any]):
    """An object's members, each time they appear."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()


def expected(shape: Sequence[Column], text: str | None, conversion: Conversion) -> Any:
    """The row `text` must become, or REJECT."""
    try:
        members = _parsed(text) if text else Pairs()
        return tuple(Reading(conversion).members(shape, _of(members, Pairs)).values())
    except CoercionError:
        return REJECT


def _parsed(text: str) -> Any:
    def refuse(literal: str) -> Any:
        raise CoercionError(literal)

    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=refuse)
    except ValueError as error:
        raise CoercionError from error


def _of(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is str and isinstance(value, Number)):
        raise CoercionError
    return value


class Reading:
    """The rules as one connector has configured them."""

    def __init__(self, conversion: Conversion) -> None:
        self.rounds = conversion.numbers == "round"
        self.zone = ZoneInfo(conversion.time_zone)

    def members(self, fields: Sequence[Column], members: Pairs) -> dict[str, Any]:
        """Fields by name, from the keys equal to it ignoring case."""
        found = {}
        for field in fields:
            given = [value for key, value in members if key.casefold() == field.name.casefold()]
            values = [value for value in given if value is not None]
            if len(values) > 1:
                raise CoercionError
            if not given and field.default is not None:
                values = [_parsed(field.default)]
            found[field.name] = self.value(field.type, values[0]) if values else None
            if field.required and found[field.name] is None:
                raise CoercionError
        return found

    def value(self, kind: IcebergType, value: Any) -> Any:
        if value is None:
            return None
        match kind:
            case StructType():
                return self.members(kind.fields, _of(value, Pairs))
            case ListType():
                if isinstance(value, Pairs) or (kind.element_required and None in _of(value, list)):
                    raise CoercionError
                return [self.value(kind.element, item) for item in _of(value, list)]
            case MapType():
                return self._map(kind, value)
            case Primitive():
                return self._scalar(kind, value)

    def _map(self, kind: MapType, value: Any) -> list[tuple[Any, Any]]:
        entries = []
        for pair in _of(value, list):
            if not isinstance(value, Pairs) and (type(pair) is not list or len(pair) != 2):
                raise CoercionError
            key, member = self.value(kind.key, pair[0]), self.value(kind.value, pair[1])
            if key is None or (member is None and kind.value_required):
                raise CoercionError
            entries.append((key, member))
        if len({"nan" if key != key else key for key, _ in entries}) < len(entries):
            raise CoercionError
        return entries

    def _scalar(self, kind: Primitive, value: Any) -> Any:
        match kind.name:
            case "boolean":
                return _boolean(value)
            case "int" | "long":
                limit = 2**31 if kind.name == "int" else 2**63
                return self._whole(_fraction(value), -limit, limit - 1)
            case "double" | "float":
                return _float(kind.name, value)
            case "decimal":
                most = 10**kind.precision - 1
                unscaled = self._whole(_fraction(value) * 10**kind.scale, -most, most)
                return Decimal(unscaled).scaleb(-kind.scale)
            case "string":
                return _text(value)
            case "uuid":
                if not re.fullmatch("[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}", _of(value, str)):
                    raise CoercionError
                return str(uuid.UUID(value))
            case "binary" | "fixed[2]":
                if not re.fullmatch(
                    "([0-9a-fA-F]{2})*" if kind.name == "binary" else "[0-9a-fA-F]{4}", _trimmed(value)
                ):
                    raise CoercionError
                return bytes.fromhex(_trimmed(value))
            case "variant":
                return _variant(value)
            case _:
                return self._time(kind.name, value)

    def _whole(self, number: Fraction, least: int, most: int) -> int:
        nearest = math.floor(abs(number) + Fraction(1, 2)) * (1 if number > 0 else -1)
        if (nearest != number and not self.rounds) or not least <= nearest <= most:
            raise CoercionError
        return nearest

    def _micros(self, nanos: int) -> int:
        if nanos % 1000 and not self.rounds:
            raise CoercionError
        return (nanos + 500) // 1000

    def _time(self, kind: str, value: Any) -> Any:
        if kind.endswith("_ns"):
            return self._nanoseconds(kind.removesuffix("_ns"), value)
        try:
            if isinstance(value, Number):
                if not kind.startswith("timestamp") or not re.fullmatch("-?[0-9]+", value):
                    raise CoercionError
                local, offset = self._since_epoch(value), dt.UTC
            elif re.fullmatch("[-+]?[0-9]{1,19}", _trimmed(value)):
                local, offset = self._since_epoch(_trimmed(value)), dt.UTC
            else:
                local, offset = self._fields(kind, _trimmed(value))
            match kind:
                case "date":
                    return local.date()
                case "time":
                    return local.time()
                case "timestamp":
                    return local
                case _:
                    return local.replace(tzinfo=offset or self.zone).astimezone(dt.UTC)
        except (ValueError, OverflowError, KeyError) as error:
            raise CoercionError from error

    def _nanoseconds(self, kind: str, value: Any) -> int:
        """Nanoseconds since the epoch: those of the text without its fraction, and the fraction."""
        text = value if isinstance(value, Number) else _trimmed(value)
        if re.fullmatch("-?[0-9]+" if isinstance(value, Number) else "[-+]?[0-9]{1,19}", text):
            number = int(text[:50])
            scale = next((9 - 3 * step for step in range(3) if abs(number) < 31_536_000_000 * 1000**step), 0)
            found = number * 10**scale
        else:
            before, point, after = text.partition(".")
            fraction = re.match("[0-9]*", after)[0]  # type: ignore[index]
            moment = self._time(kind, before + after[len(fraction) :])
            if point and not (1 <= len(fraction) <= 9 and before.count(":") == 2):
                raise CoercionError
            found = (moment.replace(tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1)
            found = found * 10**9 + int(fraction.ljust(9, "0"))
        if abs(found) > 2**63 - 2:
            raise CoercionError
        return int(found)

    def _since_epoch(self, text: str) -> dt.datetime:
        if len(text) > 30:
            raise CoercionError
        number = int(text)
        powers = [power for power in (9, 6, 3) if abs(number) < 31_536_000_000 * 1000 ** (3 - power // 3)]
        micros = self._micros(number * 10 ** (powers[0] if powers else 0))
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)  # noqa: DTZ001

    def _fields(self, kind: str, text: str) -> tuple[dt.datetime, dt.tzinfo | None]:
        """The fields as they are written, and the zone if there is one."""
        clock = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
        offset = r"(?:([Zz])|([-+])(\d\d):(\d\d)(?::(\d\d))?)"
        form = rf"{clock}{offset}?" if kind == "time" else rf"(?:[Tt]{clock}(?:{offset}(?:\[([^]]+)])?)?)?"
        day = None if kind == "time" else re.match(r"(\d{4})-(\d\d)-(\d\d)", text, re.ASCII)
        rest = re.fullmatch(form, text[10:] if day else text, re.ASCII)
        if rest is None or (day is None and kind != "time"):
            raise CoercionError
        hour, minute, second, fraction, zulu, sign, *shift = rest.groups()
        date = dt.date(*map(int, day.groups())) if day else dt.date(1970, 1, 1)
        local = dt.datetime.combine(date, dt.time(*(int(each or 0) for each in (hour, minute, second))))
        if len(shift) > 3 and shift.pop():
            ZoneInfo(rest.group(10))
        if sign and (int(shift[0]) > 23 or int(shift[1]) > 59 or int(shift[2] or 0) > 59):
            raise CoercionError
        if kind != "date":
            local += dt.timedelta(microseconds=self._micros(int((fraction or "").ljust(9, "0"))))
        if kind == "time" and local.date() != date:
            raise CoercionError
        if not sign:
            return local, dt.UTC if zulu else None
        hours, minutes, seconds = (int(each or 0) * (1 if sign == "+" else -1) for each in shift)
        return local, dt.timezone(dt.timedelta(hours=hours, minutes=minutes, seconds=seconds))


def _trimmed(value: Any) -> str:
    return str(_of(value, str)).strip("".join(map(chr, range(33))))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, Number):
        found = _fraction(value)
        if found not in (0, 1):
            raise CoercionError
        return found == 1
    word = _trimmed(value).lower()
    if word not in ("true", "t", "yes", "y", "on", "1", "false", "f", "no", "n", "off", "0"):
        raise CoercionError
    return word in ("true", "t", "yes", "y", "on", "1")


def _fraction(value: Any) -> Fraction:
    text = value if isinstance(value, Number) else _trimmed(value)
    found = re.fullmatch(r"([-+]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([-+]?[0-9]{1,9}))?", text)
    if not found:
        raise CoercionError
    digits = Fraction(Decimal(found[1] + found[2]))
    # Larger exponents say the same as these: out of every range, or nothing but a fraction.
    return digits * Fraction(10) ** max(-1000, min(1000, int(found[3] or 0)))


def _float(kind: str, value: Any) -> float:
    if not isinstance(value, Number):
        text = _trimmed(value)
        if re.fullmatch("nan|-?inf|[-+]?infinity", text, re.IGNORECASE):
            return float(text)
        if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text):
            raise CoercionError
        number = float(text)
    else:
        number = float(value)
    if math.isinf(number):
        raise CoercionError
    if kind == "double":
        return number
    try:
        (single,) = bits.unpack("<f", bits.pack("<f", number))
    except OverflowError as error:
        raise CoercionError from error
    return float(single)


def _text(value: Any) -> str:
    if isinstance(value, Number):
        if not re.fullmatch(r"-?[0-9.]+([eE][-+]?[0-9]{1,9})?", value):
            return str(value)
        number = Decimal(value)
        if number and abs(number.adjusted()) >= 1000:
            return str(value)
        whole = f"{number:f}" if number else "0"
        return whole.rstrip("0").rstrip(".") if "." in whole else whole
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else _compact(value)
    if any(0xD800 <= ord(each) <= 0xDFFF for each in text):
        raise CoercionError
    return text


def _compact(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_compact(each)}" for key, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _variant_number(text: str) -> int | float | Decimal:
    """A whole number of 64 bits, a double by its shortest text, a decimal of 38 digits, a double by 17 digits."""
    if re.fullmatch("-?[0-9]+", text) and -(2**63) <= int(text) < 2**63:
        return int(text)
    if not re.fullmatch(r".*?([eE][-+]?[0-9]{1,9})?", text):
        raise CoercionError
    exact = Decimal(text)
    is_whole = re.fullmatch("-?[0-9]+", text)
    shortest, all_digits = Decimal(repr(float(text))), Decimal("%.17g" % float(text))  # noqa: UP031
    if exact == shortest and not is_whole:
        return float(text)
    before, after = exact.adjusted() + 1, -min(0, _last_place(exact))
    if before <= 38 and after <= 38 and max(before, 0) + after <= 38:
        return exact
    if exact in (shortest, all_digits):
        return float(text)
    raise CoercionError


def _last_place(number: Decimal) -> int:
    """The power of ten of the last digit that is not zero."""
    _, digits, exponent = number.as_tuple()
    return int(exponent) + len(digits) - len("".join(map(str, digits)).rstrip("0"))


def _variant(value: Any) -> Any:
    if isinstance(value, Number):
        return _variant_number(value)
    if isinstance(value, Pairs):
        if len({key for key, _ in value}) < len(value):
            raise CoercionError
        return {_text(key): _variant(each) for key, each in value}
    if isinstance(value, list):
        return [_variant(item) for item in value]
    return _text(value) if isinstance(value, str) else value
