from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import TableName
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.error_tables import mark, missing, name_of, name_of_source


def test_an_error_table_lies_beside_its_table_and_tells_connectors_and_tables_apart() -> None:
    assert name_of(TableName(("a", "b"), "Orders")) == TableName(("a", "b"), "Orders_ERRORS")
    assert name_of(TableName(("a",), "orders")).name == "orders_errors"
    assert len({mark("A", "1"), mark("A", "2"), mark("B", "1")}) == 3


@given(st.integers(0, 8), st.integers(0, 8))
def test_what_is_missing_is_what_came_after_the_newest_that_is_there(count: int, there: int) -> None:
    lists = [OutboxList(f"list-{number}", f"commit-{number}", (), None) for number in range(count)]

    found = missing(lists, f"commit-{there - 1}" if there else None)

    assert found == (lists[there:] if there <= count else lists)


@given(st.text(min_size=1))
def test_the_table_of_an_error_table_is_found_by_its_name(name: str) -> None:
    table = TableName(("a",), name)

    assert name_of_source(name_of(table)) == table


def test_a_table_whose_name_only_looks_like_it_is_no_error_table() -> None:
    assert [
        name_of_source(TableName((), name)) for name in ("orders", "_ERRORS", "orders_ERRORS", "ORDERS_errors")
    ] == [None] * 4
