"""Conditions of a query as Iceberg's expressions: what cannot be said exactly is left out.

They only choose files. DuckDB asks them again of every row, so one that is left out costs time and nothing else, and
one that means less than DuckDB's would lose rows. Hence what DuckDB holds for equal or ordered in its own way is
widened: NaN is the greatest number and equal to itself, and zero has no sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

import orjson

from frazil.snowflake.compiled import Filter

_Json: TypeAlias = dict[str, Any]

_OPERATORS: Final = {
    "=": "eq",
    "!=": "not-eq",
    "<": "lt",
    "<=": "lt-eq",
    ">": "gt",
    ">=": "gt-eq",
    "in": "in",
    "is null": "is-null",
    "is not null": "not-null",
    "starts with": "starts-with",
}
_BITS: Final = {"int": 31, "long": 63}
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_PLAIN: Final = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,60})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT: Final = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})([ T](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})(\.(?P<part>[0-9]{1,6}))?)?"
    r"(?P<zone>Z|\+00|\+00:00)?"
)
_MOST_VALUES: Final = 1000


def expression(filters: Iterable[Filter], schema: str) -> str | None:
    """What of `filters` can be said, as the JSON of one expression; None if nothing can.

    Args:
        filters: conditions that all hold.
        schema: the table's, as Iceberg's SchemaParser writes it.
    """
    fields = orjson.loads(schema)["fields"]
    said = [each for each in (_said(one, fields) for one in filters) if each is not None]
    return orjson.dumps(_joined("and", said)).decode() if said else None


def _said(condition: Filter, fields: Sequence[_Json]) -> _Json | None:
    kind = _type_of(condition.column, fields)
    if kind is None:
        return None
    name, operator = ".".join(condition.column), condition.operator
    if operator in ("is null", "is not null"):
        return {"type": _OPERATORS[operator], "term": name}
    if operator == "starts with":
        (text,) = condition.values
        return {"type": "starts-with", "term": name, "value": text} if kind == "string" and text else None
    if not condition.values or len(condition.values) > _MOST_VALUES:
        return None
    if kind in ("float", "double"):
        return None if operator == "!=" else _of_fractions(name, operator, condition.values)
    values = [_value(text, kind) for text in condition.values]
    if any(each is None for each in values):
        return None
    if operator == "in":
        return {"type": "in", "term": name, "values": values}
    return {"type": _OPERATORS[operator], "term": name, "value": values[0]}


def _of_fractions(name: str, operator: str, texts: Sequence[str]) -> _Json | None:
    """A condition on a column that may have NaN and zeros of both signs."""
    try:
        values = [float(text) for text in texts]
    except ValueError:
        return None
    if any(value - value != 0 for value in values):  # NaN and the infinities
        return None
    if operator in ("=", "in"):
        return _joined("or", [_equal(name, value) for value in values])
    (value,) = values
    if value == 0:
        # The zero that takes both in.
        operator = {"<": "<=", ">": ">="}[operator[0]]
        value = -0.0 if operator == ">=" else 0.0
    said = {"type": _OPERATORS[operator], "term": name, "value": value}
    return _joined("or", [said, {"type": "is-nan", "term": name}]) if operator in (">", ">=") else said


def _equal(name: str, value: float) -> _Json:
    if value != 0:
        return {"type": "eq", "term": name, "value": value}
    least = {"type": "gt-eq", "term": name, "value": -0.0}
    return _joined("and", [least, {"type": "lt-eq", "term": name, "value": 0.0}])


def _value(text: str, kind: str) -> Any:
    """A value as Iceberg's JSON has those of a type; None if DuckDB might mean another one."""
    if kind == "string":
        return text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    if kind in _BITS:
        return _whole(text, _BITS[kind])
    if kind == "date":
        return text if _DATE.fullmatch(text) and text >= "0001" else None
    if kind in ("timestamp", "timestamptz"):
        return _moment(text, zoned=kind == "timestamptz")
    decimal = _DECIMAL.fullmatch(kind)
    return _decimal(text, int(decimal[1]), int(decimal[2])) if decimal else None


def _whole(text: str, bits: int) -> int | None:
    value = int(text) if _WHOLE.fullmatch(text) else None
    return value if value is not None and -(2**bits) <= value < 2**bits else None


def _moment(text: str, *, zoned: bool) -> str | None:
    found = _MOMENT.fullmatch(text)
    if not found or text < "0001" or (found["zone"] and not zoned):
        return None
    part = (found["part"] or "").ljust(6, "0")
    # The connection's zone is UTC: a text that names none is in it.
    return f"{found['day']}T{found['time'] or '00:00:00'}.{part}{'+00:00' if zoned else ''}"


def _decimal(text: str, precision: int, scale: int) -> str | None:
    if not _PLAIN.fullmatch(text):
        return None
    try:
        value = Decimal(text)
        exact = value.quantize(Decimal(1).scaleb(-scale))
    except InvalidOperation:
        return None
    fits = exact == value and len(exact.as_tuple().digits) <= precision
    return f"{exact:f}" if fits else None


def _type_of(path: Sequence[str], fields: Sequence[_Json]) -> str | None:
    """The primitive type of a column or a field; None if a dotted name could not mean it alone."""
    kind: Any = {"type": "struct", "fields": fields}
    for name in path:
        if not isinstance(kind, dict) or kind["type"] != "struct" or "." in name:
            return None
        kind = next((each["type"] for each in kind["fields"] if each["name"] == name), None)
    if any("." in each["name"] for each in fields):
        return None
    return kind if isinstance(kind, str) and kind != "variant" else None


def _joined(operator: str, parts: Sequence[_Json]) -> _Json:
    joined = parts[0]
    for each in parts[1:]:
        joined = {"type": operator, "left": joined, "right": each}
    return joined
