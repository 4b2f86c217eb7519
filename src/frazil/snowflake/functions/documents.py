"""VARIANTs, arrays and objects made of other values: as texts, so that no number is rounded on its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, text
from frazil.snowflake.casts import as_array, as_object
from frazil.snowflake.functions.meanings import Function, arity
from frazil.snowflake.json_text import parsed, problem
from frazil.snowflake.kinds import JSON, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed


def _parse_json(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("PARSE_JSON", arguments, 1, 1)
    return parsed(as_text(types, arguments[0]), safe=False)


def _try_parse_json(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TRY_PARSE_JSON", arguments, 1, 1)
    return parsed(as_text(types, arguments[0]), safe=True)


def _check_json(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("CHECK_JSON", arguments, 1, 1)
    return problem(as_text(types, arguments[0]))


def _to_json(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TO_JSON", arguments, 1, 1)
    return cast(boxed(types, arguments[0]), TEXT)


def _to_variant(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TO_VARIANT", arguments, 1, 1)
    return boxed(types, arguments[0])


def _to_array(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TO_ARRAY", arguments, 1, 1)
    return as_array(types, arguments[0])


def _to_object(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    arity("TO_OBJECT", arguments, 1, 1)
    return as_object(types, arguments[0])


def array_of(items: Sequence[exp.Expr]) -> exp.Expr:
    """An array of documents."""
    if not items:
        return cast(text("[]"), JSON)
    texts = [template("coalesce(CAST(a AS VARCHAR), 'null')", [each], TEXT) for each in items]
    return from_texts(call("list_value", *texts))


def from_texts(texts: exp.Expr) -> exp.Expr:
    """An array of a list of JSON texts; without NULLs among them."""
    return template("CAST('[' || array_to_string(a, ',') || ']' AS JSON)", [texts], JSON)


def from_list(items: exp.Expr) -> exp.Expr:
    """An array of a list of documents; a NULL among them is null."""
    texts = "list_transform(a, lambda x: coalesce(CAST(x AS VARCHAR), 'null'))"
    return template(f"CAST('[' || array_to_string({texts}, ',') || ']' AS JSON)", [items], JSON)


def from_members(members: exp.Expr) -> exp.Expr:
    """An object of a list of structs of a key k and a document v, of which none is NULL; in the order of keys."""
    pieces = "list_transform(list_sort(a), lambda x: CAST(to_json(x.k) AS VARCHAR) || ':' || CAST(x.v AS VARCHAR))"
    return template("CAST('{' || array_to_string(" + pieces + ", ',') || '}' AS JSON)", [members], JSON)


def object_of(members: Sequence[tuple[exp.Expr, exp.Expr]], *, keep_nulls: bool) -> exp.Expr:
    """An object of texts and documents; members without a value are left out, unless they are kept.

    Raises:
        Refused: a key is there twice.
    """
    keys = [key.name for key, _ in members if isinstance(key, exp.Literal)]
    if twice := [each for each in keys if keys.count(each) > 1]:
        raise Refused(f"the key {twice[0][:40]!r} is there twice in an object")
    if not members:
        return cast(text("{}"), JSON)
    shown = "coalesce(CAST(b AS VARCHAR), 'null')" if keep_nulls else "CAST(b AS VARCHAR)"
    member = "CASE WHEN a IS NOT NULL THEN {'k': a, 'v': " + shown + "} END"
    if len(keys) == len(members):
        member = f"CAST(to_json(a) AS VARCHAR) || ':' || {shown}"
        ordered = sorted(members, key=lambda pair: pair[0].name.encode("utf-8"))
        pieces = [template(member, [key, value], TEXT) for key, value in ordered]
        return template("CAST('{' || array_to_string(a, ',') || '}' AS JSON)", [call("list_value", *pieces)], JSON)
    structs = [template(member, [key, value]) for key, value in members]
    given = call("list_value", *structs)
    return from_members(template("list_filter(a, lambda x: x.v IS NOT NULL)", [given]))


def _array_construct(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    return array_of([boxed(types, each) for each in arguments])


def _array_construct_compact(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    items = [boxed(types, each) for each in arguments]
    if not items:
        return array_of([])
    return from_texts(call("list_value", *(cast(each, TEXT) for each in items)))


def _object(name: str, *, keep_nulls: bool) -> Function:
    def construct(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        if any(isinstance(each, exp.Star) for each in arguments):
            raise Refused(f"{name}(*) is not supported; name the columns")
        if len(arguments) % 2:
            raise Refused(f"{name} takes keys and values in turn, not {len(arguments)} arguments")
        keys = [as_text(types, each) for each in arguments[::2]]
        values = [boxed(types, each) for each in arguments[1::2]]
        return object_of(list(zip(keys, values, strict=True)), keep_nulls=keep_nulls)

    return construct


def written_object(node: exp.Expr, types: Types) -> exp.Expr:
    """`{'a': 1}`."""
    members = []
    for each in node.expressions:
        if not isinstance(each, exp.PropertyEQ):
            raise Refused("an object is written as {'key': value}", node)
        members.append((text(each.this.name), boxed(types, each.expression)))
    return object_of(members, keep_nulls=False)


def written_array(node: exp.Expr, types: Types) -> exp.Expr:
    """`[1, 2]`."""
    return array_of([boxed(types, each) for each in node.expressions])


FUNCTIONS: Final[dict[str, Function]] = {
    "PARSE_JSON": _parse_json,
    "TRY_PARSE_JSON": _try_parse_json,
    "CHECK_JSON": _check_json,
    "TO_JSON": _to_json,
    "TO_VARIANT": _to_variant,
    "TO_ARRAY": _to_array,
    "TO_OBJECT": _to_object,
    "ARRAY_CONSTRUCT": _array_construct,
    "ARRAY_CONSTRUCT_COMPACT": _array_construct_compact,
    "OBJECT_CONSTRUCT": _object("OBJECT_CONSTRUCT", keep_nulls=False),
    "OBJECT_CONSTRUCT_KEEP_NULL": _object("OBJECT_CONSTRUCT_KEEP_NULL", keep_nulls=True),
}
"""What each becomes."""
