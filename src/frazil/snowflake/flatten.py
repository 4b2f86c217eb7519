"""FLATTEN: a row for each element of an array or member of an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import (
    call,
    cast,
    choice,
    column,
    equals,
    json_text,
    name,
    not_null,
    null,
    number,
    text,
    typed,
    when,
)
from frazil.snowflake.kinds import BIGINT, BOOLEAN, JSON, TEXT, UBIGINT, element, fields, list_of
from frazil.snowflake.kinds import shown as kind_shown
from frazil.snowflake.paths import Step, walk, written_steps
from frazil.snowflake.places import Refused
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import Field, Source
from frazil.snowflake.translator import Translator
from frazil.snowflake.typed import Types
from frazil.snowflake.values import boxed, document

_PARAMETERS: Final = ("INPUT", "PATH", "OUTER", "RECURSIVE", "MODE")
_MODES: Final = {"ARRAY": ("ARRAY",), "OBJECT": ("OBJECT",), "BOTH": ("ARRAY", "OBJECT")}
_ENTRY: Final = "e"


@dataclass(frozen=True, slots=True)
class Flattened:
    """A FLATTEN as a relation."""

    query: exp.Expr
    """A SELECT over the relations before it."""

    source: Source
    outer: bool
    """Whether a row stays that has nothing to flatten."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows come from, and what of them is which."""

    query: exp.Expr
    """With the columns k (of an object), i (of an array), v and, if it is recursive, p and t."""

    value: exp.DataType


def flattened(x: Translator, node: exp.Explode, place: str, called: str, left: Sequence[Source]) -> Flattened:
    """What a FLATTEN becomes.

    Args:
        x: translates expressions over the relations before it.
        node: the FLATTEN.
        place: our name for it.
        called: the query's name for it.
        left: the relations before it.

    Raises:
        Refused: a parameter has no such value, or the input has nothing inside.
    """
    given = _parameters(node)
    mode = _text(given, "MODE", "BOTH").upper()
    if mode not in _MODES:
        raise Refused(f"FLATTEN: mode is 'ARRAY', 'OBJECT' or 'BOTH', not {mode[:40]!r}", given["MODE"])
    written = _text(given, "PATH", "")
    way = written_steps("FLATTEN", written, given["PATH"]) if written else []
    start = x(given["INPUT"])
    whole = walk(x.types, start, way, shown(given["INPUT"]))
    if not way and not (x.types.is_nested(whole) or x.types.is_variant(whole) or x.types.is_text(whole)):
        raise Refused(
            f"the input of FLATTEN is a {kind_shown(x.types.of(whole))}: it has nothing inside", given["INPUT"]
        )
    recursive = _truth(given, "RECURSIVE")
    rows = _rows(x.types, whole, _MODES[mode], recursive=recursive)
    source = _source(place, called, whole, way, left, rows.value, recursive=recursive)
    return Flattened(rows.query, source, _truth(given, "OUTER"))


def _rows(types: Types, whole: exp.Expr, modes: Sequence[str], *, recursive: bool) -> _Rows:
    if recursive:
        return _tree(types, whole, modes)
    if types.kind(whole) == exp.DType.ARRAY:
        return _elements(types, whole, wanted="ARRAY" in modes)
    if types.kind(whole) == exp.DType.MAP:
        return _entries(types, whole, wanted="OBJECT" in modes)
    if types.kind(whole) == exp.DType.STRUCT:
        return _members(types, whole, wanted="OBJECT" in modes)
    return _inside(document(types, whole, "the input of FLATTEN"), modes)


def _inside(whole: exp.Expr, modes: Sequence[str]) -> _Rows:
    """The rows of a document."""
    is_array = equals(_type(whole), text("ARRAY"))
    wanted = typed(exp.In(this=_type(whole), expressions=[text(mode) for mode in modes]), BOOLEAN)
    key, value = column(_ENTRY, "key", TEXT), column(_ENTRY, "value", JSON)
    columns = [
        when(is_array, null(TEXT), key).as_("k", quoted=True),
        when(is_array.copy(), cast(key.copy(), BIGINT, safe=True)).as_("i", quoted=True),
        value.as_("v", quoted=True),
    ]
    return _Rows(_from_function(columns, call("json_each", when(wanted, whole.copy()))), JSON)


