"""Paths into nested values, by the type of what they start from.

One path gives the same over a STRUCT, a LIST, a MAP, a VARIANT and JSON text; what is not there is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from sqlglot import exp, jsonpath
from sqlglot.errors import SqlglotError

from frazil.snowflake.building import call, cast, compare, equals, grouped, null, number, text, together, typed, when
from frazil.snowflake.kinds import BIGINT, BOOLEAN, JSON, TEXT, VARIANT, element, fields, shown
from frazil.snowflake.places import Refused
from frazil.snowflake.typed import Types
from frazil.snowflake.values import IS_THERE, as_text, boxed, document
from frazil.sql import pointer

Step: TypeAlias = str | int | exp.Expr
"""A key, a place from 0, or an expression that gives one of them."""


def steps(path: exp.Expr) -> list[Step]:
    """The steps of a path as the parser gives it.

    Raises:
        Refused: it has a wildcard, or something else that leads to no single value.
    """
    found: list[Step] = []
    for part in path.expressions:
        if isinstance(part, exp.JSONPathRoot):
            continue
        if not (isinstance(part, exp.JSONPathKey | exp.JSONPathSubscript) and isinstance(part.this, str | int)):
            raise Refused("a path has keys and places, and no WILDCARD", path)
        found.append(part.this)
    return found


def written_steps(function: str, written: str, node: exp.Expr) -> list[Step]:
    """The steps of a path in a text, as of GET_PATH.

    Raises:
        Refused: it is no path.
    """
    try:
        return steps(jsonpath.parse(written))
    except (SqlglotError, RecursionError, Refused) as error:
        raise Refused(f"{function}: {written[:60]!r} is no path, like 'a.b[0]'", node) from error


def step(node: exp.Expr) -> Step:
    """A step as a translated expression gives it."""
    if isinstance(node, exp.Literal) and node.is_string:
        return node.name
    if isinstance(node, exp.Literal) and node.name.isdecimal() and len(node.name) < 10:
        return int(node.name)
    return node


def walk(types: Types, start: exp.Expr, way: Sequence[Step], called: str) -> exp.Expr:
    """The value at the end of a path; `called` is what a message calls the start.

    Raises:
        Refused: what it starts from has nothing inside.
    """
    value = start
    for place, each in enumerate(way):
        kind = types.kind(value)
        if kind == exp.DType.TEXT and place > 0:
            # A text within something is not valid JSON.
            return null(JSON)
        if kind == exp.DType.STRUCT:
            value = _member(types, value, each)
        elif kind == exp.DType.ARRAY:
            value = _item(types, value, each)
        elif kind == exp.DType.MAP:
            value = _entry(types, value, each)
        elif kind == exp.DType.VARIANT and not isinstance(each, exp.Expr):
            value = _inner(value, each)
        elif types.is_variant(value) or types.is_text(value) or types.is_null(value):
            return _extracted(types, value, way[place:], called)
        elif place == 0:
            raise Refused(f"{called} is {_article(shown(types.of(value)))}: it has nothing inside", start)
        else:
            return null(JSON)
    return value


def _article(kind: str) -> str:
    return f"a {kind}"


def _member(types: Types, value: exp.Expr, wanted: Step) -> exp.Expr:
    members = fields(types.of(value))
    if isinstance(wanted, int):
        return null(JSON)
    if isinstance(wanted, exp.Expr):
        return _extracted(types, boxed(types, value), [wanted], "")
    found = next((kind for name, kind in members if name == wanted), None)
    if found is None:
        return null(JSON)
    return call("struct_extract", value, text(wanted), kind=found)


def _item(types: Types, value: exp.Expr, wanted: Step) -> exp.Expr:
    kind = element(types.of(value))
    if isinstance(wanted, str):
        return null(JSON)
    if isinstance(wanted, int):
        if wanted < 0:
            return null(kind)
        return call("list_extract", value, number(wanted + 1), kind=kind)
    if types.is_text(wanted):
        return null(JSON)
    place = cast(wanted, BIGINT)
    following = typed(exp.Add(this=place, expression=number(1)), BIGINT)
    # A place below 0 would be counted from the end.
    inside = compare(exp.GTE, place.copy(), number(0))
    return when(inside, call("list_extract", value, grouped(following), kind=kind))


def _entry(types: Types, value: exp.Expr, wanted: Step) -> exp.Expr:
    key, kind = types.of(value).expressions
    sought = text(wanted) if isinstance(wanted, str) else number(wanted) if isinstance(wanted, int) else wanted
    if isinstance(wanted, exp.Expr):
        sought = as_text(types, wanted)
    return call("map_extract_value", value, cast(sought, key, safe=True), kind=kind)


def _inner(value: exp.Expr, wanted: str | int) -> exp.Expr:
    """A step into a VARIANT column."""
    bare = value.copy()
    if isinstance(wanted, str):
        found = call("variant_extract", value, text(wanted), kind=VARIANT)
        there: exp.Expr = call("variant_exists", bare, text(wanted), kind=BOOLEAN)
    elif wanted < 0:
        return null(JSON)
    else:
        found = call("variant_extract", value, cast(number(wanted + 1), _UINTEGER), kind=VARIANT)
        is_list = equals(call("left", call("variant_typeof", bare), number(5), kind=TEXT), text("ARRAY"))
        length = call("variant_array_length", bare.copy(), kind=BIGINT)
        there = together(exp.And, [is_list, compare(exp.GT, length, number(wanted))])
    found.meta[IS_THERE] = there
    return found


_UINTEGER: Final = exp.DataType(this=exp.DType.UINT, nested=False)

_POINTED: Final = ("", "*")
"""Keys that only a pointer (RFC 6901) reaches; a pointer takes the key 0 for a place as well."""


def _extracted(types: Types, value: exp.Expr, way: Sequence[Step], called: str) -> exp.Expr:
    """A path into JSON; keys are looked up in objects only and places in arrays only."""
    if any(isinstance(each, int) and each < 0 for each in way):
        return null(JSON)
    whole = document(types, value, called)
    if all(isinstance(each, int) or (isinstance(each, str) and each not in _POINTED) for each in way):
        return call("json_extract", whole, text(_json_path(way)), kind=JSON) if way else whole
    for each in way:
        path = _computed(types, each) if isinstance(each, exp.Expr) else text(_json_path([each]))
        whole = call("json_extract", whole, path, kind=JSON)
    return whole


def _json_path(way: Sequence[Step]) -> str:
    """A path of keys and places."""
    if len(way) == 1 and way[0] in _POINTED:
        return pointer([str(way[0])])
    return "$" + "".join(f"[{each}]" if isinstance(each, int) else _quoted(str(each)) for each in way)


def _quoted(key: str) -> str:
    return '."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _computed(types: Types, node: exp.Expr) -> exp.Expr:
    """The path of a step that an expression gives."""
    if types.is_number(node):
        place = cast(cast(node, BIGINT), TEXT)
        inside = compare(exp.GTE, cast(node.copy(), BIGINT), number(0))
        path = exp.DPipe(this=exp.DPipe(this=text("$["), expression=place), expression=text("]"))
        return when(inside, typed(grouped(typed(path, TEXT)), TEXT))
    escaped = call("replace", as_text(types, node), text("~"), text("~0"), kind=TEXT)
    escaped = call("replace", escaped, text("/"), text("~1"), kind=TEXT)
    return typed(exp.paren(typed(exp.DPipe(this=text("/"), expression=escaped), TEXT)), TEXT)
