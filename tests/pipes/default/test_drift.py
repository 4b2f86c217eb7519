"""Keys without a column on a table that evolves: what is seen of them, and that their records land afterwards."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from frazil.model import MOST_COLUMNS, Column, Conversion, ObservedType, SourcePartition
from frazil.pipes.default.drift import DriftWatch
from frazil.pipes.default.observation import seen_in
from frazil.pipes.default.projection import Projection
from frazil.pipes.evolution import NestedType, columns_for, is_typed, merged
from frazil.pipes.naming import folded
from frazil.records.new_keys import NewKeys
from frazil.tables.rules.schema import columns_from_json, schema_to_json

from .chunks import TOPIC, Table, Worker, columns
from .conftest import MakeTable
from .generated import anything, written_object
from .reading import REJECT, expected
from .test_law import LAW, TIMES, comparable

NESTED: tuple[NestedType, ...] = ("variant", "json", "struct")


def seen(*scalars: str, **others: Any) -> ObservedType:
    return ObservedType(frozenset(scalars), **others)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["true", "false"], seen("boolean")),
        (["1", "-9223372036854775808", "9223372036854775807", "-0"], seen("long")),
        (["9223372036854775808"], seen("huge")),
        (["-9223372036854775809", "1" * 400], seen("huge")),
        (["1.0", "1e3", "1E-400"], seen("double")),
        # No double holds it.
        (["1e400"], seen("huge")),
        (['"1"', '""', '"\\ud83d\\ude00"'], seen("string")),
        (["1", "null", '"x"'], seen("long", "string")),
        (["{}"], seen(fields=())),
        (["[]"], seen(element=ObservedType())),
        (['{"b": 1, "a": null}'], seen(fields=(("b", seen("long")), ("a", seen("null"))))),
        (['{"b": 1}', '{"a": 2, "b": 0.5}'], seen(fields=(("a", seen("long")), ("b", seen("double", "long"))))),
        (["[1, null, [true]]"], seen(element=seen("long", "null", element=seen("boolean")))),
        (["[]", "{}", "1"], seen("long", fields=(), element=ObservedType())),
        (
            ['[{"a": 1}, {"b": []}]'],
            seen(element=seen(fields=(("a", seen("long")), ("b", seen(element=ObservedType()))))),
        ),
    ],
)
def test_what_values_look_like(values: list[str], found: ObservedType) -> None:
    looks = (seen_in(f'{{"k": {value}}}', lambda _: False, deep=True) for value in values)

    assert merged(looks) == merged([{"k": found}])


def looks_of(text: str, nested: NestedType) -> list[ObservedType]:
    """What the values of a record's keys look like, but for the number `only`."""
    return [*seen_in(text, lambda key: folded(key) == "only", deep=nested == "struct").values()]


NO_TYPE = ["null", "[]", " [ ] ", "[null]", "[[], [null]]", "{}", '{"a": null}', '[{"a": []}]']
"""Values that tell no type where structs and lists are made of them."""


@pytest.mark.parametrize("nested", NESTED)
def test_a_value_that_tells_no_type_makes_no_column_and_lands_without(
    make_table: MakeTable, nested: NestedType
) -> None:
    values = NO_TYPE if nested == "struct" else NO_TYPE[:3]
    table = make_table(*columns(id="long"), evolves=True, nested_type=nested)

    landed = table.land(*(f'{{"id": 1, "k": {value}}}' for value in values))

    assert (landed.drift, landed.rows, landed.unknown) == ({}, [1] * len(values), {"k": len(values) - 1})


@pytest.mark.parametrize("nested", NESTED)
def test_what_comes_later_decides_about_a_key_that_told_no_type(make_table: MakeTable, nested: NestedType) -> None:
    table = make_table(*columns(id="long"), evolves=True, nested_type=nested)
    table.land('{"k": null, "l": []}')

    drift = table.land('{"k": null, "l": []}', '{"k": 1, "l": [2]}', '{"k": null, "l": []}').drift

    made = {"variant": "variant", "json": "string", "struct": "list<long>"}
    assert {name: str(kind) for name, kind in columns_for(drift, nested).items()} == {"k": "long", "l": made[nested]}


@pytest.mark.parametrize("values", [("[]", "5"), ("5", "[]")])
def test_an_empty_array_beside_a_number_counts_as_nested(make_table: MakeTable, values: tuple[str, str]) -> None:
    table = make_table(*columns(id="long"), evolves=True)

    drift = table.land(*(f'{{"k": {value}}}' for value in values)).drift

    assert {name: str(kind) for name, kind in columns_for(drift, "variant").items()} == {"k": "variant"}


