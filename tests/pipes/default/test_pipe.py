"""What lands of a chunk, read back from the Parquet file without our code."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq
import pytest

from frazil.model import Column, ObservedType, Primitive
from frazil.records import metadata
from frazil.tables.rules.schema import columns_from_json, schema_to_json

from .chunks import NOW, TOPIC, column, columns, listed, mapped, struct
from .conftest import MakeTable


def test_a_clean_chunk_lands_whole_in_columns_of_every_type(make_table: MakeTable) -> None:
    shape = columns(
        flag="boolean",
        small="int",
        big="long",
        ratio="float",
        exact="double",
        price="decimal(38,2)",
        name="string",
        id="uuid",
        digest="binary",
        day="date",
        at="time",
        local="timestamp",
        moment="timestamptz",
        tags=listed("string"),
        counts=mapped("string", "long"),
        anything="variant",
        place=struct(lat="double", near=listed(struct(street="string", number="int"))),
    )
    record = {
        "flag": True,
        "small": -(2**31),
        "big": 2**63 - 1,
        "ratio": 0.5,
        "exact": 0.1,
        "price": 12,
        "name": "Zoë 😀",
        "id": "8d8ac610-566d-4ef0-9c22-186b2a5ed793",
        "digest": "00ff",
        "day": "2024-02-29",
        "at": "23:59:59.999999",
        "local": "1969-12-31T23:59:59.999999",
        "moment": "2024-01-01T00:00:00.5+05:30",
        "tags": ["a", None, ""],
        "counts": {"b": 1, "a": None},
        "anything": {"k": [1, 0.5, None]},
        "place": {"lat": -1.5, "near": [{"street": "x", "number": 1}, None]},
    }

    landed = make_table(*shape).land(json.dumps(record), json.dumps(record), "{}")

    row = (
        True,
        -(2**31),
        2**63 - 1,
        0.5,
        0.1,
        Decimal("12.00"),
        "Zoë 😀",
        "8d8ac610-566d-4ef0-9c22-186b2a5ed793",
        b"\x00\xff",
        dt.date(2024, 2, 29),
        dt.time(23, 59, 59, 999999),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 (the column has no zone)
        dt.datetime(2023, 12, 31, 18, 30, 0, 500000, tzinfo=dt.UTC),
        ["a", None, ""],
        [("b", 1), ("a", None)],
        {"k": [1, 0.5, None]},
        {"lat": -1.5, "near": [{"street": "x", "number": 1}, None]},
    )
    assert landed.rows == [row, row, (None,) * len(shape)]
    assert landed.rejects == {}


def test_the_file_carries_the_field_ids_of_columns_fields_and_elements(make_table: MakeTable) -> None:
    shape = columns(a="long", s=struct(x="int", ys=listed(struct(z="date"))))
    written = make_table(*shape).land('{"a": 1, "s": {"x": 1, "ys": [{"z": "2024-01-01"}]}}').written
    assert written

    schema = pq.read_schema(written.path)

    def field_id(field: Any) -> int:
        return int(field.metadata[b"PARQUET:field_id"])

    whole, part = shape[1], schema.field("s")
    x, ys = whole.type.fields  # type: ignore[union-attr]
    (z,) = ys.type.element.fields  # type: ignore[union-attr]
    element = part.type.field("ys").type.value_field
    assert [field_id(each) for each in schema] == [shape[0].id, whole.id]
    assert [field_id(part.type.field(name)) for name in ("x", "ys")] == [x.id, ys.id]
    assert (field_id(element), field_id(element.type.field("z"))) == (ys.type.element_id, z.id)  # type: ignore[union-attr]


def test_decimals_within_lists_and_structs_are_exact(make_table: MakeTable) -> None:
    text = "1234567890123456789012345678.0123456789"
    table = make_table(*columns(a=listed("decimal(38,10)"), s=struct(d="decimal(38,10)")))

    assert table.land(f'{{"a": [{text}], "s": {{"d": {text}}}}}').rows == [([Decimal(text)], {"d": Decimal(text)})]


def test_keys_find_their_columns_whatever_the_case_and_absent_ones_are_null(make_table: MakeTable) -> None:
    table = make_table(*columns(Amount="long", CURRENCY="string"))

    landed = table.land('{"amount": 1, "Currency": "a"}', '{"AMOUNT": 2}', '{"Amount": 3, "currency": "c"}', "{}")

    assert landed.rows == [(1, "a"), (2, None), (3, "c"), (None, None)]
    assert table.land('{"aMOUNT": 4}').rows == [(4, None)]


def test_of_two_spellings_the_one_with_a_value_counts(make_table: MakeTable) -> None:
    landed = make_table(*columns(a="long")).land('{"a": 1, "A": null}', '{"A": 2, "a": null}', '{"a": null, "A": null}')

    assert (landed.rows, landed.rejects) == ([1, 2, None], {})


def test_a_tombstone_and_an_empty_value_are_rows_of_nulls(make_table: MakeTable) -> None:
    landed = make_table(*columns(a="long", b="string")).land(None, "", '{"a": 1}')

    assert (landed.rows, landed.rejects) == ([(None, None), (None, None), (1, None)], {})


def test_columns_may_have_any_name_a_table_can_have(make_table: MakeTable) -> None:
    names = ['we"ird', "back\\slash", "a.b", "p/q~r", "'quoted'", "é😀", "*", "$", "#", "parsed 0", "value", "a b", "0"]
    shape = [column(name, "long") for name in names] + [column('s"', struct(**{'q"\\': "long", "*": struct(z="int")}))]
    record = {name: number for number, name in enumerate(names)} | {'s"': {'q"\\': 7, "*": {"z": 1}}}

    landed = make_table(*shape).land(json.dumps(record), json.dumps(record), '{"s\\"": null, "*": null}')

    row = (*range(len(names)), {'q"\\': 7, "*": {"z": 1}})
    assert landed.rejects == {}
    assert landed.rows == [row, row, (None,) * len(shape)]


def test_escaped_keys_are_the_same_keys(make_table: MakeTable) -> None:
    table = make_table(*columns(aé="long"))

    assert table.land('{"\\u0061\\u00e9": 1}', '{"aé": 2}', '{"A\\u00c9": 3}').rows == [1, 2, 3]


def test_keys_without_a_column_are_dropped_and_counted_by_record(make_table: MakeTable) -> None:
    keys = ["new", 'we"ird', "back\\slash", "", "a.b/c", "😀", "\0", "\n", "x" * 300, "RECORD_METADATA"]
    records = [json.dumps({"a": 1, **dict.fromkeys(keys, 5)}), '{"a": 2, "new": null}', '{"a": 3.0, "new": [1]}', "{}"]

    landed = make_table(*columns(a="long")).land(*records)

    assert (landed.rows, landed.rejects) == ([1, 2, 3, None], {})
    assert landed.unknown == {**dict.fromkeys(keys, 1), "new": 3}


def test_hundreds_of_distinct_unknown_keys_are_all_counted(make_table: MakeTable) -> None:
    records = [{"a": number, "common": 1, **{f"k{number}_{each}": each for each in range(60)}} for number in range(20)]

    landed = make_table(*columns(a="long")).land(*map(json.dumps, records))

    assert landed.rows == list(range(20))
    assert landed.unknown == {"common": 20, **{f"k{number}_{each}": 1 for number in range(20) for each in range(60)}}


def test_unknown_keys_of_rejected_records_are_not_counted(make_table: MakeTable) -> None:
    landed = make_table(*columns(a="long")).land('{"a": "x", "new": 1}', '{"a": 1}')

    assert (landed.rows, landed.unknown, list(landed.rejects)) == ([1], {}, [0])


@pytest.mark.parametrize("uniform", [True, False])
def test_what_is_dropped_may_be_anything(make_table: MakeTable, uniform: bool) -> None:
    records = [
        '{"a": 1, "new": 1, "new": 2}',
        '{"a": 2, "new": "\\ud800"}',
        '{"a": 3, "new": {"k": 1, "k": 1}}',
        '{"a": 4, "n": 1e999}',
    ]

    landed = make_table(*columns(a="long")).land(*records, *([] if uniform else ["{}"]))

    assert (landed.rows, landed.rejects) == ([1, 2, 3, 4] + ([] if uniform else [None]), {})


def test_metadata_lands_beside_the_values(make_table: MakeTable) -> None:
    created = Column(0, metadata.COLUMN, metadata.column_type()), Column(0, "topic", Primitive("string"))

    landed = make_table(*columns_from_json(schema_to_json(created))).land(
        '{"topic": "mine", "record_metadata": 1}', None, key=[b"k", None], headers=[[("h", b"v")], None]
    )

    (told, mine), (_, nothing) = landed.rows
    assert (mine, nothing) == ("mine", None)
    assert (told["topic"], told["partition"], told["offset"]) == (TOPIC, 0, 0)
    assert told["headers"] == [("h", "v")]
    assert (told["CreateTime"], told["SnowflakeConnectorPushTime"], told["key"]) == (NOW, NOW, "k")


def test_a_table_that_evolves_writes_nothing_before_its_columns_are_known(make_table: MakeTable) -> None:
    landed = make_table(evolves=True).land(
        '{"a": 1}', '{"a": 1.5, "b": null}', '{"b": {}}', '{"c": 1, "": 1, "\\n": 2}', "[1]", "nonsense"
    )

    assert landed.drift == {
        "a": ObservedType(frozenset({"long", "double"})),
        "b": ObservedType(fields=()),
    }
    assert landed.written is None


def test_a_chunk_of_which_the_exact_tier_reads_every_record_lands_too(make_table: MakeTable) -> None:
    found = make_table(*columns(a="long", b="double")).land('{"A": 1.0, "b": "-inf"}').rows

    assert found == [(1, -math.inf)]


@pytest.mark.parametrize("key", ["", "\n", "\0", "x" * 256])
def test_a_key_that_cannot_name_a_column_is_a_reject_while_keys_become_columns(make_table: MakeTable, key: str) -> None:
    landed = make_table(*columns(a="long"), evolves=True).land('{"a": 1}', json.dumps({"a": 2, key: 3}), '{"a": 4}')

    assert landed.rows == [1, 4]
    assert "cannot name a column" in landed.rejects[1].reason


def test_a_chunk_of_which_nothing_is_left_writes_no_file(make_table: MakeTable) -> None:
    assert make_table(*columns(a="long")).land("[]", "1").written is None


@pytest.mark.parametrize("evolves", [True, False])
def test_a_byte_order_mark_before_a_value_is_passed_over(make_table: MakeTable, evolves: bool) -> None:
    table = make_table(*columns(a="long", b="string"), evolves=evolves)

    landed = table.land('\ufeff{"a": 1, "b": "x"}', '\ufeff {"a": 2, "b": 3}', '{"a": 4, "b": "\ufeff"}', "\ufeff")

    assert landed.rows == [(1, "x"), (2, "3"), (4, "\ufeff"), (None, None)]


def test_keys_of_records_with_a_byte_order_mark_become_columns(make_table: MakeTable) -> None:
    assert set(make_table(evolves=True).land('\ufeff{"a": 1}').drift) == {"a"}