def _tree(types: Types, whole: exp.Expr, modes: Sequence[str]) -> _Rows:
    """The rows of a document, and of all within it."""
    if types.is_nested(whole):
        whole = boxed(types, whole)
    whole = document(types, whole, "the input of FLATTEN")
    full, path = column(_ENTRY, "fullkey", TEXT), column(_ENTRY, "path", TEXT)
    value = column(_ENTRY, "value", JSON)
    parent = call("json_extract", whole.copy(), path, kind=JSON)
    key = column(_ENTRY, "key", TEXT)
    is_array = equals(_type(parent), text("ARRAY"))
    columns = [
        when(is_array, null(TEXT), key).as_("k", quoted=True),
        when(is_array.copy(), cast(key.copy(), BIGINT, safe=True)).as_("i", quoted=True),
        value.as_("v", quoted=True),
        full.as_("p", quoted=True),
        parent.copy().as_("t", quoted=True),
    ]
    query = _from_function(columns, call("json_tree", whole.copy()))
    kept = [not_null(key.copy())]
    if len(modes) == 1:
        kept.append(equals(_type(parent.copy()), text(modes[0])))
    query.set("where", exp.Where(this=exp.and_(*kept, copy=False)))
    return _Rows(query, JSON)


def _elements(types: Types, whole: exp.Expr, *, wanted: bool) -> _Rows:
    kind = element(types.of(whole))
    places = call("generate_series", number(0), exp.Sub(this=call("len", whole.copy()), expression=number(1)))
    columns = [
        null(TEXT).as_("k", quoted=True),
        call("unnest", places).as_("i", quoted=True),
        call("unnest", whole.copy()).as_("v", quoted=True),
    ]
    return _Rows(_selected(columns, wanted=wanted), kind)


def _entries(types: Types, whole: exp.Expr, *, wanted: bool) -> _Rows:
    _, kind = types.of(whole).expressions
    columns = [
        cast(call("unnest", call("map_keys", whole.copy())), TEXT).as_("k", quoted=True),
        null(BIGINT).as_("i", quoted=True),
        call("unnest", call("map_values", whole.copy())).as_("v", quoted=True),
    ]
    return _Rows(_selected(columns, wanted=wanted), kind)


def _members(types: Types, whole: exp.Expr, *, wanted: bool) -> _Rows:
    names, values = [], []
    for called, kind in fields(types.of(whole)):
        names.append(text(called))
        inner = boxed(types, call("struct_extract", whole.copy(), text(called), kind=kind))
        values.append(call("coalesce", inner, json_text(text("null")), kind=JSON))
    there = not_null(whole.copy())
    of_names = when(there, typed(call("list_value", *names), list_of(TEXT)))
    of_values = when(there.copy(), typed(call("list_value", *values), list_of(JSON)))
    columns = [
        call("unnest", of_names).as_("k", quoted=True),
        null(BIGINT).as_("i", quoted=True),
        call("unnest", of_values).as_("v", quoted=True),
    ]
    return _Rows(_selected(columns, wanted=wanted and bool(names)), JSON)


def _selected(columns: list[exp.Expr], *, wanted: bool) -> exp.Select:
    found = exp.Select(expressions=columns)
    if wanted:
        return found
    inner = exp.Subquery(this=found, alias=exp.TableAlias(this=name(_ENTRY)))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), where=exp.Where(this=exp.false()))


def _from_function(columns: list[exp.Expr], function: exp.Expr) -> exp.Select:
    relation = exp.Table(this=function, alias=exp.TableAlias(this=name(_ENTRY)))
    return exp.Select(expressions=columns, from_=exp.From(this=relation))


def _type(node: exp.Expr) -> exp.Expr:
    return call("json_type", node.copy(), kind=TEXT)


