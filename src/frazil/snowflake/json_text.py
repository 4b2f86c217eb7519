"""JSON text as a document, read as strictly as records are: no NaN, no key twice in an object, not too many levels.

DuckDB reads more than that, keeps the last of two equal keys, and crashes at some tens of thousands of levels.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from frazil.snowflake.kinds import JSON, TEXT
from frazil.snowflake.templates import template

DEEPEST: Final = 500
"""Levels of nesting that a text may have."""

_BARE: Final = r"""regexp_replace({}, '"(?:[^"\\]|\\.)*"', '0', 'g')"""
"""A text with a digit in place of each string in it."""

_MEMBERS: Final = "(length({0}) - length(replace({0}, ':', '')))"
"""How many members the objects of a text have, given without what is in its strings."""

_BRACKETS: Final = f"translate(regexp_replace({_BARE.format('a')}, '[^][{{}}]+', '', 'g'), '{{}}', '[]')"
_SHALLOW: Final = r"(?:\[" * DEEPEST + r"\])*" * DEEPEST
"""Brackets that are closed, of as many levels as there may be: to RE2 an expression of a few hundred states."""

_IS_DEEP: Final = f"length({_BRACKETS}) > {2 * DEEPEST} AND NOT regexp_full_match({_BRACKETS}, '{_SHALLOW}')"
_IS_LOOSE: Final = rf"regexp_matches({_BARE.format('a')}, '[iI]|[nN][aA]|,\s*[\]}}]')"
"""Whether a text has NaN, an infinity, or a comma at the end of an array or object, which DuckDB reads."""

_SORTED: Final = "CAST(CAST(CAST({} AS JSON) AS VARIANT) AS JSON)"
"""DuckDB's VARIANT has its keys in order, and each once."""

# DuckDB casts a constant when it reads the statement, wherever the cast stands.
_VALID: Final = "(CASE WHEN json_valid(a) THEN a END)"
_ONCE: Final = f"CAST({_SORTED.format(_VALID)} AS VARCHAR)"
_HAS_TWICE: Final = (
    f"contains(a, '{{') AND {_MEMBERS.format(_BARE.format('a'))} <> {_MEMBERS.format(_BARE.format(_ONCE))}"
)
_PROBLEM: Final = (
    "CASE WHEN a IS NULL THEN NULL "
    f"WHEN NOT json_valid(a) OR {_IS_LOOSE} THEN 'this text is not valid JSON' "
    f"WHEN {_IS_DEEP} THEN 'this text is JSON nested deeper than {DEEPEST} levels' "
    f"WHEN {_HAS_TWICE} THEN 'this text is JSON with a key twice in an object' END"
)
_INEXACT: Final = r"[0-9][0-9.]{15,}|[0-9][eE]"
"""Numbers that might not come out of DuckDB's VARIANT as they went in."""

_PIECE: Final = r'("(?:[^"\\]|\\.)*")|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
_MARK: Final = "chr(1)"
_SIGN: Final = r"\\u0001\\u0002\\u0003"
"""What stands before numbers within quotes, as expressions have it."""

_MARKED: Final = (
    f"regexp_replace(replace(regexp_replace(a, '{_PIECE}', '\\1' || {_MARK} || '\\2' || {_MARK}, 'g'), "
    f"{_MARK} || {_MARK}, ''), {_MARK} || '([^' || {_MARK} || ']*)' || {_MARK}, '\"{_SIGN}\\1\"', 'g')"
)
"""Every number within quotes, behind a sign that no text of a document has unless somebody wrote it there."""

_UNMARKED: Final = f"CAST(regexp_replace(CAST({{}} AS VARCHAR), '\"{_SIGN}([^\"]*)\"', '\\1', 'g') AS JSON)"
_TRIMMED: Final = "trim(a, ' ' || chr(9) || chr(10) || chr(13))"
_DOCUMENT: Final = (
    "CASE WHEN json_type(CAST(a AS JSON)) NOT IN ('OBJECT', 'ARRAY') "
    f"THEN CAST({_TRIMMED} AS JSON) "
    f"WHEN regexp_matches(a, '{_INEXACT}') AND NOT contains(a, '\\u0001\\u0002\\u0003') "
    f"THEN {_UNMARKED.format(_SORTED.format(_MARKED))} "
    f"ELSE {_SORTED.format('a')} END"
)


_READ: Final = f"CASE WHEN ({_PROBLEM}) IS NULL THEN a END"
_READ_OR_FAIL: Final = (
    f"CASE WHEN {_TRIMMED} = '' THEN NULL WHEN ({_PROBLEM}) IS NULL THEN a "
    # DuckDB says where it is not valid.
    "WHEN NOT json_valid(a) THEN CAST(CAST(a AS JSON) AS VARCHAR) "
    # What fails names the sentence, which is no number: `error` cannot stand within TRY.
    f"ELSE CAST(CAST(({_PROBLEM}) AS INTEGER) AS VARCHAR) END"
)


def parsed(node: exp.Expr, *, safe: bool) -> exp.Expr:
    """JSON text as a document: with its keys in order, and every number as it is written.

    Text of blanks alone is NULL. Any other text fails, or gives NULL if that is `safe`.
    """
    return template(_DOCUMENT, [template(_READ if safe else _READ_OR_FAIL, [node], TEXT)], JSON)


def problem(node: exp.Expr) -> exp.Expr:
    """Why a text is no JSON that is read, in words; NULL if it is."""
    return template(_PROBLEM, [node], TEXT)


def shallow(node: exp.Expr) -> exp.Expr:
    """The text, but such that it is no JSON where it is nested too deep."""
    return template(f"CASE WHEN {_IS_DEEP} THEN '?' || a ELSE a END", [node], TEXT)
