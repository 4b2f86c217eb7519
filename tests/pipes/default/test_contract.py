"""What becomes of values that a table has no place for, and of the table: by its rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frazil.model import RESCUED, Column, Conversion, Primitive, SchemaChange, TableRules
from frazil.model.contract import Fate
from frazil.pipes.changes import changed
from frazil.pipes.evolution import columns_for
from frazil.tables.rules.schema import columns_from_json, schema_to_json

from .chunks import Landing, Table, Worker, column, columns, listed, mapped, struct
from .generated import anything
from .test_law import LAW, TIMES

EVOLVES = TableRules("public.ORDERS", "rescue", "evolve", may_change=True)
FROZEN = TableRules("public.ORDERS", "freeze", "freeze")


class Evolving:
    """A table that becomes what its records ask for, one chunk after the other."""

    def __init__(self, worker: Worker, *shape: Column, rules: TableRules = EVOLVES, budget: int = 50) -> None:
        self.columns = tuple(shape)
        self.changes: list[SchemaChange] = []
        self._worker, self._rules, self._budget = worker, rules, budget

    def land(self, *values: str | None) -> Landing:
        """Land records; the table changes at most once for them."""
        first = self._table(self._budget).land(*values)
        added = columns_for(first.drift, "variant")
        change = replace(first.change, add={**added, **first.change.add})
        if change == SchemaChange():
            return first
        self.changes.append(change)
        self.columns = columns_from_json(schema_to_json(changed(self.columns, change)))
        again = self._table(self._budget - len(added)).land(*values)
        assert (again.drift, again.change) == ({}, SchemaChange())
        return again

    @property
    def types(self) -> dict[str, str]:
        return {each.name: str(each.type) + (" not null" if each.required else "") for each in self.columns}

    def _table(self, budget: int) -> Table:
        return Table(
            self._worker, self.columns, Conversion(), evolves=budget > 0, column_budget=budget, rules=self._rules
        )


@pytest.mark.parametrize(
    ("kind", "value", "wider"),
    [
        ("int", "2147483648", "long"),
        ("float", "1e300", "double"),
        ("decimal(5,2)", "12345.67", "decimal(7,2)"),
        ("decimal(5,2)", '"-1234567890123456789012345678901234567.00"', None),
        ("long", "1.5", None),
        ("long", '"many"', None),
        ("boolean", "7", None),
    ],
)
def test_a_type_becomes_wider_where_iceberg_can_do_it(worker: Worker, kind: str, value: str, wider: str | None) -> None:
    table = Evolving(worker, column("n", kind), column("id", "long"))

    landed = table.land('{"n": null, "id": 1}', f'{{"n": {value}, "id": 2}}')

    assert table.types["n"] == (wider or kind)
    assert [row[1] for row in landed.rows] == ([1, 2] if wider else [1])
    assert [reject.column for reject in landed.rejects.values()] == ([] if wider else ["n"])


def test_two_records_make_a_decimal_as_wide_as_the_longer_needs(worker: Worker) -> None:
    table = Evolving(worker, column("n", "decimal(3,1)"))

    table.land('{"n": 123456.7}', '{"n": 1234.5}')

    assert table.types == {"n": "decimal(7,1)"}


@pytest.mark.parametrize("record", ['{"id": 1, "name": null}', '{"id": 1}', None])
def test_a_column_without_a_value_may_be_null_from_then_on(worker: Worker, record: str | None) -> None:
    table = Evolving(worker, column("id", "long"), column("name", "string", required=True))

    landed = table.land('{"id": 0, "name": "a"}', record)

    assert table.types == {"id": "long", "name": "string"}
    assert [row[1] for row in landed.rows] == ["a", None]


def test_a_record_that_is_rejected_anyway_changes_nothing(worker: Worker) -> None:
    table = Evolving(worker, column("id", "int"), column("flag", "boolean"), column("name", "string", required=True))

    landed = table.land('{"id": 5000000000, "flag": "perhaps", "new": 1}')

    assert table.changes == []
    assert list(landed.rejects) == [0]


PLACE = struct(lat="double")


@pytest.mark.parametrize(
    ("kind", "value", "grown"),
    [
        (PLACE, '{"lat": 1.5, "name": "here"}', "struct<lat: double, name: string>"),
        (
            PLACE,
            '{"lat": 1.5, "at": {"x": 1, "y": [0.5]}}',
            "struct<lat: double, at: struct<x: long, y: list<double>>>",
        ),
        (listed(PLACE), '[{"lat": 1.5}, {"n": 1}, {"n": 2.5}]', "list<struct<lat: double, n: double>>"),
        (mapped("string", PLACE), '{"k": {"lat": 1.5, "n": 1}}', "map<string, struct<lat: double, n: long>>"),
        (
            struct(inner=struct(a="int")),
            '{"inner": {"a": 3000000000, "b": true}}',
            "struct<inner: struct<a: long, b: boolean>>",
        ),
        (PLACE, '{"lat": 1.5, "n": null, "m": [], "o": {}}', "struct<lat: double>"),
        (PLACE, '{"lat": 1.5, "N": 1, "n": null}', "struct<lat: double, N: long>"),
    ],
)
def test_structs_get_the_fields_that_come_at_any_depth(worker: Worker, kind: Any, value: str, grown: str) -> None:
    table = Evolving(worker, column("place", kind), column("id", "long"))

    landed = table.land(f'{{"place": {value}, "id": 1}}', '{"id": 2}')

    assert table.types["place"] == grown
    assert [row[1] for row in landed.rows] == [1, 2]


def test_all_that_a_chunk_asks_for_is_one_change(worker: Worker) -> None:
    table = Evolving(
        worker, column("id", "int", required=True), column("place", PLACE), column("price", "decimal(4,2)")
    )

    landed = table.land(
        '{"id": 1, "place": {"lat": 1, "lon": 2.5}, "new": "a"}',
        '{"id": 5000000000, "price": 1.5}',
        '{"id": null, "price": "1234.5", "other": [1]}',
        '{"id": 2, "new": "b", "price": "7.25"}',
    )

    assert len(table.changes) == 1
    assert table.types == {
        "id": "long",
        "place": "struct<lat: double, lon: double>",
        "price": "decimal(6,2)",
        "new": "string",
        "other": "variant",
    }
    assert [(row[0], row[3], row[4]) for row in landed.rows] == [
        (1, "a", None),
        (5000000000, None, None),
        (None, None, [1]),
        (2, "b", None),
    ]


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_keys_beyond_the_bound_are_rescued_in_the_same_change(worker: Worker, budget: int) -> None:
    table = Evolving(worker, column("id", "long"), budget=budget)

    landed = table.land('{"id": 1, "a": 10}', '{"id": 2, "b": "x"}', '{"id": 3, "c": [1.5], "d": null}', '{"id": 4}')

    assert len(table.changes) == 1
    assert [*table.types] == ["id", *["a", "b"][:budget], RESCUED]
    rescued = [(row[0], row[-1]) for row in landed.rows if row[-1] is not None]
    given = [(1, 0, "a", 10), (2, 1, "b", "x"), (3, 2, "c", [1.5])][budget:]
    assert rescued == [
        (number, {"values": {key: value}, "source": {"topic": "orders", "partition": 0, "offset": offset}})
        for number, offset, key, value in given
    ]


def test_as_many_keys_as_there_is_room_for_need_no_rescue(worker: Worker) -> None:
    table = Evolving(worker, column("id", "long"), budget=2)

    table.land('{"id": 1, "a": 10, "b": 1}', '{"id": "2", "a": 1}')

    assert [*table.types] == ["id", "a", "b"]


@pytest.mark.parametrize(
    ("fate", "rows", "rejects", "unknown"),
    [("discard", [1, 2, 3], [], {"b": 2, "place.n": 1}), ("freeze", [1], [1, 2], {}), ("rescue", [1, 2, 3], [], {})],
)
def test_keys_without_a_place_go_by_the_rule_for_columns(
    worker: Worker, fate: Fate, rows: list[int], rejects: list[int], unknown: dict[str, int]
) -> None:
    shape = (column("id", "long"), column("place", PLACE), column(RESCUED, "variant"))
    rules = TableRules("public.ORDERS", fate, "freeze")

    landed = Table(worker, shape, rules=rules).land(
        '{"id": 1, "place": {"lat": 2}}', '{"id": 2, "b": 7}', '{"id": 3, "b": [8], "place": {"n": true}}'
    )

    assert [row[0] for row in landed.rows] == rows
    assert (sorted(landed.rejects), landed.unknown) == (rejects, unknown)
    if fate == "rescue":
        values = [row[2] and row[2]["values"] for row in landed.rows]
        assert values == [None, {"b": 7}, {"b": [8], "place.n": True}]


def test_a_frozen_tables_rejects_name_it_and_the_columns_it_lacks(worker: Worker) -> None:
    table = Table(worker, columns(id="long"), rules=FROZEN)

    landed = table.land('{"id": 1}', '{"id": 2, "colour": "red", "weight": 3}')

    assert landed.reasons == {
        1: ("'colour', 'weight'", "the table public.ORDERS has no column for 'colour', 'weight', and gets none")
    }


@pytest.mark.parametrize(
    ("types", "rows", "rejects", "unknown"),
    [
        ("freeze", [(1, 5)], [1, 2], {}),
        ("discard", [(1, 5), (2, None), (3, None)], [], {"n": 2}),
        ("rescue", [(1, 5), (2, None), (3, None)], [], {}),
    ],
)
def test_values_that_do_not_fit_go_by_the_rule_for_types(
    worker: Worker, types: Fate, rows: list[tuple[int, int | None]], rejects: list[int], unknown: dict[str, int]
) -> None:
    shape = (column("id", "long"), column("n", "long"), column(RESCUED, "variant"))
    rules = TableRules("public.ORDERS", "discard", types)

    landed = Table(worker, shape, rules=rules).land(
        '{"id": 1, "n": 5}', '{"id": 2, "n": 1.5}', '{"id": 3, "n": "many"}'
    )

    assert [row[:2] for row in landed.rows] == rows
    assert (sorted(landed.rejects), landed.unknown) == (rejects, unknown)
    if types == "rescue":
        assert [row[2] and row[2]["values"] for row in landed.rows] == [None, {"n": 1.5}, {"n": "many"}]


def test_a_required_column_has_no_value_to_do_without(worker: Worker) -> None:
    shape = (column("n", "long", required=True), column(RESCUED, "variant"))

    landed = Table(worker, shape, rules=TableRules("public.ORDERS", "rescue", "rescue")).land('{"n": "many"}')

    assert landed.reasons[0][0] == "n"


def test_without_its_column_and_leave_to_make_it_nothing_is_rescued(worker: Worker) -> None:
    table = Table(worker, columns(id="long"), rules=TableRules("public.ORDERS", "rescue", "freeze"))

    landed = table.land('{"id": 1}', '{"id": 2, "b": 7}')

    assert landed.rows == [1]
    assert landed.reasons[1][1] == (
        "the table public.ORDERS has no column _RESCUED_DATA for the values of 'b', and may not change"
    )


def test_what_is_rescued_of_one_key_several_times_is_an_array(worker: Worker) -> None:
    shape = (column("places", listed(PLACE)), column(RESCUED, Primitive("variant")))

    landed = Table(worker, shape, rules=TableRules("public.ORDERS", "rescue", "freeze")).land(
        '{"places": [{"n": 1}, {"n": 2}], "b": 1, "b": 2}'
    )

    assert landed.rows[0][1]["values"] == {"b": [1, 2], "places.n": [1, 2]}


@pytest.mark.parametrize("key", [RESCUED, RESCUED.lower(), "\\u007frescued"])
def test_no_key_of_a_record_gets_into_the_column_of_rescued_values(worker: Worker, key: str) -> None:
    shape = (column("id", "long"), column(RESCUED, "variant"))

    landed = Table(worker, shape).land(f'{{"id": 1, "{key}": "mine"}}')

    assert landed.rows == [(1, None)]
    assert sum(landed.unknown.values()) == 1


def test_rescued_values_are_json_text_where_there_is_no_variant(worker: Worker) -> None:
    shape = (column("id", "long"), column(RESCUED, "string"))

    landed = Table(worker, shape, rules=TableRules("public.ORDERS", "rescue", "freeze")).land('{"id": 1, "b": 1.50}')

    assert landed.rows == [(1, '{"values":{"b":1.50},"source":{"topic":"orders","partition":0,"offset":0}}')]


LANDING = (column("id", "long"), column("place", PLACE), column("note", "string"), column(RESCUED, "variant"))
FATES: list[Fate] = ["freeze", "discard", "rescue"]
records = st.lists(
    st.dictionaries(st.sampled_from(["id", "place", "note", "b", "c"]), anything, max_size=4).map(
        lambda members: "{" + ", ".join(f'"{key}": {value}' for key, value in members.items()) + "}"
    ),
    min_size=1,
    max_size=6,
)


@given(records, st.sampled_from(FATES), st.sampled_from(FATES))
@example(['{"b": 1}', '{"b": null}', '{"b": []}', '{"id": 1.5, "b": 2}'], "rescue", "rescue")
@example(['{"place": {"lat": 1, "n": 2}}', '{"place": {"lat": "x", "n": 2}}', '{"id": 1}'], "discard", "discard")
@settings(LAW, max_examples=100 * TIMES)
def test_what_becomes_of_a_record_does_not_hang_on_those_beside_it(
    worker: Worker, values: list[str], of_columns: Fate, of_types: Fate
) -> None:
    rules = TableRules("public.ORDERS", of_columns, of_types)

    together = Table(worker, LANDING, rules=rules).land(*values)
    alone = [Table(worker, LANDING, rules=rules).land(value, offset=[offset]) for offset, value in enumerate(values)]

    assert [repr(row) for row in together.rows] == [repr(row) for each in alone for row in each.rows]
    assert together.reasons == {offset: reason for each in alone for offset, reason in each.reasons.items()}
    assert Counter(together.unknown) == sum((Counter(each.unknown) for each in alone), Counter())


def test_a_key_that_was_null_is_no_dropped_value_of_a_record_that_is_looked_at_twice(worker: Worker) -> None:
    table = Table(worker, columns(note="string"), evolves=True)

    landed = table.land('{"note": {"a": 1}, "b": []}', '{"note": "x-0}", "b": null}', '{"note": "y", "b": []}')

    assert landed.rows == ['{"a":1}', "x-0}", "y"]
    assert landed.unknown == {"b": 2}
