"""`column:path.to[0]['key']`, step by step, each by the type of what it is taken from.

A path that leads nowhere is NULL. Keys are taken as written: they differ by case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import KIND, call, cast, grouped, name, number, out_of_variant, text, typed
from frazil.cli.query.types import INTEGERS, NESTED, Types
from frazil.cli.query.values import VARIANT, document
from frazil.errors import InvalidQuery

Step = str | int | exp.Expr
"""A key, the place of an element, or an expression that is one of the two."""

NOWHERE: Final = cast(exp.null(), VARIANT)


def steps(path: exp.JSONPath) -> list[Step]:
    """The steps of a parsed path.

    Raises:
        InvalidQuery: one is neither a key nor a place.
    """
    found: list[Step] = []
    for part in path.expressions[1:]:
        if not (isinstance(part, exp.JSONPathKey | exp.JSONPathSubscript) and isinstance(part.this, str | int)):
            raise InvalidQuery(f"{type(part).__name__} in a path is neither a key nor the place of an element")
        found.append(part.this)
    return found


def walk(types: Types, start: exp.Expr, way: Iterable[Step], origin: exp.Expr) -> exp.Expr:
    """The value at the end of a path.

    Args:
        types: of everything.
        start: what the path begins at, in Spark SQL.
        way: the steps.
        origin: `start` as the user wrote it, for messages.

    Raises:
        InvalidQuery: `start` is of a type that has nothing inside.
    """
    kind = types.of(start)
    if not isinstance(kind, (t.VariantType, t.StringType, t.NullType, *NESTED)):
        raise InvalidQuery(
            f"{shown(origin)} is {kind.simpleString()}: a path leads into STRUCT, ARRAY, MAP, VARIANT and JSON text"
        )
    for step in way:
        start = _step(types, start, step)
    return start


def _step(types: Types, node: exp.Expr, step: Step) -> exp.Expr:
    kind = types.of(node)
    if isinstance(kind, t.StringType):
        node, kind = document(types, node, "a text"), VARIANT
    if isinstance(kind, t.VariantType):
        return _in_variant(types, node, step)
    if isinstance(kind, t.MapType):
        return call("try_element_at", node, _map_key(step, kind.keyType), kind=kind.valueType)
    if isinstance(kind, t.ArrayType) and not isinstance(step, str):
        return call("get", node, _place(types, step), kind=kind.elementType)
    if isinstance(kind, t.StructType):
        return _field(types, node, kind, step)
    return NOWHERE.copy()


def _field(types: Types, node: exp.Expr, kind: t.StructType, step: Step) -> exp.Expr:
    if isinstance(step, exp.Expr):
        return _in_variant(types, document(types, node, "a struct"), step)
    found = next((field for field in kind.fields if field.name == step), None)
    if found is None:
        return NOWHERE.copy()
    return typed(exp.Dot(this=grouped(node), expression=name(found.name)), found.dataType)


def _in_variant(types: Types, node: exp.Expr, step: Step) -> exp.Expr:
    if isinstance(step, exp.Expr):
        return _computed(types, node, step)
    if isinstance(step, str) and "'" in step and '"' in step:
        # A path cannot hold such a key.
        return _member(node, text(step))
    quote = '"' if isinstance(step, str) and "'" in step else "'"
    part = f"[{step}]" if isinstance(step, int) else f"[{quote}{step}{quote}]"
    if isinstance(step, int) and step < 0:
        return NOWHERE.copy()
    return out_of_variant(node, part)


def _computed(types: Types, node: exp.Expr, step: exp.Expr) -> exp.Expr:
    if isinstance(types.of(step), (*INTEGERS, t.DecimalType)):
        elements = call("try_variant_get", node, text("$"), text("array<variant>"))
        return call("get", elements, _place(types, step), kind=VARIANT)
    return _member(node, cast(step, t.StringType()))


def _member(node: exp.Expr, key: exp.Expr) -> exp.Expr:
    members = call("try_variant_get", node, text("$"), text("map<string,variant>"))
    return call("try_element_at", members, key, kind=VARIANT)


def _map_key(step: Step, kind: t.DataType) -> exp.Expr:
    key = step if isinstance(step, exp.Expr) else text(step) if isinstance(step, str) else number(step)
    return key if key.meta.get(KIND) == kind else cast(key, kind, safe=True)


def _place(types: Types, step: Step) -> exp.Expr:
    if isinstance(step, int):
        return number(step)
    assert isinstance(step, exp.Expr)  # noqa: S101 (keys were sorted out before)
    kind = types.of(step)
    return step if isinstance(kind, t.IntegerType) else cast(step, t.IntegerType(), safe=True)
