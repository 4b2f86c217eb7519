"""Functions of Snowflake's, by what Snowflake gives for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.snowflake.answers import rows
from tests.snowflake.expected_moments import TIMES
from tests.snowflake.expected_nested import NESTED
from tests.snowflake.expected_numbers import CONDITIONS, NUMBERS
from tests.snowflake.expected_rows import AGGREGATES, CLAUSES, ROWS, WINDOWS
from tests.snowflake.expected_texts import TEXTS

from frazil.snowflake.functions import KNOWN

GROUPS: dict[str, tuple[dict[str, Any], str]] = {
    "texts": (TEXTS, ""),
    "numbers": (NUMBERS, ""),
    "conditions": (CONDITIONS, ""),
    "times": (TIMES, ""),
    "nested": (NESTED, ""),
    "aggregates": (AGGREGATES, f" from {ROWS}"),
    "windows": (WINDOWS, f" from {ROWS} order by a limit 1"),
}
_TOGETHER = 40

LITERAL = ("date_part(", "date_trunc(", "dateadd(", "datediff(")
"""Their first argument is a word."""


@pytest.mark.parametrize("group", GROUPS)
def test_functions_and_operators_give_what_they_give_in_snowflake(group: str):
    expected, rest = GROUPS[group]
    written = list(expected)
    found: dict[str, Any] = {}

    for start in range(0, len(written), _TOGETHER):
        some = written[start : start + _TOGETHER]
        (row,) = rows("select " + ", ".join(some) + rest)
        found |= dict(zip(some, row, strict=True))

    assert {each: value for each, value in found.items() if value != expected[each]} == {}


def _of_a_column(expression: str) -> str:
    """The expression with its first text made of a column's value."""
    return re.sub(r"^(\w+)\('", r"\1(c || '", re.sub(r"('[^']*')::(\w+)", r"(c || \1)::\2", expression))


@pytest.mark.parametrize("group", ["texts", "numbers", "times", "nested"])
def test_functions_give_the_same_for_values_of_a_column(group: str):
    """A literal is known when the query is compiled, the value of a column is not."""
    expected, _ = GROUPS[group]
    of_columns = {each: _of_a_column(each) for each in expected}
    changed = {each: query for each, query in of_columns.items() if query != each and not each.startswith(LITERAL)}

    found = {each: rows(f"select {query} from (select '' as c)")[0][0] for each, query in changed.items()}

    assert len(changed) > 20
    assert {each: value for each, value in found.items() if value != expected[each]} == {}


def test_nulls_are_the_largest_as_in_snowflake():
    assert rows(f"select a from {ROWS} order by b, a") == [[1], [2], [3]]
    assert rows(f"select a from {ROWS} order by b desc, a") == [[3], [1], [2]]
    assert rows(f"select a from {ROWS} order by b nulls first, a desc") == [[3], [2], [1]]


@pytest.mark.parametrize("query", CLAUSES)
def test_the_clauses_of_a_select_work(query: str):
    assert rows(query) == CLAUSES[query]


def test_columns_may_be_called_what_lambdas_call_what_they_are_given():
    names = ["x", "s", "k", "i", "p", "a", "b", "c", "given"]
    query = "select " + ", ".join(
        f"array_distinct([{each}, {each}])[0]::varchar || array_to_string([{each}], '') || initcap({each}) "
        f"|| array_size(array_remove(['q'], {each}))"
        for each in names
    )

    columns = ", ".join(f"'q' as {each}" for each in names)

    assert rows(f"{query} from (select {columns})") == [["qqQ0"] * len(names)]


def test_every_function_there_is_has_been_tried():
    tried = " ".join(each.upper() for expected, _ in GROUPS.values() for each in expected)

    assert sorted(name for name in KNOWN if f"{name}(" not in tried + " ".join(CLAUSES).upper()) == []


def test_the_documentation_lists_every_function_there_is():
    listed = Path("docs/functions.md").read_text(encoding="utf-8").split("## What there is")[1]

    assert set(re.findall(r"`(\w+)`", listed)) == KNOWN