def test_what_only_the_exact_tier_reads_is_seen_alike() -> None:
    found = seen_in('{"k": {"a": "\\ud800", "b": [1, 2.5, null, true], "\\ud800": 1}}', lambda _: False, deep=True)

    inner = seen("long", "double", "null", "boolean")
    assert found == {"k": seen(fields=(("a", seen("string")), ("b", seen(element=inner)), ("\ud800", seen("long"))))}


@pytest.mark.parametrize("nested", ["variant", "json"])
def test_nobody_looks_into_objects_and_arrays_that_become_one_column(make_table: MakeTable, nested: str) -> None:
    landed = make_table(evolves=True, nested_type=nested).land('{"k": {"a": 1}}', '{"k": [1]}', '{"k": "x"}')

    assert landed.drift == {"k": seen("string", fields=(), element=seen("string", fields=()))}


REJECTED = [
    '{"key": 1, "key": 2}',
    '{"key": 1, "KEY": 2}',
    '{"key": "\\ud800"}',
    '{"key": 1, "": 2}',
    '{"key": 1, "\\u0000": 2}',
    '{"key": 1, "id": "none"}',
    '{"key": 1',
    '{"key": NaN}',
    b'{"key": "\xff"}',
    '{"key": ' + "[" * 501 + "]" * 501 + "}",
]
"""Records that become no row, whatever columns the table has beside a number `id`."""


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("record", REJECTED)
def test_a_record_that_will_be_rejected_gives_no_column_and_no_spelling(
    make_table: MakeTable, record: str | bytes, nested: NestedType
) -> None:
    table = make_table(*columns(id="long"), evolves=True, nested_type=nested)
    drift = table.land(record, '{"id": 1, "Key": 5}', '{"other": 1}', record).drift

    alone = table.land(record)
    assert (alone.drift, list(alone.rejects), alone.unknown) == ({}, [0], {})
    assert list(columns_for(drift, nested)) == ["Key", "other"]


@pytest.mark.parametrize(
    ("record", "nested"),
    [
        ('{"key": {"a": 1, "a": 2}}', "variant"),
        ('{"key": [{"a": 1, "a": 2}]}', "struct"),
        ('{"key": {"a": 1, "A": 2}}', "struct"),
    ],
)
def test_nor_does_one_whose_objects_do_not_fit_the_column_they_would_get(
    make_table: MakeTable, record: str, nested: NestedType
) -> None:
    landed = make_table(*columns(id="long"), evolves=True, nested_type=nested).land(record, '{"id": 1}')

    assert (landed.drift, landed.rows, sorted(landed.rejects)) == ({}, [1], [0])


def test_what_a_rejected_record_has_makes_no_type_wider(make_table: MakeTable) -> None:
    drift = make_table(*columns(id="long"), evolves=True).land('{"n": "x", "id": true}', '{"n": 1}').drift

    assert {name: str(kind) for name, kind in columns_for(drift, "variant").items()} == {"n": "long"}


def test_a_column_is_spelled_as_in_the_record_that_lies_first_whatever_was_read_first(make_table: MakeTable) -> None:
    texts = ['{"USERID": 1}', '{"userid": 2}', '{"UserId": 3}', '{"userId": 4}']
    table = make_table(evolves=True)

    drift = table.land(*texts, partition=[1, 1, 0, 0], offset=[3, 4, 8, 7]).drift

    assert list(columns_for(drift, "variant")) == ["userId"]


def test_so_are_the_fields_of_structs(make_table: MakeTable) -> None:
    texts = ['{"at": {"LAT": 1, "lon": 2}}', '{"at": {"lat": 1, "LON": 2}}', '{"at": [{"LAT": 1}]}']
    drift = make_table(evolves=True, nested_type="struct").land(*texts, offset=[9, 4, 5]).drift
    (kind,) = columns_for({"at": replace(drift["at"], element=None)}, "struct").values()

    assert str(kind) == "struct<LON: long, lat: long>"


@given(st.permutations(range(6)), st.data())
@settings(LAW, max_examples=30 * TIMES)
def test_so_it_is_however_the_records_are_spread_over_tasks_and_chunks(
    worker: Worker, order: list[int], data: st.DataObject
) -> None:
    texts = [f'{{"{key}": {{"{field}": 1}}}}' for key, field in zip(SPELLINGS, reversed(SPELLINGS), strict=True)]
    cuts = sorted(data.draw(st.sets(st.integers(1, 5), max_size=3)))
    found = []
    for start, end in zip([0, *cuts], [*cuts, 6], strict=True):
        rows = order[start:end]
        table = Table(worker, [], Conversion(nested_type="struct"), evolves=True)
        found.append(table.land(*(texts[row] for row in rows), offset=rows).drift)
    together = NewKeys(100)
    for drift in found:
        together.note_all(drift)

    for whole in (together, merged(found)):
        assert {name: str(kind) for name, kind in columns_for(whole, "struct").items()} == {"key": "struct<KEY: long>"}


