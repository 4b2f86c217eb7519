"""Casts by Snowflake's rules."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import (
    call,
    cast,
    choice,
    compare,
    equals,
    failing,
    is_null,
    negation,
    null,
    number,
    one_of,
    text,
    typed,
    when,
)
from frazil.snowflake.json_text import shallow
from frazil.snowflake.kinds import (
    BLOB,
    BOOLEAN,
    DATE,
    DOUBLE,
    JSON,
    NUMBER,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    decimal,
    shown,
)
from frazil.snowflake.moments import moment
from frazil.snowflake.places import Refused
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed

_D: Final = exp.DType
_NAMES: Final[dict[str, exp.DataType]] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "INT128", "MEDIUMINT", "UTINYINT"), NUMBER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), DOUBLE),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHAR", "NVARCHAR", "NCHAR", "BPCHAR"), TEXT),
    "BOOLEAN": BOOLEAN,
    "DATE": DATE,
    "TIME": TIME,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), TIMESTAMP),
    **dict.fromkeys(("TIMESTAMPLTZ", "TIMESTAMPTZ"), TIMESTAMPTZ),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB"), BLOB),
    "VARIANT": JSON,
    "UUID": UUID,
}  # fmt: skip
_THERE_ARE: Final = (
    "NUMBER, FLOAT, VARCHAR, BOOLEAN, DATE, TIME, TIMESTAMP_NTZ, TIMESTAMP_LTZ, TIMESTAMP_TZ, BINARY, VARIANT, OBJECT, "
    "ARRAY"
)
_YES: Final = ("true", "t", "yes", "y", "on", "1")
_NO: Final = ("false", "f", "no", "n", "off", "0")


def known_type(name: exp.DataType) -> exp.DataType:
    """DuckDB's type for a type of Snowflake's.

    Raises:
        Refused: there is none.
    """
    kind = name.this
    if kind in (_D.DECIMAL, _D.BIGDECIMAL) or (isinstance(kind, _D) and kind.value == "NUMBER"):
        sizes = parameters(name)
        precision, scale = (*sizes, 0)[:2] if sizes else (38, 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise Refused(f"a NUMBER has 1 to 38 digits, not {precision} with {scale} after the point", name)
        return decimal(precision, scale)
    found = _NAMES.get(kind.name) if isinstance(kind, _D) else None
    if found is None:
        called = name.sql(dialect="snowflake")[:60]
        raise Refused(f"{called} is no type to cast to; there are {_THERE_ARE}", name)
    return found


def parameters(name: exp.DataType) -> list[int]:
    """The sizes in parentheses."""
    found = [each.this if isinstance(each, exp.DataTypeParam) else each for each in name.expressions]
    if not all(isinstance(each, exp.Literal) and each.name.isdecimal() for each in found):
        raise Refused("the size of a type is a whole number", name)
    return [int(each.name) for each in found]


def converted(types: Types, node: exp.Expr, name: exp.DataType, *, safe: bool = False) -> exp.Expr:
    """The value cast to a type that Snowflake names; `safe` gives NULL where that cannot be.

    Raises:
        Refused: there is no such type to cast to.
    """
    if name.this in (_D.OBJECT, _D.ARRAY, _D.LIST):
        if name.expressions:
            raise Refused("cast to OBJECT or ARRAY without the types inside", name)
        return as_array(types, node, safe=safe) if name.this != _D.OBJECT else as_object(types, node, safe=safe)
    found = to_type(types, node, known_type(name), safe=safe)
    if name.this in exp.DataType.TEXT_TYPES and name.expressions:
        return call("left", found, number(parameters(name)[0]), kind=TEXT)
    return found


def to_type(types: Types, node: exp.Expr, kind: exp.DataType, *, safe: bool = False) -> exp.Expr:
    """The value as a type of DuckDB's, by Snowflake's rules."""
    if types.of(node) == kind or (kind == NUMBER and types.is_integer(node)):
        return node
    if types.is_null(node):
        return null(kind)
    if kind in (DATE, TIMESTAMP, TIMESTAMPTZ):
        return moment(types, node, kind, safe=safe)
    if kind == JSON:
        return boxed(types, node)
    if kind == TEXT:
        return as_text(types, node)
    if types.is_variant(node) or types.is_nested(node):
        return to_type(types, as_text(types, node), kind, safe=safe)
    if kind == TIME and (types.is_number(node) or types.kind(node) == _D.TIMESTAMPTZ):
        node = moment(types, node, TIMESTAMP)
    if kind in (BLOB, UUID, TIME) and not (types.is_text(node) or (kind == TIME and types.is_moment(node))):
        raise Refused(f"a {shown(types.of(node))} cannot be cast to {shown(kind)}", node)
    if kind == TIME and types.is_text(node):
        return cast(_within_a_day(node), kind, safe=safe)
    if kind == BOOLEAN and types.is_text(node):
        return _truth(node, safe=safe)
    if kind == BLOB and types.is_text(node):
        return _bytes(node, safe=safe)
    return cast(node, kind, safe=safe)


def _within_a_day(node: exp.Expr) -> exp.Expr:
    """The text of a time, but such that 24 o'clock, which is DuckDB's last one, is none."""
    late = call("starts_with", call("ltrim", node.copy(), kind=TEXT), text("24"), kind=BOOLEAN)
    return typed(when(late, call("concat", text("?"), node.copy(), kind=TEXT), node), TEXT)


def _truth(node: exp.Expr, *, safe: bool) -> exp.Expr:
    lower = call("lower", node, kind=TEXT)
    other = null(BOOLEAN) if safe else cast(node.copy(), BOOLEAN)
    yes, no = exp.Boolean(this=True), exp.Boolean(this=False)
    found = choice([(one_of(lower, *_YES), yes), (one_of(lower.copy(), *_NO), no)], other)
    found.type = BOOLEAN.copy()
    return found


def _bytes(node: exp.Expr, *, safe: bool) -> exp.Expr:
    if not safe:
        return call("unhex", node, kind=BLOB)
    hexadecimal = call("regexp_full_match", node, text("([0-9A-Fa-f]{2})*"), kind=BOOLEAN)
    return when(hexadecimal, call("unhex", node.copy(), kind=BLOB), null(BLOB))


def as_array(types: Types, node: exp.Expr, *, safe: bool = False) -> exp.Expr:
    """An ARRAY: text is read as JSON, and what is none is its only element."""
    if types.kind(node) == _D.ARRAY:
        return node
    value = _read(types, node, safe=safe)
    kind = call("json_type", value.copy(), kind=TEXT)
    alone = call("json_array", value.copy(), kind=JSON)
    nothing = negation(is_null(value.copy()))
    branches = [(equals(kind, text("ARRAY")), value), (equals(kind.copy(), text("NULL")), null(JSON)), (nothing, alone)]
    return choice(branches)


def as_object(types: Types, node: exp.Expr, *, safe: bool = False) -> exp.Expr:
    """An OBJECT: text is read as JSON; anything else is an error, or NULL if `safe`."""
    if types.kind(node) in (_D.STRUCT, _D.MAP):
        return node
    value = _read(types, node, safe=safe)
    kind = call("json_type", value.copy(), kind=TEXT)
    refusal = null(JSON) if safe else failing("this value is no OBJECT", JSON)
    wrong = compare(exp.NEQ, kind.copy(), text("NULL"))
    return choice([(equals(kind, text("OBJECT")), value), (wrong, refusal)])


def _read(types: Types, node: exp.Expr, *, safe: bool) -> exp.Expr:
    if types.is_text(node):
        return cast(shallow(node), JSON, safe=safe)
    return boxed(types, node)
