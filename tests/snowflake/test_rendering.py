"""Whatever names and texts come, DuckDB reads what was meant."""

from __future__ import annotations

import contextlib
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from frazil.snowflake.building import name, text
from frazil.snowflake.places import Refused
from frazil.snowflake.rendering import rendered

ANY_TEXT = st.text(max_size=40)


@pytest.fixture(scope="module")
def connection() -> Any:
    return duckdb.connect(":memory:")


@given(ANY_TEXT, ANY_TEXT)
@example("'; DROP TABLE x; --", '" FROM x; --')
@example("${env:HOME}", "{x}")
@example("a\x00b", "a")
@example("\ud800", "a")
def test_texts_and_names_arrive_as_they_are_or_are_refused(connection: Any, value: str, called: str):
    select = exp.Select(expressions=[exp.Alias(this=text(value), alias=name(called))])

    with contextlib.suppress(Refused):
        found = connection.execute(rendered(select))
        assert found.description[0][0] == called
        assert found.fetchall() == [(value,)]
        return
    unspeakable = any(each == "\x00" or "\ud800" <= each <= "\udfff" for each in value + called)
    assert unspeakable or not called