SPELLINGS = ["key", "kEY", "keY", "Key", "kEy", "KEY"]


@pytest.mark.parametrize(
    "record",
    ['{"": 1}', '{"\\n": 1}', '{"\\u0000": 1}', '{"\\ud800": 1}', f'{{"{"x" * 256}": 1}}', '{"__duckdb_field_id": 1}'],
)
def test_a_key_that_can_name_no_column_is_no_drift_but_a_reject(make_table: MakeTable, record: str) -> None:
    landed = make_table(*columns(a="long"), evolves=True).land('{"a": 1}', record, '{"a": 2}')

    assert (landed.drift, landed.rows, list(landed.rejects)) == ({}, [1, 2], [1])
    assert "cannot name a column" in landed.rejects[1].reason


def test_a_key_with_a_column_in_another_case_is_no_drift(make_table: MakeTable) -> None:
    landed = make_table(*columns(Total="long"), evolves=True).land('{"TOTAL": 1}', '{"record_metadata": 1, "total": 2}')

    assert (landed.drift, landed.rows) == ({}, [1, 2])


def test_what_is_no_json_object_is_no_drift(make_table: MakeTable) -> None:
    landed = make_table(*columns(a="long"), evolves=True).land("[1]", "nonsense", '{"b": 1', None, '{"b": NaN}')

    assert (landed.drift, landed.rows, sorted(landed.rejects)) == ({}, [None], [0, 1, 2, 4])


@pytest.mark.parametrize("nested", NESTED)
def test_a_record_that_caused_drift_keeps_all_it_had(make_table: MakeTable, nested: NestedType) -> None:
    """Half a surrogate pair in a value: the record is a reject for it, and not a row without the other new keys."""
    texts = ['{"new": 5, "x": "\\ud800"}', '{"new": 6, "x": "fine"}']
    drift = make_table(evolves=True, nested_type=nested).land(*texts).drift

    landed = make_table(*created(drift, nested), evolves=True, nested_type=nested).land(*texts)

    assert landed.rows == [(6, "fine")]
    assert "unpaired surrogate" in landed.rejects[0].reason


def created(drift: Any, nested: NestedType) -> tuple[Column, ...]:
    """The columns of a table that was created for the drift, with field ids."""
    added = [Column(0, name, kind) for name, kind in columns_for(merged([drift]), nested).items()]
    return columns_from_json(schema_to_json(added))


keys = st.sampled_from(["a", "A", "b", "é", 'q"', "x.y", "*", "element", "", "k" * 256, "nul\0", "\ud800"])
written_keys = st.tuples(keys, st.booleans()).map(
    lambda found: json.dumps(found[0], ensure_ascii=found[1] or found[0] == "\ud800")
)
nested_values: st.SearchStrategy[str] = st.recursive(
    anything | st.integers(-5, 5).map(str) | st.sampled_from(["0.5", "true", "null", '"x"', "-0"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(written_keys, inner), max_size=3, unique_by=lambda pair: pair[0]).map(written_object)
    ),
    max_leaves=6,
)
records = st.lists(st.tuples(written_keys, nested_values), min_size=1, max_size=4, unique_by=lambda pair: pair[0]).map(
    written_object
)

WHY = (
    "twice",
    "differ only by case",
    "ignoring case",
    "more than a VARIANT keeps exactly",
    "cannot name a column",
    "unpaired surrogate",
    "is not a number there",
)
"""Why a record may be a reject although the table was made for it."""


@given(st.lists(records, min_size=1, max_size=6), st.sampled_from(NESTED))
@example(['{"a": 0}', '{"a": [], "A": []}'], "variant")
@settings(LAW, max_examples=100 * TIMES)
def test_the_records_that_caused_drift_land_once_the_columns_are_there(
    worker: Worker, texts: list[str], nested: NestedType
) -> None:
    # A key that no field can have keeps a record from giving a struct its fields, and not from landing in what others
    # have given it: its other keys are found then, a round later.
    assume(nested != "struct" or not any('\\ud800":' in text for text in texts))
    conversion = Conversion(nested_type=nested)
    shape = created(Table(worker, columns(only="long"), conversion, evolves=True).land(*texts).drift, nested)
    if not shape:
        return

    landed = Table(worker, shape, conversion, evolves=True).land(*texts)

    assert landed.drift == {}
    assert not {folded(key) for key in landed.unknown} & {folded(each.name) for each in shape}
    unexplained = [number for number, (_, reason) in landed.reasons.items() if not any(each in reason for each in WHY)]
    # What keeps a record from giving any columns need not be what is first found not to fit those of others.
    assert [texts[number] for number in unexplained if lands_alone(worker, texts[number], conversion)] == []
    should = [
        row
        for number, text in enumerate(texts)
        if number not in landed.rejects
        for row in [expected(shape, text, conversion)]
    ]
    assert REJECT not in should
    rows = landed.rows if len(shape) > 1 else [(row,) for row in landed.rows]
    assert comparable(rows) == comparable(should)


