"""FLATTEN: a row for each element of an array or member of an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.expressions import Expressions
from frazil.cli.query.nested import path_steps
from frazil.cli.query.paths import Step, walk
from frazil.cli.query.scope import Field, Source
from frazil.cli.query.spark import call, cast, column, is_null, not_null, number, text, typed, when
from frazil.cli.query.values import VARIANT, document
from frazil.errors import InvalidQuery

_PARAMETERS: Final = ("INPUT", "PATH", "OUTER", "RECURSIVE", "MODE")
_MODES: Final = {"ARRAY": "ARRAY%", "OBJECT": "OBJECT%", "BOTH": None}
_STRING: Final = t.StringType()


@dataclass(frozen=True, slots=True)
class Flattened:
    """A FLATTEN as a relation."""

    call: exp.Expr
    """The table function in Spark SQL."""

    source: Source


def flattened(
    x: Expressions, node: exp.Explode, place: str, called: str, left: Sequence[Source], *, outer: bool
) -> Flattened:
    """What a FLATTEN becomes.

    Args:
        x: translates expressions over the relations before it.
        node: the FLATTEN.
        place: our name for it.
        called: the query's name for it.
        left: the relations before it.
        outer: it stands after LEFT JOIN.

    Raises:
        InvalidQuery: a parameter has no such value, or the input has nothing inside.
    """
    given = _parameters(node)
    outer = outer or _truth(given, "OUTER")
    if _truth(given, "RECURSIVE"):
        raise InvalidQuery("FLATTEN: recursive => true is not supported; flatten level by level, one after the other")
    mode = _text(given, "MODE", "BOTH").upper()
    if mode not in _MODES:
        raise InvalidQuery(f"FLATTEN: mode is 'ARRAY', 'OBJECT' or 'BOTH', not {mode!r}")
    written = _text(given, "PATH", "")
    way = path_steps("FLATTEN", written) if written else []
    whole = document(x.types, walk(x.types, x(given["INPUT"]), way, given["INPUT"]), "the input of FLATTEN")
    pattern = _MODES[mode]
    kind = exp.Like(this=call("schema_of_variant", whole.copy()), expression=text(pattern)) if pattern else None
    exploded = when(kind, whole.copy()) if kind else whole.copy()
    function = "variant_explode_outer" if outer else "variant_explode"
    return Flattened(call(function, exploded), _source(place, called, whole, way, left))


def _source(place: str, called: str, whole: exp.Expr, way: list[Step], left: Sequence[Source]) -> Source:
    position, member = column(place, "pos", t.IntegerType()), column(place, "key", _STRING)
    index = when(is_null(member), position)
    fields = [
        Field("SEQ", _sequence(left), t.LongType()),
        Field("KEY", member, _STRING),
        Field("PATH", _path(position, member, way), _STRING),
        Field("INDEX", typed(index, t.IntegerType()), t.IntegerType()),
        Field("VALUE", column(place, "value", VARIANT), VARIANT),
        Field("THIS", whole, VARIANT),
    ]
    return Source(called, "", fields, identity=[position.copy(), member.copy()])


def _sequence(left: Sequence[Source]) -> exp.Expr:
    """A number of its own for each row that was flattened."""
    parts = [part.copy() for source in left for part in source.identity]
    if len(parts) > 1:
        return call("xxhash64", *parts, kind=t.LongType())
    return cast(parts[0] if parts else number(1), t.LongType())


def _path(position: exp.Expr, member: exp.Expr, way: list[Step]) -> exp.Expr:
    prefix = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in way).removeprefix(".")
    element = call("concat", text(f"{prefix}["), cast(position.copy(), _STRING), text("]"))
    plain = exp.RegexpLike(this=member.copy(), expression=text(r"^[A-Za-z_]\w*\z"))
    named = call("concat", text(f"{prefix}." if prefix else ""), member.copy())
    quoted = call("concat", text(f"{prefix}['"), member.copy(), text("']"))
    ifs = [exp.If(this=plain, true=named), exp.If(this=not_null(member.copy()), true=quoted)]
    ifs.append(exp.If(this=not_null(position.copy()), true=element))
    return typed(exp.Case(ifs=ifs), _STRING)


def _parameters(node: exp.Explode) -> dict[str, exp.Expr]:
    given: dict[str, exp.Expr] = {}
    for each in (node.this, *node.expressions):
        if isinstance(each, exp.Kwarg):
            parameter, value = each.this.name.upper(), each.expression
        else:
            parameter, value = "INPUT", each
        if parameter not in _PARAMETERS or parameter in given:
            raise InvalidQuery(f"FLATTEN takes {', '.join(_PARAMETERS)}, each once; {shown(each)} is none of them")
        given[parameter] = value
    if "INPUT" not in given:
        raise InvalidQuery("FLATTEN needs something to flatten: input => column")
    return given


def _truth(given: dict[str, exp.Expr], parameter: str) -> bool:
    value = given.get(parameter)
    if value is None or isinstance(value, exp.Boolean):
        return bool(value and value.this)
    raise InvalidQuery(f"FLATTEN: {parameter.lower()} is true or false, not {shown(value)}")


def _text(given: dict[str, exp.Expr], parameter: str, default: str) -> str:
    value = given.get(parameter)
    if value is None:
        return default
    if isinstance(value, exp.Literal) and value.is_string:
        return value.name
    raise InvalidQuery(f"FLATTEN: {parameter.lower()} is a text in quotes, not {shown(value)}")
