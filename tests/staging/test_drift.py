"""Keys without a column on a table that evolves: what is seen of them, and that their records land afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.model import Column, Conversion, Seen
from frazil.tables.evolution import NestedType, columns_for, merged
from frazil.tables.schema import columns_from_json, schema_to_json

from .chunks import Table, Worker, columns
from .conftest import MakeTable
from .generated import anything, written_object
from .reading import REJECT, expected
from .test_law import LAW, TIMES, comparable

NESTED: tuple[NestedType, ...] = ("variant", "json", "struct")


def seen(*scalars: str, **others: Any) -> Seen:
    return Seen(frozenset(scalars), **others)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["null"], seen("null")),
        (["true", "false"], seen("boolean")),
        (["1", "-9223372036854775808", "9223372036854775807", "-0"], seen("long")),
        (["9223372036854775808"], seen("huge")),
        (["-9223372036854775809", "1" * 400], seen("huge")),
        (["1.0", "1e3", "1E-400"], seen("double")),
        # No double holds it.
        (["1e400"], seen("huge")),
        (['"1"', '""', '"\\ud83d\\ude00"'], seen("string")),
        (["1", "null", '"x"'], seen("long", "null", "string")),
        (["{}"], seen(fields=())),
        (["[]"], seen(element=Seen())),
        (['{"b": 1, "a": null}'], seen(fields=(("b", seen("long")), ("a", seen("null"))))),
        (['{"b": 1}', '{"a": 2, "b": 0.5}'], seen(fields=(("a", seen("long")), ("b", seen("double", "long"))))),
        (["[1, null, [true]]"], seen(element=seen("long", "null", element=seen("boolean")))),
        (["[]", "{}", "1"], seen("long", fields=(), element=Seen())),
        (['[{"a": 1}, {"b": []}]'], seen(element=seen(fields=(("a", seen("long")), ("b", seen(element=Seen())))))),
        # What only the exact tier can read.
        (
            ['{"a": "\\ud800", "b": [1, 2.5, null, true]}'],
            seen(fields=(("a", seen("string")), ("b", seen(element=seen("long", "double", "null", "boolean"))))),
        ),
    ],
)
def test_what_values_look_like(make_table: MakeTable, values: list[str], found: Seen) -> None:
    landed = make_table(evolves=True, nested_type="struct").land(*(f'{{"k": {value}}}' for value in values))

    assert merged([landed.drift]) == merged([{"k": found}])
    assert landed.written is None


@pytest.mark.parametrize("nested", ["variant", "json"])
def test_nobody_looks_into_objects_and_arrays_that_become_one_column(make_table: MakeTable, nested: str) -> None:
    landed = make_table(evolves=True, nested_type=nested).land('{"k": {"a": 1}}', '{"k": [1]}', '{"k": "\\ud800"}')

    assert landed.drift == {"k": seen("string", fields=(), element=Seen())}


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
    "is no number there",
)
"""Why a record may be a reject although the table was made for it."""


@given(st.lists(records, min_size=1, max_size=6), st.sampled_from(NESTED))
@settings(LAW, max_examples=100 * TIMES)
def test_the_records_that_caused_drift_land_once_the_columns_are_there(
    worker: Worker, texts: list[str], nested: NestedType
) -> None:
    conversion = Conversion(nested_type=nested)
    shape = created(Table(worker, [], conversion, evolves=True).land(*texts).drift, nested)
    if not shape:
        return

    landed = Table(worker, shape, conversion, evolves=True).land(*texts)

    assert landed.drift == {}
    assert landed.unknown == {}
    assert [reason for _, reason in landed.reasons.values() if not any(each in reason for each in WHY)] == []
    should = [
        row
        for number, text in enumerate(texts)
        if number not in landed.rejects
        for row in [expected(shape, text, conversion)]
    ]
    assert REJECT not in should
    rows = landed.rows if len(shape) > 1 else [(row,) for row in landed.rows]
    assert comparable(rows) == comparable(should)


@given(st.lists(records, min_size=1, max_size=4), st.sampled_from(NESTED), st.randoms(use_true_random=False))
@settings(LAW, max_examples=30 * TIMES)
def test_the_columns_are_the_same_however_the_records_are_spread(
    worker: Worker, texts: list[str], nested: NestedType, shuffle: Any
) -> None:
    conversion = Conversion(nested_type=nested)
    together = Table(worker, [], conversion, evolves=True).land(*texts).drift
    shuffle.shuffle(texts)

    alone = merged(Table(worker, [], conversion, evolves=True).land(text).drift for text in texts)

    assert merged([together]) == alone
    assert columns_for(together, nested) == columns_for(alone, nested)
