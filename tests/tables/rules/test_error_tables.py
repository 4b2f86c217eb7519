from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import TableName
from frazil.tables.reject_lists import RejectList
from frazil.tables.rules.error_tables import mark, missing, name_of


def test_an_error_table_lies_beside_its_table_and_tells_connectors_and_tables_apart() -> None:
    assert name_of(TableName(("a", "b"), "Orders")) == TableName(("a", "b"), "Orders_ERRORS")
    assert len({mark("A", "1"), mark("A", "2"), mark("B", "1")}) == 3


@given(st.integers(0, 8), st.integers(0, 8))
def test_what_is_missing_is_what_came_after_the_newest_that_is_there(count: int, there: int) -> None:
    lists = [RejectList(f"list-{number}", f"commit-{number}", (), None) for number in range(count)]

    found = missing(reversed(lists), f"commit-{there - 1}" if there else None)

    assert found == (lists[there:] if there <= count else lists)
