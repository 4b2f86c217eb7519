"""How large functions let their results grow: no text is longer than Snowflake's longest, whatever a record asks for.

Each bound is checked before the text is made. What it fails with is a cast of a sentence, for `error` cannot stand
within TRY.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from frazil.sql import literal

LONGEST_TEXT: Final = 16_777_216
"""Bytes of the longest text."""

_LONGEST_RANGE: Final = 8_388_608
"""Numbers of the longest range: with a comma each, it is as long as the longest text."""

_MOST_EDITS: Final = 100_000_000
"""What the lengths of two texts may be, multiplied, whose distance is computed: it takes that many steps."""

TOO_LONG: Final = f"CAST(concat('the result would be a text of more than {LONGEST_TEXT} bytes') AS INTEGER)"
TOO_MANY: Final = f"CAST(concat('the result would be an array of more than {_LONGEST_RANGE} elements') AS INTEGER)"
TOO_FAR: Final = (
    f"CAST(concat('EDITDISTANCE is not there for texts whose lengths are more than {_MOST_EDITS} when multiplied') "
    "AS INTEGER)"
)

REPLACED: Final = (
    f"CASE WHEN CAST(strlen(a) AS DOUBLE) * strlen(c) > {LONGEST_TEXT} AND b <> '' "
    "AND strlen(a) + CAST(strlen(a) - strlen(replace(a, b, '')) AS DOUBLE) / strlen(b) * (strlen(c) - strlen(b)) "
    f"> {LONGEST_TEXT} THEN CAST({TOO_LONG} AS VARCHAR) ELSE replace(a, b, c) END"
)
RANGE_IS_LONG: Final = f"abs(CAST(b AS DOUBLE) - a) / greatest(abs({{step}}), 1) > {_LONGEST_RANGE}"
DISTANCE_IS_FAR: Final = f"CAST(strlen(a) AS DOUBLE) * strlen(b) > {_MOST_EDITS}"

_SIZED_BY: Final = {
    "REPEAT": 1,
    "SPACE": 0,
    "LPAD": 1,
    "RPAD": 1,
    "REPLACE": 2,
    "REGEXP_REPLACE": 2,
    "ARRAY_GENERATE_RANGE": 1,
}
"""The argument that says how much longer a result may be than what it is made of, by the function's name."""

_SMALL: Final = 1000
"""Such a number, or length of a text, with which it is not much longer."""


def padded(function: str, filling: str) -> str:
    """A template for LPAD or RPAD of two arguments and a filling."""
    length = f"CASE WHEN b > {LONGEST_TEXT} THEN {TOO_LONG} ELSE CAST(greatest(b, 0) AS INTEGER) END"
    return f"{function}(a, {length}, {filling})"


def repeated(what: str, times: str) -> str:
    """A template for a text that is repeated."""
    is_long = f"CAST(strlen({what}) AS DOUBLE) * {times} > {LONGEST_TEXT}"
    return f"repeat({what}, CASE WHEN {is_long} THEN {TOO_LONG} ELSE greatest({times}, 0) END)"


def joined(texts: str, separator: str) -> str:
    """A template for the elements of a list, given as texts, with a separator between them."""
    is_long = f"CAST(len(a) AS DOUBLE) * {len(separator.encode())} > {LONGEST_TEXT}"
    return (
        f"CASE WHEN {is_long} THEN CAST({TOO_LONG} AS VARCHAR) ELSE array_to_string({texts}, {literal(separator)}) END"
    )


def regexp_replaced(of: str, options: str) -> str:
    """A template for what REGEXP_REPLACE makes of a part of a text."""
    groups = "(strlen(c) - strlen(replace(c, '\\', '')))"
    size = f"CAST(strlen({of}) AS DOUBLE) * (1 + {groups}) + len(regexp_extract_all({of}, b)) * strlen(c)"
    is_long = f"CAST(strlen({of}) AS DOUBLE) * (1 + strlen(c)) > {LONGEST_TEXT} AND {size} > {LONGEST_TEXT}"
    return f"CASE WHEN {is_long} THEN CAST({TOO_LONG} AS VARCHAR) ELSE regexp_replace({of}, b, c{options}) END"


def growing(tree: exp.Expr) -> Iterator[str]:
    """The functions in a query, as its user wrote it, whose results may be much longer than what they are made of."""
    for node in tree.find_all(exp.Anonymous):
        place = _SIZED_BY.get(node.name.upper())
        if place is not None and len(node.expressions) > place and not _is_small(node.expressions[place]):
            yield node.name.upper()


def _is_small(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Literal):
        return False
    if node.is_string:
        return len(node.name) <= _SMALL // 100
    return node.name.isdecimal() and len(node.name) < 10 and int(node.name) <= _SMALL
