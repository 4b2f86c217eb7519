"""Iceberg types in DuckDB: how they are spelled, read from JSON and cast, tried in DuckDB itself."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.types import cast, field_ids, file_name, has, json_structure, read_type, sql_type, unsupported

LONG = Primitive("long")
STRING = Primitive("string")
BINARY = Primitive("binary")
VARIANT = Primitive("variant")
ALL = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "string",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
    "uuid",
    "binary",
]


def listed(kind: IcebergType) -> ListType:
    return ListType(1, kind, element_required=False)


def mapped(key: IcebergType, value: IcebergType) -> MapType:
    return MapType(1, key, 2, value, value_required=False)


def struct(**kinds: IcebergType) -> StructType:
    return StructType(tuple(Column(number, name, kind) for number, (name, kind) in enumerate(kinds.items(), 1)))


@pytest.mark.parametrize(
    "kind",
    [
        *map(Primitive, ALL),
        VARIANT,
        listed(VARIANT),
        struct(v=VARIANT),
        mapped(Primitive("fixed[2]"), VARIANT),
        Primitive("fixed[16]"),
        Primitive("decimal", 38, 2),
        listed(struct(a=LONG)),
        *(mapped(Primitive(key), Primitive(key)) for key in ALL),
        mapped(Primitive("decimal", 9, 2), listed(mapped(STRING, struct(b=BINARY)))),
    ],
)
def test_types_records_are_projected_to(kind: IcebergType) -> None:
    assert unsupported(kind) is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Primitive("geometry"), "geometry"),
        (Primitive("geography"), "geography"),
        (Primitive("unknown"), "unknown"),
        (mapped(VARIANT, LONG), "map whose keys are no scalars"),
        (mapped(struct(a=LONG), LONG), "map whose keys are no scalars"),
        (Primitive("fixed"), "fixed"),
        (mapped(STRING, Primitive("geometry")), "geometry"),
        (struct(**{"": LONG}), "struct with a field without a name"),
        (struct(**{"a\0": LONG}), "struct with a field named 'a\\x00'"),
        (struct(), "struct without fields"),
        (struct(a=LONG, b=LONG, A=STRING), "struct with fields that differ only by case"),
        (listed(struct(s=struct(t=Primitive("geometry")))), "geometry"),
    ],
)
def test_types_records_cannot_be_projected_to_are_named(kind: IcebergType, reason: str) -> None:
    assert unsupported(kind) == reason
    assert unsupported(struct(fine=LONG, nested=listed(struct(deep=kind)))) is not None


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        (Primitive("decimal", 9, 2), "DECIMAL(9,2)", "DECIMAL(9,2)"),
        (BINARY, "BLOB", "VARCHAR"),
        (VARIANT, "VARIANT", "JSON"),
        (listed(BINARY), "BLOB[]", "VARCHAR[]"),
        (mapped(LONG, BINARY), "MAP(BIGINT, BLOB)", "MAP(VARCHAR, VARCHAR)"),
        (struct(**{'a"b': listed(Primitive("time"))}), 'STRUCT("a""b" TIME[])', 'STRUCT("a""b" TIME[])'),
    ],
)
def test_types_are_spelled_as_duckdb_spells_them(kind: IcebergType, written: str, read: str) -> None:
    assert sql_type(kind) == written
    assert read_type(kind) == read


UUID = "8d8ac610-566d-4ef0-9c22-186b2a5ed793"
DEEP = struct(b=BINARY, l=listed(BINARY), m=mapped(BINARY, listed(struct(b=BINARY))))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Primitive("boolean"), "true", True),
        (
            Primitive("decimal", 38, 10),
            "1234567890123456789012345678.0123456789",
            Decimal("1234567890123456789012345678.0123456789"),
        ),
        (Primitive("time"), '"12:30:00.5"', dt.time(12, 30, 0, 500_000)),
        (Primitive("timestamptz"), '"2024-01-01T00:00:00Z"', dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        (Primitive("uuid"), f'"{UUID}"', UUID),
        (BINARY, '"00fF"', b"\x00\xff"),
        (BINARY, '""', b""),
        (BINARY, "null", None),
        (listed(BINARY), '["00", null]', [b"\x00", None]),
        (mapped(LONG, STRING), '{"1": "a", "-2": null}', [(1, "a"), (-2, None)]),
        (mapped(Primitive("date"), BINARY), '{"2024-01-01": "0a"}', [(dt.date(2024, 1, 1), b"\n")]),
        (mapped(BINARY, LONG), '{"0a": 1}', [(b"\n", 1)]),
        (
            mapped(STRING, mapped(STRING, LONG)),
            '{"a": {"b": 1}, "c": {}, "d": null}',
            [("a", [("b", 1)]), ("c", []), ("d", None)],
        ),
        (struct(b=BINARY, n=LONG), '{"b": "0a"}', {"b": b"\n", "n": None}),
        (
            DEEP,
            '{"b": null, "l": ["0a"], "m": {"0b": [{"b": "0c"}, null]}}',
            {"b": None, "l": [b"\n"], "m": [(b"\x0b", [{"b": b"\x0c"}, None])]},
        ),
        (DEEP, '{"l": null, "m": {}}', {"b": None, "l": None, "m": []}),
        (DEEP, "null", None),
        (listed(DEEP), '[null, {"b": "0a"}]', [None, {"b": b"\n", "l": None, "m": None}]),
        (listed(listed(mapped(STRING, BINARY))), '[[{"k": "0a"}, null], null]', [[[("k", b"\n")], None], None]),
    ],
)
def test_what_is_read_from_json_is_cast_to_the_columns_type(kind: IcebergType, text: str, value: Any) -> None:
    structure = json.dumps({"x": json_structure(kind)}).replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")

        found = connection.sql(
            f"SELECT {cast('parsed.x', kind)} AS x FROM (SELECT from_json($text, '{structure}') AS parsed)",
            params={"text": f'{{"x": {text}}}'},
        )

        assert [str(each) for each in found.types] == [_as_duckdb_names_it(connection, kind)]
        assert found.to_arrow_table()[0].to_pylist() == [value]


def _as_duckdb_names_it(connection: duckdb.DuckDBPyConnection, kind: IcebergType) -> str:
    (found,) = connection.sql(f"SELECT CAST(NULL AS {sql_type(kind)})").types
    return str(found)


def test_a_primitive_is_found_wherever_it_is() -> None:
    assert all(
        has(kind, "binary") for kind in (BINARY, listed(BINARY), DEEP, mapped(BINARY, LONG), mapped(LONG, BINARY))
    )
    assert not any(has(kind, "time") for kind in (BINARY, listed(LONG), DEEP))


def test_field_ids_are_those_of_columns_fields_keys_and_values() -> None:
    kind = StructType(
        (
            Column(3, 'a"b', ListType(4, Primitive("decimal", 9, 2), element_required=False)),
            Column(5, "m", MapType(6, STRING, 7, struct(x=LONG), value_required=False)),
        )
    )

    assert field_ids([Column(1, "s", kind), Column(2, "n", LONG)]) == (
        '{"s": {__duckdb_field_id: 1, "a""b": {__duckdb_field_id: 3, element: 4}, '
        '"m": {__duckdb_field_id: 5, key: 6, value: {__duckdb_field_id: 7, "x": 1}}}, "n": 2}'
    )


def test_a_variant_is_called_by_its_name_in_lower_case_in_data_files() -> None:
    assert [file_name(Column(1, name, VARIANT)) for name in ("Payload", "É", "a b")] == ["payload", "é", "a b"]
    assert file_name(Column(1, "Total", LONG)) == "Total"
