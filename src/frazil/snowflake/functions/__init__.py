"""Functions by Snowflake's names: which there are, and what each means in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from sqlglot import exp

from frazil.snowflake.functions import (
    aggregates,
    arrays,
    conditions,
    dates,
    documents,
    moments,
    numbers,
    objects,
    regexps,
    texts,
)
from frazil.snowflake.functions.meanings import Function
from frazil.snowflake.places import Refused
from frazil.snowflake.typed import Types

Override: TypeAlias = Callable[[exp.Expr, Types], exp.Expr]
"""Writes a function in DuckDB SQL; its arguments are written already, each with its type."""


def _named(name: str, function: Function) -> Override:
    def named(node: exp.Expr, types: Types) -> exp.Expr:
        if isinstance(node, exp.WithinGroup):
            raise Refused(f"{name} takes no WITHIN GROUP")
        return function(types, node.expressions)

    return named


def _ordered(function: aggregates.Aggregate) -> Override:
    def ordered(node: exp.Expr, types: Types) -> exp.Expr:
        if isinstance(node, exp.WithinGroup):
            return function(types, node.this.expressions, node.expression)
        return function(types, node.expressions, None)

    return ordered


def _of_position(node: exp.Expr, types: Types) -> exp.Expr:
    start = node.args.get("position")
    return texts.FUNCTIONS["POSITION"](types, [node.args["substr"], node.this, *([start] if start else [])])


def _read(function: Function, *parts: str) -> Override:
    """A function that sqlglot reads, by the parts which are its arguments."""
    return lambda node, types: function(types, [node.args[part] for part in parts if node.args.get(part)])


_BY_NAME: Final[dict[str, Function]] = {
    **texts.FUNCTIONS,
    **regexps.FUNCTIONS,
    **numbers.FUNCTIONS,
    **conditions.FUNCTIONS,
    **moments.FUNCTIONS,
    **dates.FUNCTIONS,
    **documents.FUNCTIONS,
    **arrays.FUNCTIONS,
    **objects.FUNCTIONS,
    **aggregates.FUNCTIONS,
}
_SYNTAX: Final = ("POSITION", "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP")
"""Functions with a syntax of their own, which sqlglot reads."""

_TO_BOOLEAN: Final = {False: "TO_BOOLEAN", True: "TRY_TO_BOOLEAN"}
"""What sqlglot makes of a cast to BOOLEAN as well."""

NAMED: Final[Mapping[str, Override]] = {
    **{name: _named(name, function) for name, function in _BY_NAME.items() if name not in _SYNTAX},
    **{name: _ordered(function) for name, function in aggregates.ORDERED.items()},
}
"""By Snowflake's name, in upper case: the reader leaves these as a name and arguments."""

OVERRIDES: Final[Mapping[type[exp.Expr], Override]] = {
    exp.StrPosition: _of_position,
    exp.Extract: lambda node, types: moments.part_of("EXTRACT", types, node.this, node.expression),
    exp.CurrentDate: _read(moments.today),
    exp.CurrentTimestamp: _read(moments.now),
    exp.CurrentTime: _read(moments.time_now),
    exp.Localtime: _read(moments.time_now),
    exp.Localtimestamp: _read(moments.now),
    exp.RegexpLike: _read(lambda types, arguments: regexps.matches("REGEXP", types, arguments), "this", "expression"),
    exp.Array: documents.written_array,
    exp.Struct: documents.written_object,
    **dict.fromkeys((exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue), aggregates.of_rows),
    exp.ToBoolean: lambda node, types: numbers.FUNCTIONS[_TO_BOOLEAN[bool(node.args.get("safe"))]](types, [node.this]),
}
"""By sqlglot's kind of node."""

CLASSES: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.StrPosition: frozenset({"this", "substr", "position", "clamp_position"}),
    exp.Extract: frozenset({"this", "expression"}),
    exp.RegexpLike: frozenset({"this", "expression", "full_match"}),
    exp.Array: frozenset({"expressions", "bracket_notation"}),
    exp.Struct: frozenset({"expressions"}),
    **dict.fromkeys((exp.FirstValue, exp.LastValue), frozenset({"this"})),
    exp.NthValue: frozenset({"this", "offset"}),
    **dict.fromkeys((exp.Lag, exp.Lead), frozenset({"this", "offset", "default"})),
    exp.ToBoolean: frozenset({"this", "safe"}),
    **dict.fromkeys(
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Localtime, exp.Localtimestamp), frozenset({"this"})
    ),
}
"""The kinds of nodes of functions that may be in a query, and the parts each may have."""

WORDS: Final[Mapping[str, frozenset[int]]] = moments.WORDS
"""Of functions in NAMED: the places of arguments that are words, like the unit of DATEADD."""

VOLATILE: Final[frozenset[str]] = frozenset({"RANDOM", "UUID_STRING"})
"""The names of functions without arguments that give another value for each row: they draw DuckDB's `uuid()`."""

KNOWN: Final[frozenset[str]] = frozenset(
    {*NAMED, *_SYNTAX, "EXTRACT", "LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}
)
"""The names of all functions there are, in upper case."""