def _source(
    place: str, called: str, whole: exp.Expr, way: list[Step], left: Sequence[Source], value: exp.DataType, *,
    recursive: bool,
) -> Source:  # fmt: skip
    index, member = column(place, "i", BIGINT), column(place, "k", TEXT)
    there = column(place, "v", value)
    path = _tree_path(column(place, "p", TEXT), way) if recursive else _path(index, member, way)
    this = column(place, "t", JSON) if recursive else whole.copy()
    fields_ = [
        Field("SEQ", _sequence(left), UBIGINT),
        Field("KEY", member, TEXT),
        Field("PATH", path, TEXT),
        Field("INDEX", index, BIGINT),
        Field("VALUE", there, value),
        Field("THIS", this, this.type or JSON),
    ]
    own: list[exp.Expr] = [column(place, "p", TEXT)] if recursive else [index.copy(), member.copy()]
    return Source(called, "", fields_, identity=own)


def _sequence(left: Sequence[Source]) -> exp.Expr:
    """A number of its own for each row that was flattened."""
    parts = [part.copy() for source in left for part in source.identity]
    if len(parts) == 1:
        return cast(parts[0], UBIGINT)
    return call("hash", *parts, kind=UBIGINT) if parts else cast(number(1), UBIGINT)


def _path(index: exp.Expr, member: exp.Expr, way: list[Step]) -> exp.Expr:
    prefix = _prefix(way)
    element_ = call("concat", text(f"{prefix}["), cast(index.copy(), TEXT), text("]"), kind=TEXT)
    plain = call("regexp_full_match", member.copy(), text("[A-Za-z_][A-Za-z0-9_]*"), kind=BOOLEAN)
    named = call("concat", text(f"{prefix}." if prefix else ""), member.copy(), kind=TEXT)
    quoted = call("concat", text(f"{prefix}['"), member.copy(), text("']"), kind=TEXT)
    return choice([(plain, named), (not_null(member.copy()), quoted), (not_null(index.copy()), element_)])


def _prefix(way: list[Step]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in way).removeprefix(".")


def _tree_path(full: exp.Expr, way: list[Step]) -> exp.Expr:
    """DuckDB's path from `$`, as Snowflake writes it."""
    odd = call("regexp_replace", full, text(r'\."((?:[^"\\]|\\.)*)"'), text(r"['\1']"), text("g"), kind=TEXT)
    bare = call("substr", odd, number(2), kind=TEXT)
    prefix = _prefix(way)
    if prefix:
        return call("concat", text(prefix), bare, kind=TEXT)
    return call("ltrim", bare, text("."), kind=TEXT)


def _parameters(node: exp.Explode) -> dict[str, exp.Expr]:
    given: dict[str, exp.Expr] = {}
    for argument in (node.this, *node.expressions):
        if argument is None:
            continue
        if isinstance(argument, exp.Kwarg):
            parameter, value = argument.this.name.upper(), argument.expression
        else:
            parameter, value = "INPUT", argument
        if parameter not in _PARAMETERS or parameter in given:
            reason = f"FLATTEN takes {', '.join(_PARAMETERS)}, each once; {shown(argument)} is none of them"
            raise Refused(reason, argument)
        given[parameter] = value
    if "INPUT" not in given:
        raise Refused("FLATTEN needs something to flatten: input => column", node)
    return given


def _truth(given: dict[str, exp.Expr], parameter: str) -> bool:
    value = given.get(parameter)
    if value is None or isinstance(value, exp.Boolean):
        return bool(value and value.this)
    raise Refused(f"FLATTEN: {parameter.lower()} is true or false, not {shown(value)}", value)


def _text(given: dict[str, exp.Expr], parameter: str, default: str) -> str:
    value = given.get(parameter)
    if value is None:
        return default
    if isinstance(value, exp.Literal) and value.is_string:
        return value.name
    raise Refused(f"FLATTEN: {parameter.lower()} is a text in quotes, not {shown(value)}", value)
