"""Documents: what Snowflake calls VARIANT, OBJECT and ARRAY, as JSON."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, cast, equals, json_text, null, text, typed, when
from frazil.snowflake.json_text import shallow
from frazil.snowflake.kinds import BOOLEAN, FLOATS, INTEGERS, JSON, TEXT, shown
from frazil.snowflake.places import Refused
from frazil.snowflake.typed import Types

IS_THERE: Final = "frazil_is_there"
"""What a path into a VARIANT column has in its `meta`: SQL that tells a null from nothing."""

WHOLE: Final = "frazil_whole"
"""What a document has in its `meta` that GROUP BY leaves: it is seen as it is grouped by, and no other way."""


def is_there(node: exp.Expr) -> exp.Expr | None:
    """Whether a path into a VARIANT column leads somewhere; None if the node is no such path."""
    found = node.unnest().meta.get(IS_THERE)
    return found.copy() if isinstance(found, exp.Expr) else None


def document(types: Types, node: exp.Expr, what: str) -> exp.Expr:
    """A nested value or JSON text as JSON; text that is not valid JSON is NULL.

    Raises:
        Refused: the value has another type; `what` says where.
    """
    if types.is_text(node):
        return cast(shallow(node), JSON, safe=True)
    if types.is_variant(node) or types.is_nested(node) or types.is_null(node):
        return boxed(types, node)
    raise Refused(f"{what} is a {shown(types.of(node))}: it has nothing inside", node)


def boxed(types: Types, node: exp.Expr) -> exp.Expr:
    """Any value as JSON, exactly; a text is a text in it, NULL stays NULL."""
    kind = types.kind(node)
    if kind == exp.DType.JSON:
        return node
    if kind == exp.DType.NULL:
        return null(JSON)
    if kind == exp.DType.VARIANT:
        there = is_there(node)
        whole = cast(node, JSON)
        return when(there, call("coalesce", whole, json_text(text("null")), kind=JSON)) if there else whole
    if kind in INTEGERS or kind in FLOATS or kind == exp.DType.DECIMAL:
        return cast(cast(node, TEXT), JSON)
    if kind == exp.DType.VARBINARY:
        return call("to_json", call("hex", node, kind=TEXT), kind=JSON)
    if kind == exp.DType.INTERVAL:
        raise Refused("an INTERVAL cannot be a VARIANT", node)
    # DuckDB makes a list of a MAP in a VARIANT; to_json, which does not, rounds no number either.
    return call("to_json", node, kind=JSON)


def as_text(types: Types, node: exp.Expr) -> exp.Expr:
    """Any value as the text that Snowflake shows for it; texts bare."""
    kind = types.kind(node)
    if kind == exp.DType.TEXT:
        return node
    if kind == exp.DType.JSON:
        return _document_text(node)
    if kind == exp.DType.VARIANT:
        inside = call("left", call("variant_typeof", node.copy(), kind=TEXT), exp.Literal.number(5), kind=TEXT)
        nested = typed(exp.In(this=inside, expressions=[text("OBJEC"), text("ARRAY")]), BOOLEAN)
        return when(nested, cast(cast(node, JSON), TEXT), cast(node.copy(), TEXT))
    if types.is_nested(node):
        return cast(call("to_json", node, kind=JSON), TEXT)
    if kind == exp.DType.VARBINARY:
        return call("hex", node, kind=TEXT)
    return cast(node, TEXT)


def _document_text(node: exp.Expr) -> exp.Expr:
    bare = node.unnest()
    if isinstance(bare, exp.Anonymous) and bare.this == "json_extract" and WHOLE not in bare.meta:
        return call("json_extract_string", *(each.copy() for each in bare.expressions), kind=TEXT)
    # A number that was no text of JSON's before keeps all its digits.
    is_text = equals(call("json_type", node.copy(), kind=TEXT), text("VARCHAR"))
    bare_text = call("json_extract_string", node.copy(), text("$"), kind=TEXT)
    return when(is_text, bare_text, call("nullif", cast(node, TEXT), text("null"), kind=TEXT))
