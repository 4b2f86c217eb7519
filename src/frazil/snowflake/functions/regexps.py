"""Regular expressions: Snowflake's as RE2's, which DuckDB has."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from frazil.snowflake.building import call, text
from frazil.snowflake.functions import sizes
from frazil.snowflake.functions.meanings import Function, arity, literal, whole
from frazil.snowflake.kinds import BIGINT, BOOLEAN, JSON, TEXT
from frazil.snowflake.places import Refused
from frazil.snowflake.templates import template
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text

_FLAGS: Final = "cimse"
_UNKNOWN: Final = re.compile(r"(?:[^\\]|^)(?:\\\\)*(?P<found>\(\?|\\[1-9])")
_LAZY: Final = re.compile(r"(?:[^\\]|^)(?:\\\\)*[*+?}]\?")


def matches(name: str, types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    """REGEXP_LIKE: the whole text matches, as everywhere in Snowflake."""
    arity(name, arguments, 2, 3)
    flags = _flags(name, arguments[2:3])
    subject, pattern = as_text(types, arguments[0]), _pattern(name, types, arguments[1], flags)
    return call("regexp_full_match", subject, pattern, kind=BOOLEAN)


def _like(name: str) -> Function:
    return lambda types, arguments: matches(name, types, arguments)


def _replace(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "REGEXP_REPLACE"
    arity(name, arguments, 2, 6)
    pattern = _pattern(name, types, arguments[1], _flags(name, arguments[5:6]))
    put = as_text(types, arguments[2]) if len(arguments) > 2 else text("")
    occurrence = whole(name, arguments[4], "the occurrence") if len(arguments) > 4 else 0
    if occurrence not in (0, 1):
        raise Refused(f"{name} replaces all occurrences (0) or the first (1), not one further on", arguments[4])
    options = "" if occurrence else ", 'g'"
    value = as_text(types, arguments[0])
    if (start := _start(name, arguments[3:4])) == 1:
        return template(sizes.regexp_replaced("a", options), [value, pattern, put], TEXT)
    rest = sizes.regexp_replaced(f"substring(a, {start})", options)
    moved = f"left(a, {start - 1}) || {rest}"
    return template(moved, [value, pattern, put], TEXT)


def _substr(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "REGEXP_SUBSTR"
    arity(name, arguments, 2, 6)
    occurrence = whole(name, arguments[3], "the occurrence") if len(arguments) > 3 else 1
    if occurrence < 1:
        raise Refused(f"{name}: the occurrence is counted from 1", arguments[3])
    return template(f"list_extract(a, {occurrence})", [_all(name, types, arguments, arguments[4:6])], TEXT)


def _substr_all(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "REGEXP_SUBSTR_ALL"
    arity(name, arguments, 2, 6)
    occurrence = whole(name, arguments[3], "the occurrence") if len(arguments) > 3 else 1
    return template(
        f"to_json(list_slice(a, {max(occurrence, 1)}, -1))", [_all(name, types, arguments, arguments[4:6])], JSON
    )


def _count(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "REGEXP_COUNT"
    arity(name, arguments, 2, 4)
    return template("len(a)", [_all(name, types, arguments, arguments[3:4])], BIGINT)


def _instr(types: Types, arguments: list[exp.Expr]) -> exp.Expr:
    name = "REGEXP_INSTR"
    arity(name, arguments, 2, 6)
    occurrence = whole(name, arguments[3], "the occurrence") if len(arguments) > 3 else 1
    option = whole(name, arguments[4], "the option") if len(arguments) > 4 else 0
    flags = _flags(name, arguments[5:6])
    if occurrence < 1 or option not in (0, 1) or "e" in flags:
        raise Refused(f"{name} takes an occurrence from 1 on, the option 0 or 1, and no group")
    start = _start(name, arguments[2:3])
    found = _all(name, types, arguments, arguments[5:6])
    value, pattern = as_text(types, arguments[0]).copy(), _pattern(name, types, arguments[1].copy(), flags)
    between = call("string_split_regex", template(f"substring(a, {start})", [value], TEXT), pattern)
    place = (
        f"CASE WHEN len(a) < {occurrence} THEN 0 WHEN len(a) >= {occurrence} THEN {start} "
        f"+ CAST(list_sum(list_transform(list_slice(b, 1, {occurrence}), lambda x: length(x))) AS BIGINT) "
        f"+ CAST(coalesce(list_sum(list_transform(list_slice(a, 1, {occurrence - 1 + option}), "
        "lambda x: length(x))), 0) AS BIGINT) END"
    )
    return template(place, [found, between], BIGINT)


def _all(name: str, types: Types, arguments: list[exp.Expr], options: list[exp.Expr]) -> exp.Expr:
    """All that match from the position on, as a list; the third argument is the position."""
    flags = _flags(name, options[:1])
    group = whole(name, options[1], "the group") if len(options) > 1 else int("e" in flags)
    pattern = _pattern(name, types, arguments[1].copy(), flags)
    value, start = as_text(types, arguments[0]), _start(name, arguments[2:3])
    return template(f"regexp_extract_all(substring(a, {start}), b, {group})", [value, pattern])


def _start(name: str, given: list[exp.Expr]) -> int:
    start = whole(name, given[0], "the position") if given else 1
    if start < 1:
        raise Refused(f"{name}: the position is counted from 1", given[0])
    return start


def _flags(name: str, given: list[exp.Expr]) -> str:
    flags = literal(name, given[0], "the list of parameters") if given else ""
    if unknown := sorted(set(flags) - set(_FLAGS)):
        raise Refused(f"{name} has no flag {unknown[0]!r}; there are c, i, m, s and e", given[0])
    return flags


def _pattern(name: str, types: Types, node: exp.Expr, flags: str) -> exp.Expr:
    wanted = "".join(flag for flag in "ms" if flag in flags)
    # The last of the two that say something of the case wins.
    wanted += "i" if flags.rfind("i") > flags.rfind("c") else ""
    prefix = f"(?{wanted})" if wanted else ""
    if isinstance(node, exp.Literal) and node.is_string:
        if found := _UNKNOWN.search(node.name):
            raise Refused(f"{name}: {found['found']!r} means nothing in Snowflake's regular expressions", node)
        if _LAZY.search(node.name):
            raise Refused(f"{name}: Snowflake's regular expressions have no lazy quantifiers, like '*?'", node)
        return text(prefix + node.name)
    pattern = as_text(types, node)
    return template("b || a", [pattern, text(prefix)], TEXT) if prefix else pattern


FUNCTIONS: Final[dict[str, Function]] = {
    "REGEXP_LIKE": _like("REGEXP_LIKE"),
    "RLIKE": _like("RLIKE"),
    "REGEXP_REPLACE": _replace,
    "REGEXP_SUBSTR": _substr,
    "REGEXP_SUBSTR_ALL": _substr_all,
    "REGEXP_EXTRACT_ALL": _substr_all,
    "REGEXP_COUNT": _count,
    "REGEXP_INSTR": _instr,
}
"""What each becomes."""