def lands_alone(worker: Worker, text: str, conversion: Conversion) -> bool:
    """Whether a record lands in the table that is made for it, or gives it columns first."""
    return not Table(worker, columns(only="long"), conversion, evolves=True).land(text).rejects


@given(st.lists(records, min_size=1, max_size=4), st.sampled_from(NESTED), st.randoms(use_true_random=False))
@example(['{"k": {"b": 0, "a": [null, 0]}}', '{"k": {"b": 0, "a": [0, null]}}'], "struct", random.Random(1))
@settings(LAW, max_examples=30 * TIMES)
def test_the_columns_are_the_same_however_the_records_are_spread(
    worker: Worker, texts: list[str], nested: NestedType, shuffle: Any
) -> None:
    # What tells no type is drift only beside what does, in one task.
    assume(all(is_typed(each, nested) or each == seen("null") for text in texts for each in looks_of(text, nested)))
    conversion, shape = Conversion(nested_type=nested), columns(only="long")
    together = Table(worker, shape, conversion, evolves=True).land(*texts).drift
    spread = [*enumerate(texts)]
    shuffle.shuffle(spread)

    alone = merged(
        Table(worker, shape, conversion, evolves=True).land(text, offset=[offset]).drift for offset, text in spread
    )

    assert merged([together]) == alone
    assert columns_for(together, nested) == columns_for(alone, nested)


@given(st.lists(records, min_size=1, max_size=5), st.sampled_from(NESTED), st.data())
@settings(LAW, max_examples=60 * TIMES)
def test_what_the_decoder_passes_over_is_nothing_new(
    worker: Worker, texts: list[str], nested: NestedType, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.sampled_from(texts), min_size=1, max_size=10))
    partitions = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    conversion, shape = Conversion(nested_type=nested), columns(only="long")
    places = [(SourcePartition(TOPIC, number), offset) for offset, number in enumerate(partitions)]
    watch = DriftWatch(Projection(shape), conversion, MOST_COLUMNS, places.__getitem__, lambda _: {})
    for row in sorted(range(len(rows)), key=places.__getitem__):
        watch.look(row, rows[row].encode())

    landed = Table(worker, shape, conversion, evolves=True).land(*rows, partition=partitions)

    assert {key: whole(seen) for key, seen in landed.drift.items()} == {
        key: whole(seen) for key, seen in watch.drift.items()
    }


def whole(seen: ObservedType) -> Any:
    """All that was seen, and where first."""
    fields = seen.fields and [(name, whole(field)) for name, field in seen.fields]
    return sorted(seen.scalars), fields, seen.element and whole(seen.element), seen.first


def test_a_record_that_fits_only_the_fields_that_others_gave_gives_its_keys_a_round_later(worker: Worker) -> None:
    """By itself it would be JSON text with half a surrogate pair in it."""
    texts = ['{"late": 1, "s": {"\\ud800": 2}}', '{"s": {"b": 3}}']
    conversion = Conversion(nested_type="struct")
    first = created(Table(worker, columns(only="long"), conversion, evolves=True).land(*texts).drift, "struct")
    second = Table(worker, first, conversion, evolves=True).land(*texts).drift

    third = Table(worker, (*first, *columns(late="long")), conversion, evolves=True).land(*texts)

    assert ([column.name for column in first], [*second]) == (["s"], ["late"])
    assert (third.drift, third.rejects) == ({}, {})
    assert third.rows == [({"b": None}, 1), ({"b": 3}, None)]


def test_a_record_of_100_000_new_keys_is_looked_at_as_far_as_there_is_room() -> None:
    asked = []

    class Counting(Projection):
        def is_settled(self, key: str) -> bool:
            asked.append(key)
            return super().is_settled(key)

    watch = DriftWatch(Counting(columns(a="long")), Conversion(), 10, lambda row: (0, row), lambda _: {})
    nulls = [f'"n{number}":null' for number in range(1000)]
    record = ",".join([*nulls, *(f'"k{number}":1' for number in range(100_000))])

    assert watch.look(0, f"{{{record}}}".encode())
    assert [*watch.found] == [f"k{number}" for number in range(10)]
    assert watch.found.is_exceeded
    assert not watch.look(1, f"{{{record}}}".encode())
    assert len(asked) < 100
