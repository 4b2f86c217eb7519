"""Records with schemas: what their fields are decides about columns, whatever the values look like."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from frazil.model import Column, Conversion, ConverterSpec, SchemaChange, TableRules
from frazil.pipes.changes import changed
from frazil.pipes.evolution import NestedType, columns_for, unambiguous
from frazil.tables.rules.schema import columns_from_json, schema_to_json

from .chunks import Landing, Table, Worker, column, columns, fates, listed, mapped, primitive, struct

CONNECT, DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium."
EVOLVING = TableRules(types="evolve", may_change=True)
PLAIN = Conversion(binary="base64")


def conversion(nested: NestedType = "variant", **more: Any) -> Conversion:
    return Conversion(
        **{"binary": "base64", **more}, value_converter=ConverterSpec("json_envelope"), nested_type=nested
    )


def kind(type_: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": type_, "optional": True, "name": name, **more}


def decimal(scale: int, precision: int | None = None) -> dict[str, Any]:
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return kind("bytes", f"{CONNECT}Decimal", parameters=parameters)


def record_of(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return kind("struct", fields=[{**each, "field": name} for name, each in fields.items()])


def enveloped(fields: Mapping[str, Any], **values: Any) -> str:
    """A record whose schema has these fields; those without a value are null."""
    return json.dumps({"schema": record_of(**fields), "payload": values})


def plain(**values: Any) -> str:
    """A record in an envelope without a schema."""
    return json.dumps({"schema": None, "payload": values})


def texts(columns_: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(each) for name, each in columns_.items()}


def made(landing: Landing, nested: NestedType = "variant") -> dict[str, str]:
    """The columns that were asked for, with their types."""
    return texts(columns_for(landing.drift, nested))


def settled(
    worker: Worker, converted: Conversion, before: tuple[Column, ...], *records: str
) -> tuple[tuple[Column, ...], Landing]:
    """The columns once the table has changed for some records, and what became of these then."""
    for _ in range(3):
        landed = Table(worker, before, converted, evolves=True, rules=EVOLVING).land(*records)
        added = unambiguous(columns_for(landed.drift, converted.nested_type), before)
        if not added and landed.change == SchemaChange():
            return before, landed
        after = (*changed(before, landed.change), *(Column(0, name, each) for name, each in added.items()))
        before = columns_from_json(schema_to_json(after))
    raise AssertionError(f"the table changes again and again: {landed.change}, {landed.drift}")


FINE = 1_790_000_000_123_456
AT = dt.datetime(2026, 9, 21, 14, 13, 20, 123456)  # noqa: DTZ001 (the column has no zone)
TYPES: dict[str, tuple[dict[str, Any], Any, str, Any]] = {
    "int8": (kind("int8"), 1, "int", 1),
    "int16": (kind("int16"), 2, "int", 2),
    "int32": (kind("int32"), 2**31 - 1, "int", 2**31 - 1),
    "int64": (kind("int64"), 2**63 - 1, "long", 2**63 - 1),
    "float32": (kind("float"), 1.5, "float", 1.5),
    "float64": (kind("double"), 0.1, "double", 0.1),
    "no_number": (kind("double"), "NaN", "double", "nan"),
    "boolean": (kind("boolean"), True, "boolean", True),
    "string": (kind("string"), "12", "string", "12"),
    "bytes": (kind("bytes"), base64.b64encode(b"\xff\x00\x10").decode(), "binary", b"\xff\x00\x10"),
    "decimal": (decimal(2, 12), 1234567890.10, "decimal(12,2)", Decimal("1234567890.10")),
    "decimal_38": (decimal(3), 0.125, "decimal(38,3)", Decimal("0.125")),
    "decimal_small": (decimal(4, 2), 0.0099, "decimal(4,4)", Decimal("0.0099")),
    "decimal_hundreds": (decimal(-2, 5), 1_234_500, "decimal(7,0)", Decimal(1_234_500)),
    "decimal_64": (decimal(2, 64), 1.25, "string", "1.25"),
    "decimal_none": (decimal(39), 0, "string", "0"),
    "date": (kind("int32", f"{CONNECT}Date"), 80, "date", dt.date(1970, 3, 22)),
    "leap_day": (kind("int32", f"{CONNECT}Date"), 19_782, "date", dt.date(2024, 2, 29)),
    "time": (kind("int32", f"{CONNECT}Time"), 36_930_250, "time", dt.time(10, 15, 30, 250_000)),
    "timestamp": (kind("int64", f"{CONNECT}Timestamp"), FINE // 1000, "timestamp", AT.replace(microsecond=123_000)),
    "d_date": (kind("int32", f"{DEBEZIUM}time.Date"), 80, "date", dt.date(1970, 3, 22)),
    "d_time": (kind("int32", f"{DEBEZIUM}time.Time"), 1, "time", dt.time(0, 0, 0, 1000)),
    "micro_time": (kind("int64", f"{DEBEZIUM}time.MicroTime"), 1, "time", dt.time(0, 0, 0, 1)),
    "nano_time": (kind("int64", f"{DEBEZIUM}time.NanoTime"), 1, "string", "00:00:00.000000001"),
    "d_timestamp": (kind("int64", f"{DEBEZIUM}time.Timestamp"), FINE // 1000, "timestamp", AT.replace(microsecond=123_000)),
    "micro_timestamp": (kind("int64", f"{DEBEZIUM}time.MicroTimestamp"), FINE, "timestamp", AT),
    "nano_timestamp": (
        *(kind("int64", f"{DEBEZIUM}time.NanoTimestamp"), FINE * 1000 + 7),
        *("string", "2026-09-21T14:13:20.123456007"),
    ),
    "zoned": (
        *(kind("string", f"{DEBEZIUM}time.ZonedTimestamp"), "2026-01-02T12:00:00+05:00"),
        *("timestamptz", dt.datetime(2026, 1, 2, 7, tzinfo=dt.UTC)),
    ),
    "json": (kind("string", f"{DEBEZIUM}data.Json"), '{"a": 1}', "variant", {"a": 1}),
    "variable": (
        record_of(scale=kind("int32"), value=kind("bytes")) | {"name": f"{DEBEZIUM}data.VariableScaleDecimal"},
        {"scale": 1, "value": base64.b64encode(b"\x0f").decode()},
        *("string", "1.5"),
    ),
}  # fmt: skip
"""Of each field: its schema, a value, the type of its column, and the value there."""


def test_a_schema_decides_the_type_of_each_column_also_where_the_value_is_null(worker: Worker) -> None:
    fields = {name: each[0] for name, each in TYPES.items()}
    table = Table(worker, columns(id="long"), conversion(), evolves=True)

    landed = table.land(enveloped(fields))

    assert made(landed) == {name: each[2] for name, each in TYPES.items()}


def test_values_land_exactly_in_the_columns_of_their_schemas(worker: Worker) -> None:
    fields, values = {name: each[0] for name, each in TYPES.items()}, {name: each[1] for name, each in TYPES.items()}

    found, landed = settled(worker, conversion(), columns(id="long"), enveloped(fields), enveloped(fields, **values))

    nothing, row = (dict(zip((each.name for each in found), each, strict=True)) for each in landed.rows)
    assert nothing == dict.fromkeys(nothing)
    row["no_number"] = str(row["no_number"])
    assert row == {"id": None, **{name: each[3] for name, each in TYPES.items()}}


NESTED = {
    "money": kind("array", items=decimal(2, 5)),
    "by_name": kind("map", keys=kind("string"), values=kind("int32", f"{CONNECT}Date")),
    "by_number": kind("map", keys=kind("int32"), values=kind("string")),
    "place": record_of(city=kind("string"), since=kind("int32", f"{CONNECT}Date"), price=decimal(2, 9)),
    "data": kind("array", items=kind("bytes")),
    "moments": kind("array", items=kind("int64", f"{CONNECT}Timestamp")),
}


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        ("variant", dict.fromkeys(NESTED, "variant")),
        ("json", dict.fromkeys(NESTED, "string")),
        (
            "struct",
            {
                "money": "list<decimal(5,2)>",
                "by_name": "map<string, date>",
                "by_number": "map<int, string>",
                "place": "struct<city: string, price: decimal(9,2), since: date>",
                "data": "list<binary>",
                "moments": "list<timestamp>",
            },
        ),
    ],
)
@pytest.mark.parametrize("values", [{}, {"money": [], "by_name": {}, "by_number": [], "place": {}, "data": []}])
def test_nested_columns_follow_the_types_within_also_where_nothing_is_in_them(
    worker: Worker, nested: NestedType, expected: dict[str, str], values: dict[str, Any]
) -> None:
    table = Table(worker, columns(id="long"), conversion(nested), evolves=True)

    assert made(table.land(enveloped(NESTED, **values)), nested) == expected


def test_nested_values_land_exactly_in_lists_maps_and_structs(worker: Worker) -> None:
    values = {
        "money": [1.25, None, 999.99],
        "by_name": {"a": 80, "b": None},
        "by_number": [[7, "seven"]],
        "place": {"city": "Bonn", "since": 80, "price": 1234567.89},
        "data": [base64.b64encode(b"\xff").decode(), None],
        "moments": [FINE // 1000],
    }

    found, landed = settled(worker, conversion("struct"), columns(id="long"), enveloped(NESTED, **values))

    (row,) = (dict(zip((each.name for each in found), each, strict=True)) for each in landed.rows)
    day = dt.date(1970, 3, 22)
    assert row == {
        "id": None,
        "money": [Decimal("1.25"), None, Decimal("999.99")],
        "by_name": [("a", day), ("b", None)],
        "by_number": [(7, "seven")],
        "place": {"city": "Bonn", "price": Decimal("1234567.89"), "since": day},
        "data": [b"\xff", None],
        "moments": [AT.replace(microsecond=123_000)],
    }


def test_bytes_are_texts_where_columns_of_bytes_take_hexadecimal_digits(worker: Worker) -> None:
    fields = {"raw": kind("bytes"), "all": kind("array", items=kind("bytes"))}

    found, landed = settled(
        worker, conversion("struct", binary="hex"), columns(id="long"), enveloped(fields, raw="abcd", all=["abcd"])
    )

    assert texts({each.name: each.type for each in found}) == {"id": "long", "all": "list<string>", "raw": "string"}
    assert landed.rows == [(None, ["abcd"], "abcd")]


@pytest.mark.parametrize("nested", ["variant", "json", "struct"])
def test_records_without_a_schema_go_by_their_values_in_the_same_topic(worker: Worker, nested: NestedType) -> None:
    table = Table(worker, columns(id="long"), conversion(nested), evolves=True)

    landed = table.land(plain(a=1, b=1.5, c=None, d="x"), enveloped({"c": decimal(2, 5), "e": kind("int32")}))

    expected = {"a": "long", "b": "double", "c": "decimal(5,2)", "d": "string", "e": "int"}
    assert made(landed, nested) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (kind("int32"), kind("int64"), "long"),
        (kind("int64"), kind("double"), "double"),
        (decimal(2, 5), decimal(3, 5), "decimal(6,3)"),
        (decimal(2, 5), kind("int32"), "decimal(12,2)"),
        (decimal(2, 5), kind("double"), "string"),
        (kind("int32", f"{CONNECT}Date"), kind("string"), "string"),
        (kind("array", items=kind("int32")), kind("array", items=kind("int64")), "list<long>"),
        (record_of(a=kind("int32")), record_of(b=decimal(2, 5)), "struct<a: int, b: decimal(5,2)>"),
        (kind("array", items=kind("int32")), kind("int32"), "string"),
    ],
)
def test_schemas_of_one_cycle_that_disagree_have_the_type_that_holds_both(
    worker: Worker, one: dict[str, Any], other: dict[str, Any], expected: str
) -> None:
    for first, second in ((one, other), (other, one)):
        table = Table(worker, columns(id="long"), conversion("struct"), evolves=True)
        landed = table.land(enveloped({"k": first}), enveloped({"k": second}))
        assert made(landed, "struct") == {"k": expected}


def test_values_without_a_schema_beside_a_decimal_keep_all_their_digits(worker: Worker) -> None:
    records = (plain(k=1.005), enveloped({"k": decimal(2, 5)}, k=1.25), plain(k=0.1))

    found, landed = settled(worker, conversion(), columns(id="long"), *records)

    assert str(found[1].type) == "string"
    assert [row[1] for row in landed.rows] == ["1.005", "1.25", "0.1"]


LATER: dict[str, tuple[str, dict[str, Any], str]] = {
    "int_to_long": ("int", kind("int64"), "long"),
    "float_to_double": ("float", kind("double"), "double"),
    "more_digits": ("decimal(5,2)", decimal(2, 9), "decimal(9,2)"),
    "all_digits": ("decimal(5,2)", decimal(2), "decimal(38,2)"),
    # No promotion of Iceberg's.
    "other_scale": ("decimal(5,2)", decimal(3, 9), "decimal(5,2)"),
    "fewer_digits": ("decimal(9,2)", decimal(2, 5), "decimal(9,2)"),
    "narrower": ("long", kind("int32"), "long"),
    "another": ("int", kind("string"), "int"),
    "to_double": ("long", kind("double"), "long"),
}


@pytest.mark.parametrize("case", LATER)
def test_a_wider_type_of_a_later_schema_widens_the_column_whatever_the_value_is(worker: Worker, case: str) -> None:
    before, after, expected = LATER[case]

    found, landed = settled(worker, conversion(), columns(k=before), enveloped({"k": after}))

    assert [str(each.type) for each in found] == [expected]
    assert landed.rows == [None]


def test_a_field_that_a_later_schema_adds_to_a_struct_comes_with_its_first_record(worker: Worker) -> None:
    before = columns(
        place=struct(city="string", at=struct(x="int")),
        all=listed(struct(n="int")),
        by=mapped("string", struct(n="float")),
    )
    place = record_of(city=kind("string"), price=decimal(2, 5), at=record_of(x=kind("int64"), y=kind("int32")))
    fields = {
        "place": place,
        "all": kind("array", items=record_of(n=kind("int64"), m=kind("int32", f"{CONNECT}Date"))),
        "by": kind("map", keys=kind("string"), values=record_of(n=kind("double"), m=kind("bytes"))),
    }

    found, landed = settled(
        worker, conversion("struct"), before, enveloped(fields, place={"city": "Bonn", "price": None, "at": None})
    )

    assert [str(each.type) for each in found] == [
        "struct<city: string, at: struct<x: long, y: int>, price: decimal(5,2)>",
        "list<struct<n: long, m: date>>",
        "map<string, struct<n: double, m: binary>>",
    ]
    assert landed.rows == [({"city": "Bonn", "at": None, "price": None}, None, None)]


def test_a_field_of_a_struct_is_what_the_schema_says_where_structs_are_not_made(worker: Worker) -> None:
    before = columns(place=struct(city="string"))
    fields = {"place": record_of(city=kind("string"), price=decimal(2, 5))}

    found, landed = settled(
        worker, conversion("variant"), before, enveloped(fields, place={"city": "Bonn", "price": 1.25})
    )

    assert str(found[0].type) == "struct<city: string, price: decimal(5,2)>"
    assert landed.rows == [{"city": "Bonn", "price": Decimal("1.25")}]


@pytest.mark.parametrize("types", ["freeze", "discard", "rescue"])
def test_a_contract_that_keeps_types_keeps_them_against_later_schemas(worker: Worker, types: Any) -> None:
    rules = TableRules(types=types, may_change=True)
    table = Table(worker, columns(k="int"), conversion(), evolves=True, rules=rules)

    landed = table.land(enveloped({"k": kind("int64")}, k=5))

    assert (landed.change, landed.rows) == (SchemaChange(), [5])


def test_a_table_that_gets_no_columns_gets_wider_types_of_later_schemas(worker: Worker) -> None:
    table = Table(worker, columns(k="int"), conversion(), evolves=False, rules=EVOLVING)

    landed = table.land(enveloped({"k": kind("int64"), "new": kind("int32")}, k=5))

    assert landed.drift == {}
    assert landed.change == SchemaChange(widen={("k",): primitive("long")})


def test_a_table_that_does_not_change_stays_as_it_is_for_all_schemas(worker: Worker) -> None:
    table = Table(worker, columns(k="int"), conversion())

    landed = table.land(enveloped({"k": kind("int64"), "new": kind("int32")}, k=5, new=1))

    assert (landed.drift, landed.change, landed.rows, landed.unknown) == ({}, SchemaChange(), [5], {"new": 1})


def test_a_schema_whose_records_are_all_rejected_gives_no_columns(worker: Worker) -> None:
    fields = {"k": kind("int32"), "id": kind("string")}
    table = Table(worker, columns(id="long"), conversion(), evolves=True, rules=EVOLVING)

    landed = table.land(*(enveloped(fields, k=1, id=text) for text in ("none", "neither")))
    later = table.land(enveloped(fields, k=1, id="none"), enveloped(fields, id="7"), enveloped(fields, id="none"))

    assert (landed.drift, sorted(landed.rejects)) == ({}, [0, 1])
    assert made(later) == {"k": "int"}


def test_what_a_rejected_record_would_widen_stays_narrow(worker: Worker) -> None:
    fields = {"k": kind("int64"), "id": kind("string")}
    table = Table(worker, columns(id="long", k="int"), conversion(), evolves=True, rules=EVOLVING)

    landed = table.land(enveloped(fields, k=1, id="none"))

    assert (landed.change, sorted(landed.rejects)) == (SchemaChange(), [0])


def test_keys_of_schemas_that_differ_only_by_case_are_one_column_spelled_as_the_first(worker: Worker) -> None:
    records = (enveloped({"Total": kind("int32")}), enveloped({"total": kind("int64")}))

    landed = Table(worker, columns(id="long"), conversion(), evolves=True).land(*records, partition=[1, 0])

    assert made(landed) == {"total": "long"}


def test_a_table_gets_as_many_columns_from_schemas_as_there_is_room_for(worker: Worker) -> None:
    fields = {f"k{number}": kind("int32") for number in range(5)}
    table = Table(worker, columns(id="long"), conversion(), evolves=True, column_budget=3)

    assert made(table.land(enveloped(fields))) == {"k0": "int", "k1": "int", "k2": "int"}


def test_a_tombstone_has_no_schema_and_changes_nothing(worker: Worker) -> None:
    table = Table(worker, columns(id="long"), conversion(), evolves=True)

    landed = table.land(None, enveloped({"id": kind("int64")}, id=1), None)

    assert (landed.drift, landed.rows) == ({}, [None, 1, None])


def test_defaults_of_schemas_fill_what_is_null(worker: Worker) -> None:
    fields = {"left": {**kind("int32"), "default": 7}, "day": {**kind("int32", f"{CONNECT}Date"), "default": 80}}

    found, landed = settled(worker, conversion(), columns(id="long"), enveloped(fields))

    assert [str(each.type) for each in found] == ["long", "date", "int"]
    assert landed.rows == [(None, dt.date(1970, 3, 22), 7)]


def test_a_required_field_makes_a_column_that_may_be_null(worker: Worker) -> None:
    needed = {**kind("int32"), "optional": False}

    found, _ = settled(worker, conversion(), columns(id="long"), enveloped({"k": needed}, k=1))

    assert not found[1].required


def test_an_optional_field_leaves_a_column_required_until_it_brings_null(worker: Worker) -> None:
    before = (column("k", "int", required=True),)

    kept, _ = settled(worker, conversion(), before, enveloped({"k": kind("int32")}, k=1))
    relaxed, landed = settled(worker, conversion(), before, enveloped({"k": kind("int32")}))

    assert [each[0].required for each in (kept, relaxed)] == [True, False]
    assert landed.rows == [None]


def test_many_records_of_a_schema_land_as_the_first_did(worker: Worker) -> None:
    fields = {name: each[0] for name, each in TYPES.items()}
    values = {name: each[1] for name, each in TYPES.items()}
    records = [enveloped(fields, **values) if number % 3 else enveloped(fields) for number in range(300)]

    _, landed = settled(worker, conversion(), columns(id="long"), *records)

    assert len(landed.rows) == 300
    assert [row == landed.rows[0] for row in landed.rows] == [number % 3 == 0 for number in range(300)]


MOMENTS = [
    *("2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05z"),
    *("2026-01-02T03:04:05+05:00", "2026-01-02T23:04:05.123456-05:30", "2026-01-02T03:04:05.1234567Z", "2024-02-29"),
    *("2024-02-29T00:00:00.000Z", "2023-02-29", "2023-02-29T00:00:00.000Z", "2026-04-31", "0000-01-01", "0001-01-01"),
    *("0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "+10000-01-01T00:00:00.000Z", "-0001-01-01", "12:00:00"),
    *("2026-01-02T24:00:00Z", "2026-01-02T23:59:60Z", "2026-01-02 03:04:05", " 2026-01-02", "1767323045", "", "x"),
    *("2026-1-2", "2026-01-02T03:04Z", "2026-01-02T03:04:05+00:00", "2026-01-02\n", "２０２６-01-02"),
]
BYTES = [
    "",
    "AA==",
    "AB==",
    "AAA=",
    "AAB=",
    "AAAA",
    "AAAAAA==",
    "abcd",
    "AA",
    "A===",
    "AA=",
    "+/+/",
    "-_-_",
    "AA==\n",
    "é",
]


@pytest.mark.parametrize("name", ["date", "timestamp", "timestamptz", "binary", "fixed[2]", "list", "struct", "map"])
def test_a_text_lands_as_it_does_without_a_schema(worker: Worker, name: str) -> None:
    within = {"list": listed("date"), "struct": struct(a="timestamp", b="binary"), "map": mapped("string", "date")}
    shape = columns(k=within.get(name, name))
    given = [json.dumps(each) for each in (BYTES if name in ("binary", "fixed[2]") else MOMENTS)]
    if name in within:
        around = {"list": "[{}]", "map": '{{"a": {}}}', "struct": '{{"a": {}, "b": "AAAA"}}'}
        given = [around[name].format(each) for each in given]
    of_schema = Table(worker, shape, conversion())
    envelope = '{{"schema": null, "payload": {}}}'

    class Enveloped:
        columns = of_schema.columns

        def land(self, *values: str) -> Landing:
            return of_schema.land(*(envelope.format(each) for each in values))

    found = fates(Enveloped(), given)  # type: ignore[arg-type]

    assert found == fates(Table(worker, shape, PLAIN), given)
    assert len({str(each) for each in found.values()}) > 1


def test_bytes_in_base64_are_as_long_as_their_column_allows_and_default_to_what_it_says(worker: Worker) -> None:
    shape = (replace(column("k", "binary"), length=2), column("d", "binary", default='"ff00"'))
    table = Table(worker, shape, conversion())

    landed = table.land(*(plain(k=base64.b64encode(each).decode()) for each in (b"ab", b"abc", b"\xff")))

    assert landed.rows == [(b"ab", b"\xff\x00"), (b"\xff", b"\xff\x00")]
    assert landed.reasons == {1: ("k", "'YWJj' has 3 bytes, and the column takes 2")}
