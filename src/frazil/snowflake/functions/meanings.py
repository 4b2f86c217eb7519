"""Functions by templates of DuckDB's SQL: most of Snowflake's are one expression of DuckDB's over their arguments.

A table has a line for each name and number of arguments: `NAME(ways) = template`, where each letter of `ways` says how
an argument is read and the template calls the arguments a, b, c and so on. A line without a template is the function
of the same name; names with the same meaning are separated by `|`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from sqlglot import exp

from frazil.snowflake import values
from frazil.snowflake.building import call, cast, text, typed, when
from frazil.snowflake.casts import to_type
from frazil.snowflake.kinds import BIGINT, BOOLEAN, DOUBLE, JSON, TEXT, TIME, TIMESTAMP, list_of
from frazil.snowflake.moments import moment
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import LETTERS, template
from frazil.snowflake.typed import Types

Function: TypeAlias = Callable[[Types, list[exp.Expr]], exp.Expr]
"""What a function becomes: from its arguments, which are DuckDB's already, to DuckDB's expression."""

Way: TypeAlias = Callable[[Types, exp.Expr], exp.Expr]

_LINE: Final = re.compile(r"(?P<names>[A-Z0-9_|]+)\((?P<ways>[a-z]*)\)(?: = (?P<template>.+))?")


def as_integer(types: Types, node: exp.Expr) -> exp.Expr:
    """A whole number; others are rounded."""
    return node if types.is_integer(node) else to_type(types, node, BIGINT)


def as_exact(types: Types, node: exp.Expr) -> exp.Expr:
    """A number; texts and VARIANTs as DOUBLE."""
    if types.is_boolean(node):
        return cast(node, BIGINT)
    return values.as_number(types, node)


def as_double(types: Types, node: exp.Expr) -> exp.Expr:
    """A DOUBLE."""
    return to_type(types, node, DOUBLE)


def as_condition(types: Types, node: exp.Expr) -> exp.Expr:
    """A BOOLEAN; numbers are true unless they are zero."""
    return node if types.is_boolean(node) else to_type(types, node, BOOLEAN)


def as_moment(types: Types, node: exp.Expr) -> exp.Expr:
    """A date, time or timestamp; anything else as a TIMESTAMP."""
    if types.is_moment(node) or types.of(node) == TIME:
        return node
    return moment(types, node, TIMESTAMP)


def as_list(types: Types, node: exp.Expr) -> exp.Expr:
    """The elements of an array as a list of JSON; NULL if it is none."""
    whole = values.document(types, node, "this argument")
    is_list = exp.EQ(this=call("json_type", whole.copy(), kind=TEXT), expression=text("ARRAY"))
    return when(typed(is_list, BOOLEAN), cast(whole, list_of(JSON)))


def _document(types: Types, node: exp.Expr) -> exp.Expr:
    return values.document(types, node, "this argument")


def _any(_: Types, node: exp.Expr) -> exp.Expr:
    return node


def rank(types: Types, node: exp.Expr) -> exp.Expr:
    """What the largest and the smallest are found by: of VARIANTs, a number is more than a text."""
    if not types.is_variant(node):
        return node
    number = "struct_extract(a, 'n')"
    ranked = f"{{'is_number': {number} IS NOT NULL, 'n': {number}, 't': struct_extract(a, 't')}}"
    return template(f"CASE WHEN a IS NOT NULL THEN {ranked} END", [values.key(types, node)])


_WAYS: Final[dict[str, Way]] = {
    "t": values.as_text,
    "n": as_exact,
    "d": as_double,
    "i": as_integer,
    "b": as_condition,
    "m": as_moment,
    "j": values.boxed,
    "o": _document,
    "l": as_list,
    "k": values.key,
    "a": _any,
}
"""How an argument is read: as a text, number, DOUBLE, whole number, condition, moment, VARIANT, document (JSON text
is read), list, what to compare it by, or as it is."""


def table(kind: exp.DataType | None, lines: str) -> dict[str, Function]:
    """The functions of a table, whose results are of that type; without one DuckDB says it."""
    overloads: dict[str, dict[int, tuple[str, str]]] = {}
    for line in filter(None, (each.strip() for each in lines.splitlines())):
        found = _LINE.fullmatch(line)
        assert found, line  # noqa: S101 (tables are ours)
        ways = found["ways"]
        for name in found["names"].split("|"):
            same = f"{name.lower()}({', '.join(LETTERS[: len(ways)])})"
            overloads.setdefault(name, {})[len(ways)] = (ways, found["template"] or same)
    return {name: _overloaded(name, ways, kind) for name, ways in overloads.items()}


def _overloaded(name: str, overloads: Mapping[int, tuple[str, str]], kind: exp.DataType | None) -> Function:
    def found(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
        if len(arguments) not in overloads:
            raise Refused(f"{name} takes {_counts(sorted(overloads))}, not {len(arguments)}")
        ways, written = overloads[len(arguments)]
        return template(written, read(types, ways, arguments), kind)

    return found


def read(types: Types, ways: str, arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The arguments, each read in its way; the last way is that of all that follow."""
    return [_WAYS[ways[min(n, len(ways) - 1)]](types, node) for n, node in enumerate(arguments)]


def arity(name: str, arguments: Sequence[exp.Expr], least: int, most: int | None = None) -> None:
    """Check the number of arguments.

    Raises:
        Refused: it is another one.
    """
    if len(arguments) < least or (most is not None and len(arguments) > most):
        allowed = f"at least {_plural(least)}" if most is None else _counts(range(least, most + 1))
        raise Refused(f"{name} takes {allowed}, not {len(arguments)}")


def literal(name: str, node: exp.Expr, what: str = "this argument") -> str:
    """A text that is written in the query.

    Raises:
        Refused: it is computed.
    """
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise Refused(f"{name}: {what} must be a text in the query", node)
    return str(node.this)


def whole(name: str, node: exp.Expr, what: str = "this argument") -> int:
    """A whole number that is written in the query.

    Raises:
        Refused: it is computed, or something else.
    """
    bare = node.unnest()
    sign = -1 if isinstance(bare, exp.Neg) else 1
    found = bare.this.unnest() if isinstance(bare, exp.Neg) else bare
    if not (isinstance(found, exp.Literal) and not found.is_string and found.name.isdecimal() and len(found.name) < 19):
        raise Refused(f"{name}: {what} must be a whole number in the query", node)
    return sign * int(found.name)


def _counts(counts: Sequence[int]) -> str:
    *others, last = counts
    return f"{', '.join(map(str, others))} or {_plural(last)}" if others else _plural(last)


def _plural(count: int) -> str:
    return "no argument" if count == 0 else "1 argument" if count == 1 else f"{count} arguments"
