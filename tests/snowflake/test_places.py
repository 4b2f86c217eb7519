"""What cannot be points at its place in the text, and says what is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.snowflake.lakes import Lake

from frazil.errors import InvalidQuery
from frazil.snowflake.places import pointed


@pytest.fixture(scope="module")
def sales() -> Lake:
    lake = Lake()
    lake.create("SALES", "SELECT 1 AS id, 'jan' AS month, 10.5 AS amount")
    return lake


POINTED = {
    "select idd from sales": ("idd", "nearest is id"),
    "select id\n  , s.amuont\nfrom sales s": ("s.amuont", "amount"),
    "select uper(month) from sales": ("uper", "UPPER"),
    "select id::numbr from sales": ("numbr", "NUMBER"),
    "select id from salez": ("salez", "nearest is SALES"),
    "select id from publik.sales": ("publik.sales", "nearest is public"),
    "with total as (select 1 as a) select * from totl": ("totl", "nearest is TOTAL"),
    "select x.* from sales s": ("x", "FROM has no x"),
    "select * exclude amout from sales": ("amout", "amount"),
    "select flatten(month) from sales": ("flatten", "lateral flatten(input =>"),
    "select sum(amount), id from sales": ("id", "GROUP BY"),
    "select id from sales where sum(id) > 1": ("sum", "HAVING"),
    "select month + 1, month:a.b from sales where month = $1": ("1", "PARAMETER"),
    "select 1 +\n+ from sales": ("from", "parsed"),
    "select id from sales at (statement => 'x')": ("'x'", "STATEMENT"),
    "select id:key from sales": ("id", "nothing inside"),
}


@pytest.mark.parametrize("query", POINTED)
def test_a_mistake_points_at_its_place(sales: Lake, query: str):
    marked, said = POINTED[query]

    with pytest.raises(InvalidQuery) as refused:
        sales.rows(query)

    reason, line, marks = refused.value.message.rsplit("\n", 2)
    start = marks.index("^")
    assert line[start : start + marks.count("^")].startswith(marked) or marked.endswith(
        line[start : start + marks.count("^")]
    )
    assert said in reason


@pytest.mark.parametrize("length", [10, 1000, 1_000_000])
def test_no_message_is_more_than_a_screen(sales: Lake, length: int):
    long = "x" * length
    for query in (f"select {long} from sales", f"select '{long}'::int", f"select {long}(1)", f"select 1 from {long}",
                  f"select '{long}' + id from sales", f"select /* {long} */ nope /* {long} */ from sales"):  # fmt: skip
        with pytest.raises(InvalidQuery) as refused:
            sales.rows(query)
        assert len(refused.value.message) < 1000
        assert refused.value.message.count("\n") <= 3


def test_a_cast_that_fails_is_told_by_what_it_is_and_recommends_nothing(sales: Lake):
    with pytest.raises(InvalidQuery) as refused:
        sales.rows("select month::int from sales")

    assert "'jan'" in refused.value.message.replace('"', "'")
    assert "TRY_CAST" not in refused.value.message.upper()


@given(st.text(max_size=300), st.data())
def test_marks_stand_under_the_piece(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, start + 20))

    place, line, marks = pointed(text, start, end).rsplit("\n", 2)

    assert place.startswith("line ")
    assert len(line) <= 110
    column = marks.index("^")
    if start < len(text) and text[start].isprintable():
        assert line[column] == text[start]
