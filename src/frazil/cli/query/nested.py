"""Functions that look into VARIANTs, arrays and objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp, jsonpath
from sqlglot.errors import SqlglotError

from frazil.cli.query.paths import Step, steps, walk
from frazil.cli.query.spark import call, cast, is_null, name, text, typed, when
from frazil.cli.query.translator import Function, Translator, arity, literal
from frazil.cli.query.values import VARIANT, as_text, boxed, document, key
from frazil.errors import InvalidQuery

_STRING: Final = t.StringType()
_ELEMENT: Final = "x"

_KINDS: Final = {
    # what schema_of_variant begins with: what TYPEOF says
    "OBJECT": "OBJECT",
    "ARRAY": "ARRAY",
    "STRING": "VARCHAR",
    "BIGINT": "INTEGER",
    "BOOLEAN": "BOOLEAN",
    "DECIMAL": "DECIMAL",
    "DOUBLE": "DOUBLE",
    "FLOAT": "DOUBLE",
    "VOID": "NULL_VALUE",
    "DATE": "DATE",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "TIMESTAMP": "TIMESTAMP_LTZ",
    "BINARY": "BINARY",
}


def path_steps(function: str, written: str) -> list[Step]:
    """The steps of a path in a text, as of GET_PATH.

    Raises:
        InvalidQuery: it is no path.
    """
    try:
        return steps(jsonpath.parse(written))
    except (SqlglotError, RecursionError, InvalidQuery) as error:
        raise InvalidQuery(f"{function}: {written!r} is no path, like 'a.b[0]'") from error


def elements(x: Translator, node: exp.Expr, what: str) -> exp.Expr:
    """An array, of whatever type; NULL if a VARIANT is none."""
    if isinstance(x.types.of(node), t.ArrayType):
        return node
    kind = t.ArrayType(VARIANT)
    return call("try_variant_get", document(x.types, node, what), text("$"), text("array<variant>"), kind=kind)


def _get(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("GET", arguments, 2, 2)
    return walk(x.types, x(arguments[0]), [step(x, arguments[1])], arguments[0])


def step(x: Translator, node: exp.Expr) -> Step:
    """A step of a path as an expression says it."""
    if isinstance(node, exp.Literal) and node.is_string:
        return node.name
    if isinstance(node, exp.Literal) and node.name.isdecimal() and len(node.name) < 10:
        return int(node.name)
    return x(node)


def _get_path(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("GET_PATH", arguments, 2, 2)
    way = path_steps("GET_PATH", literal("GET_PATH", arguments[1]))
    return walk(x.types, x(arguments[0]), way, arguments[0])


def _array_size(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("ARRAY_SIZE", arguments, 1, 1)
    return call("array_size", elements(x, x(arguments[0]), "the argument of ARRAY_SIZE"), kind=t.IntegerType())


def _array_contains(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("ARRAY_CONTAINS", arguments, 2, 2)
    wanted = boxed(x.types, x(arguments[0]))
    found = elements(x, x(arguments[1]), "the second argument of ARRAY_CONTAINS")
    kind = x.types.of(found)
    assert isinstance(kind, t.ArrayType)  # noqa: S101 (elements gives nothing else)
    each = typed(exp.Column(this=name(_ELEMENT)), kind.elementType)
    is_it = exp.EQ(this=key(x.types, boxed(x.types, each)), expression=key(x.types, wanted))
    return call("exists", found, _lambda(is_it), kind=t.BooleanType())


def _array_to_string(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("ARRAY_TO_STRING", arguments, 2, 2)
    found = elements(x, x(arguments[0]), "the first argument of ARRAY_TO_STRING")
    each = exp.Column(this=name(_ELEMENT))
    texts = call("transform", found, _lambda(cast(each, _STRING)), kind=t.ArrayType(_STRING))
    return call("array_join", texts, as_text(x.types, x(arguments[1])), kind=_STRING)


def _lambda(body: exp.Expr) -> exp.Expr:
    return exp.Lambda(this=body, expressions=[name(_ELEMENT)])


def _object_keys(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("OBJECT_KEYS", arguments, 1, 1)
    value = document(x.types, x(arguments[0]), "the argument of OBJECT_KEYS")
    members = call("try_variant_get", value, text("$"), text("map<string,variant>"))
    return call("map_keys", members, kind=t.ArrayType(_STRING))


def _typeof(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("TYPEOF", arguments, 1, 1)
    schema = _schema(x, arguments[0])
    first = call("regexp_substr", schema, text("^[A-Z_]+"))
    ifs = [exp.If(this=text(spark), true=text(snowflake)) for spark, snowflake in _KINDS.items()]
    return typed(exp.Case(this=first, ifs=ifs, default=first.copy()), _STRING)


def _schema(x: Translator, node: exp.Expr) -> exp.Expr:
    return call("schema_of_variant", boxed(x.types, x(node)), kind=_STRING)


def _is(name_of_it: str, *schemas: str) -> Function:
    def is_it(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        arity(name_of_it, arguments, 1, 1)
        pattern = text(f"^({'|'.join(schemas)})([<(].*)?$")
        return typed(exp.RegexpLike(this=_schema(x, arguments[0]), expression=pattern), t.BooleanType())

    return is_it


def _strip_null_value(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("STRIP_NULL_VALUE", arguments, 1, 1)
    value = boxed(x.types, x(arguments[0]))
    return typed(when(call("is_variant_null", value), exp.null(), value.copy()), VARIANT)


def _is_null_value(x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
    arity("IS_NULL_VALUE", arguments, 1, 1)
    value = boxed(x.types, x(arguments[0]))
    found = when(is_null(value), exp.null(), call("is_variant_null", value.copy()))
    return typed(found, t.BooleanType())


FUNCTIONS: Final[dict[str, Function]] = {
    "GET": _get,
    "GET_PATH": _get_path,
    "ARRAY_SIZE": _array_size,
    "ARRAY_CONTAINS": _array_contains,
    "ARRAY_TO_STRING": _array_to_string,
    "OBJECT_KEYS": _object_keys,
    "TYPEOF": _typeof,
    "IS_NULL_VALUE": _is_null_value,
    "IS_ARRAY": _is("IS_ARRAY", "ARRAY"),
    "IS_OBJECT": _is("IS_OBJECT", "OBJECT"),
    "IS_VARCHAR": _is("IS_VARCHAR", "STRING"),
    "IS_CHAR": _is("IS_CHAR", "STRING"),
    "IS_BOOLEAN": _is("IS_BOOLEAN", "BOOLEAN"),
    "IS_INTEGER": _is("IS_INTEGER", "BIGINT"),
    "IS_DECIMAL": _is("IS_DECIMAL", "BIGINT", "DECIMAL"),
    "IS_DOUBLE": _is("IS_DOUBLE", "BIGINT", "DECIMAL", "DOUBLE"),
    "STRIP_NULL_VALUE": _strip_null_value,
}
