"""Which records of a chunk go to which table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from frazil.model import Route, RoutedTable, TableName
from frazil.routing.names import generated_name
from frazil.routing.router import Router

OWN, DE = TableName(("public",), "ORDERS"), TableName(("public",), "orders_de")
ROUTE = Route(("c",), OWN, most=2, tables={"ORDERS_DE": RoutedTable("de", DE)})


def split(route: Route, *values: bytes | None) -> tuple[Mapping[TableName, list[int]], dict[int, str], dict[str, str]]:
    """The rows of each table, the reasons of the others, and the values without a table by their names."""
    router = Router(route)
    found = router.split([None if value is None else b'{"c": ' + value + b"}" for value in values])
    return found.tables, {row: each.reason for row, each in found.rejected.items()}, router.new


def test_records_go_to_the_tables_of_their_values_and_tombstones_to_the_topics_own() -> None:
    assert split(ROUTE, b'"de"', None, b'"de"') == ({DE: [0, 2], OWN: [1]}, {}, {})


def test_a_value_without_a_table_is_told_with_the_name_it_makes() -> None:
    assert split(ROUTE, b'"fr"', b"12", b'"a b"') == (
        {},
        {},
        {"ORDERS_FR": "fr", "ORDERS_12": "12", generated_name("ORDERS", "a b"): "a b"},
    )


def test_of_two_new_values_of_one_name_every_worker_tells_the_same() -> None:
    assert split(ROUTE, b'"fr"', b'"FR"', b'"Fr"')[2] == {"ORDERS_FR": "FR"}
    assert split(ROUTE, b'"Fr"', b'"FR"', b'"fr"')[2] == {"ORDERS_FR": "FR"}


def test_a_value_that_makes_the_name_of_another_one_is_refused_by_both_their_names() -> None:
    _, reasons, new = split(ROUTE, b'"DE"')

    assert not new
    assert "'DE'" in reasons[0]
    assert "'de'" in reasons[0]
    assert "public.orders_de" in reasons[0]


def test_no_value_is_new_once_there_are_as_many_tables_as_there_may_be() -> None:
    tables, reasons, new = split(replace(ROUTE, most=1), b'"de"', b'"fr"')

    assert (tables, new) == ({DE: [0]}, {})
    assert "frazil.route.max.tables" in reasons[1]


def test_a_refused_name_says_why() -> None:
    route = replace(ROUTE, refused={"ORDERS_FR": "the table public.ORDERS_FR has something else"})

    assert "something else" in split(route, b'"fr"')[1][0]


def test_however_many_values_there_are_few_are_told() -> None:
    values = [b'"%d"' % number for number in range(20_000)]

    assert len(split(ROUTE, *values)[2]) == 1 + 100


@pytest.mark.parametrize("value", ["x" * 300, "../x", "a/b", "\x00", "日本", "'; DROP TABLE x --", "_frazil", "."])
def test_whatever_the_value_its_table_has_a_harmless_name_or_none(value: str) -> None:
    name = generated_name("ORDERS", value)

    assert name.startswith("ORDERS_")
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")


def test_a_value_too_long_for_a_name_is_refused() -> None:
    assert "longer than 255 bytes" in split(ROUTE, b'"' + b"x" * 300 + b'"')[1][0]
