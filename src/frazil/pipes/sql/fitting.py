"""What a value becomes in a column: SQL that alters none in silence (spec 4.3).

The usual forms of a type are read by DuckDB, everything else by exact validation, which may refuse it. Values that the
user has cast have a type; between two types only what keeps every value, or fails, is written.
"""

from __future__ import annotations

from typing import Final

import orjson
from sqlglot import exp

from frazil.model import LONGEST, Column, Conversion, IcebergType, Primitive
from frazil.pipes.sql.functions import Fitting
from frazil.pipes.types import VARIANT, canonical, cast, fixed_length, is_bytes, json_structure, sql_type
from frazil.snowflake import kinds
from frazil.snowflake.rendering import rendered
from frazil.sql import ident, literal

_D: Final = exp.DType

_OFTEN_TEXT: Final = frozenset({"string", "int", "long", "float", "double", "decimal", "boolean"})
"""Types for which a text is read like the number or boolean in it."""

_DIGITS: Final = {"int": 9, "long": 18}
"""Digits that every number has room for in a type."""

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_UUID: Final = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ODD_IN_VARIANT: Final = r"[0-9.]{16}|^-?[0-9.]+[eE]|\\u|^[{\[]|^" + '"\x7f'
"""What a JSON text has that DuckDB may not make the VARIANT of it that it stands for."""

_NUMBERS: Final = frozenset({"int", "long", "float", "double", "decimal"})
_NANOSECONDS: Final = frozenset({"timestamp_ns", "timestamptz_ns"})
_MOMENTS: Final = frozenset({"date", "timestamp", "timestamptz"}) | _NANOSECONDS
_FROM_NUMBER: Final = _NUMBERS | (_MOMENTS - {"date"}) | {"string", "boolean"}
_TAKEN: Final[dict[exp.DType, frozenset[str]]] = {
    _D.BOOLEAN: frozenset({"boolean", "string"}),
    _D.DATE: _MOMENTS | {"string"},
    _D.TIMESTAMP: _MOMENTS | {"string"},
    _D.TIMESTAMP_NS: _MOMENTS | {"string"},
    _D.TIMESTAMPTZ: _MOMENTS | {"string"},
    _D.TIME: frozenset({"time", "string"}),
    _D.VARBINARY: frozenset({"binary", "string"}),
    _D.UUID: frozenset({"uuid", "string"}),
    _D.DECIMAL: _FROM_NUMBER,
    **dict.fromkeys((*kinds.INTEGERS, *kinds.FLOATS), _FROM_NUMBER),
}
"""Types of columns that take some value of a type; every one takes a VARIANT or a text, and a VARIANT takes all."""


def takes(column: IcebergType, kind: exp.DataType) -> bool:
    """Whether a column of a type takes any value of a type of DuckDB's."""
    if column == VARIANT or kind.this in (_D.NULL, _D.JSON, _D.VARIANT, _D.TEXT):
        return True
    if kind.this in kinds.NESTED:
        return not isinstance(column, Primitive) or column.name == "string"
    found = _TAKEN.get(kind.this) if isinstance(kind.this, _D) else None
    return found is not None and isinstance(column, Primitive) and column.name in found


def reads_text(column: IcebergType) -> bool:
    """Whether the text of a JSON value tells all that a column of the type asks for."""
    return isinstance(column, Primitive) and column.name in _OFTEN_TEXT


def of_text(value: str, column: Column, conversion: Conversion) -> str:
    """SQL for the text of a JSON value, or a text, as a column of a type that `reads_text`."""
    kind = column.type
    assert isinstance(kind, Primitive)  # noqa: S101 (`reads_text`)
    if kind.name == "string":
        return value
    odd = _fitted(f"CAST(to_json({value}) AS VARCHAR)", column, conversion)
    if kind.name == "boolean":
        return f"CASE {value} WHEN 'true' THEN true WHEN 'false' THEN false ELSE {odd} END"
    usual = f"CAST({value} AS {sql_type(kind)})"
    return f"CASE WHEN regexp_full_match({value}, {literal(_number(kind))}) THEN {usual} ELSE {odd} END"


def of_document(value: str, column: Column, conversion: Conversion) -> str:
    """SQL for a JSON value as a column."""
    kind = column.type
    text = f"CAST({value} AS VARCHAR)"
    if kind == VARIANT:
        usual = f"CAST({value} AS VARIANT)"
        # Whatever may fail stands here once: DuckDB computes what stands twice before TRY is asked.
        odd = f"coalesce(variant_bytes_to_variant({ident(Fitting(kind, conversion).name)}({text})), {usual})"
        return canonical(f"CASE WHEN regexp_matches({text}, {literal(_ODD_IN_VARIANT)}) THEN {odd} ELSE {usual} END")
    odd = _fitted(text, column, conversion)
    if not isinstance(kind, Primitive) or (pattern := _form(kind, conversion)) is None:
        return odd
    inner = f"substr({text}, 2, length({text}) - 2)"
    usual = f"unhex({inner})" if is_bytes(kind) else f"CAST({inner} AS {sql_type(kind)})"
    form = f"regexp_full_match({text}, {literal(pattern)})"
    if kind.name in _MOMENTS:
        first, last = ('"0002', '"9999') if kind.name == "timestamptz" else ('"0001', '"A')
        form += f" AND {text} >= {literal(first)} AND {text} < {literal(last)}"
    return f"CASE WHEN {form} THEN {usual} ELSE {odd} END"


