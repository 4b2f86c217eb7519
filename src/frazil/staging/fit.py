"""What fits which type: the exact tier's rules for one value (spec 4.3).

A value that fits is returned as JSON text in the one form that the fast statement reads exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any, Final

from frazil.model import Column, IcebergType, ListType, Primitive, StructType
from frazil.pipes.types import TEXT_FORMS, check_text_form
from frazil.staging.exact_json import Misfit, Number, Object, Twice, kind_of, raw, shown, string, unique

_RANGES: Final = {"int": 2**31, "long": 2**63}


def fit(kind: IcebergType, value: Any) -> str:
    """The value as JSON text that the fast statement reads exactly as `kind`.

    Raises:
        Misfit: it does not fit; the message says why.
    """
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
            raise Misfit(f"columns of type {kind} cannot be written")


def _boolean(value: Any) -> str:
    if not isinstance(value, bool):
        raise _unfit(value, "boolean")
    return "true" if value else "false"


def _integer(name: str, value: Any) -> str:
    number = _exact(value, name)
    if number != number.to_integral_value():
        raise Misfit(f"{shown(value)} is not a whole number")
    if not -_RANGES[name] <= number < _RANGES[name]:
        raise Misfit(f"{shown(value)} is out of the range of {name}")
    return str(int(number))


def _floating(name: str, value: Any) -> str:
    if not isinstance(value, Number):
        raise _unfit(value, name)
    number = float(value)
    limit = 3.4028235677973366e38 if name == "float" else float("inf")
    if abs(number) >= limit and "inf" not in value.lower():
        raise Misfit(f"{shown(value)} is out of the range of {name}")
    return str(value)


def _decimal(kind: Primitive, value: Any) -> str:
    # Decimal's own arithmetic rounds to 28 digits: this context has room for all of the value's.
    number = _exact(value, str(kind)).normalize(Context(prec=len(value), Emax=MAX_EMAX, Emin=MIN_EMIN))
    _, digits, exponent = number.as_tuple()
    if int(exponent) < -kind.scale:
        raise Misfit(f"{shown(value)} has more than {kind.scale} digits after the point")
    if len(digits) + int(exponent) > kind.precision - kind.scale and number:
        raise Misfit(f"{shown(value)} is out of the range of {kind}")
    return f"{number:f}"


def _variant(value: Any) -> str:
    text = raw(value)
    wrong = next((number for number in _numbers(value) if not survives_in_variant(number)), None)
    if wrong is not None:
        raise Misfit(f"the number {shown(wrong)} is more than a VARIANT keeps exactly")
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


def _numbers(value: Any) -> list[Number]:
    found: list[Number] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case Number() as number:
                found.append(number)
            case Object() as members:
                waiting.extend(member for _, member in members)
            case list() as items:
                waiting.extend(items)
    return found


def _text(value: Any) -> str:
    if isinstance(value, Number):
        return string(_plain(value))
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return '"true"' if value else '"false"'
    return string(raw(value))


def _plain(number: Number) -> str:
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
    if not isinstance(value, str) or isinstance(value, Number):
        raise _unfit(value, name)
    try:
        check_text_form(name, value)
    except ValueError as error:
        raise Misfit(f"{shown(value)} does not fit a column of type {name}: {error}") from error
    return string(value)


def _struct(fields: Sequence[Column], value: Any) -> str:
    if not isinstance(value, Object):
        raise _unfit(value, "struct")
    names = {field.name.casefold(): field for field in fields}
    members: dict[str, str] = {}
    read = Object(member for member in value if member[0].casefold() in names)
    for key, member in _unique_members(read):
        field = next((each for each in fields if each.name == key), names[key.casefold()])
        if members.get(field.name, "null") != "null" and member is not None:
            raise Misfit(f"two keys equal to {field.name} ignoring case both have a value")
        if field.name not in members or member is not None:
            members[field.name] = _within(field.name, field.type, member)
    for field in fields:
        if field.required and members.get(field.name, "null") == "null":
            raise Misfit(f"the field {field.name} must not be NULL")
    return "{" + ", ".join(f"{string(key)}: {text}" for key, text in members.items()) + "}"


def _list(kind: ListType, value: Any) -> str:
    if isinstance(value, Object) or not isinstance(value, list):
        raise _unfit(value, "list")
    if kind.element_required and any(item is None for item in value):
        raise Misfit("an element of the list is null and must not be")
    return "[" + ", ".join(_within(f"[{index}]", kind.element, item) for index, item in enumerate(value)) + "]"


def _within(where: str, kind: IcebergType, value: Any) -> str:
    try:
        return fit(kind, value)
    except Misfit as misfit:
        raise Misfit(f"{where}: {misfit}") from misfit


def _unique_members(value: Object) -> list[tuple[str, Any]]:
    try:
        return unique(value)
    except Twice as twice:
        raise Misfit(f"{twice.key}: {twice}") from twice


def _exact(value: Any, name: str) -> Decimal:
    if not isinstance(value, Number):
        raise _unfit(value, name)
    try:
        number = Decimal(value)
    except InvalidOperation as error:
        raise _unfit(value, name) from error
    if not number.is_finite():
        raise _unfit(value, name)
    return number


def _unfit(value: Any, name: str) -> Misfit:
    return Misfit(f"{kind_of(value)} does not fit a column of type {name}: {shown(value)}")