def of_typed(value: str, kind: exp.DataType, column: Column, conversion: Conversion) -> str | None:
    """SQL for a value of another type as a column; None where it goes there as a text or as JSON."""
    target = column.type
    if not isinstance(target, Primitive) or kind.this in (_D.JSON, _D.VARIANT):
        return None
    wanted = sql_type(target)
    # There is one type for moments with a zone in SQL, of microseconds.
    if kinds.of_table(target) == kind and target.name != "timestamptz_ns":
        return _within_years(value, target) if target.name in _YEARS else value
    if target.name in ("float", "double") and kind.this in (*kinds.INTEGERS, *kinds.FLOATS, _D.DECIMAL):
        return f"CAST({value} AS {wanted})"
    if target.name in ("int", "long", "decimal") and (kind.this in kinds.INTEGERS or kind.this == _D.DECIMAL):
        scale = kinds.size(kind)[1] if kind.this == _D.DECIMAL else 0
        if scale <= target.scale or conversion.numbers == "round":
            return f"CAST({value} AS {wanted})"
        return _unless_altered(value, wanted, kind)
    if target.name in _MOMENTS and kind.this in kinds.MOMENTS:
        altered = _unless_altered(value, wanted, kind)
        return _within_years(altered, target) if target.name in _YEARS else altered
    if target.name == "string" and kind.this not in kinds.NESTED:
        return f"CAST({value} AS VARCHAR)"
    return None


def absent(column: Column, found: Fitting) -> str:
    """SQL for what a column gets that the pipe gives no value: its default, or NULL."""
    if column.default is None:
        return f"CAST(NULL AS {sql_type(column.type)})"
    return _read(literal(found.default(column)), column.type)


def _unless_altered(value: str, wanted: str, kind: exp.DataType) -> str:
    """A cast that fails where its result is another value than it began with."""
    back = rendered(kind)
    found = f"CAST({value} AS {wanted})"
    # What fails here must not be `error`, which TRY does not take.
    failing = f"CAST({value} || {literal(' is more than the column has room for')} AS {wanted})"
    return f"CASE WHEN {value} IS NULL OR CAST({found} AS {back}) = {value} THEN {found} ELSE {failing} END"


_YEARS: Final = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "timestamp": ("TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
    "timestamptz": ("TIMESTAMPTZ '0001-01-01 00:00:00+00'", "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"),
}
"""The first and the last value of types that other readers have no room for beyond."""


def _within_years(value: str, kind: Primitive) -> str:
    """A moment that fails outside the years 1 to 9999."""
    first, last = _YEARS[kind.name]
    failing = f"CAST(each || {literal(' is not in the years 1 to 9999')} AS {sql_type(kind)})"
    # DuckDB computes what stands twice before TRY is asked whether it fails.
    found = f"lambda each: CASE WHEN each < {first} OR each > {last} THEN {failing} ELSE each END"
    return f"list_transform([{value}], {found})[1]"


def within_length(value: str, column: Column) -> str:
    """A text or bytes that fail where they are longer than the column allows; any other value as it is."""
    length = LONGEST.get(str(column.type)) if column.length is None else column.length
    if length is None:
        return value
    longest = int(length)
    measured, unit = "octet_length(each)", "bytes"
    if column.type == Primitive("string"):
        measured, unit = ("strlen(each)", unit) if column.length is None else ("length(each)", "characters")
    said = literal(f" {unit}, and the column takes {longest}")
    failing = f"CAST(CAST({measured} || {said} AS INTEGER) AS {sql_type(column.type)})"
    # What may fail stands once: DuckDB computes what stands twice before TRY is asked whether it fails.
    found = f"lambda each: CASE WHEN {measured} > {longest} THEN {failing} ELSE each END"
    return f"list_transform([{value}], {found})[1]"


def _fitted(text: str, column: Column, conversion: Conversion) -> str:
    """SQL for a JSON value, given as text, through exact validation."""
    return _read(f"{ident(Fitting(column.type, conversion).name)}({text})", column.type)


def _read(fitted: str, kind: IcebergType) -> str:
    """SQL for what exact validation has written."""
    if kind == VARIANT:
        return cast(f"CAST({fitted} AS JSON)", kind)
    structure = literal(orjson.dumps({"value": json_structure(kind)}).decode())
    # DuckDB reads a time that is no member as the text of one.
    return cast(f"""from_json('{{"value":' || {fitted} || '}}', {structure}).value""", kind)


def _number(kind: Primitive) -> str:
    if kind.name in _DIGITS:
        return f"-?[0-9]{{1,{_DIGITS[kind.name]}}}"
    if kind.name == "decimal":
        fraction = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale else ""
        return f"-?[0-9]{{1,{max(1, kind.precision - kind.scale)}}}{fraction}"
    return r"-?[0-9]{1,30}(\.[0-9]{1,30})?"


def _form(kind: Primitive, conversion: Conversion) -> str | None:
    """The JSON texts that DuckDB reads as they are meant."""
    if is_bytes(kind) and conversion.binary == "base64":
        return None
    zone = "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])" + ("?" if conversion.time_zone == "UTC" else "")
    forms = {
        "date": _DAY,
        "time": _CLOCK,
        "timestamp": f"{_DAY}T{_CLOCK}",
        "timestamptz": f"{_DAY}T{_CLOCK}{zone}",
        "uuid": _UUID,
        "binary": "([0-9a-fA-F]{2})*",
    }
    form = forms.get(kind.name) if (length := fixed_length(kind)) is None else f"([0-9a-fA-F]{{2}}){{{length}}}"
    return f'"{form}"' if form else None
