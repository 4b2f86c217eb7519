from __future__ import annotations

import pytest

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.default import DefaultPipe, is_metadata_name
from frazil.pipes.naming import default_pipe
from frazil.pipes.types import check_text_form, field_ids, sql_type, unsupported

LONG = Primitive("long")
VARIANT = Primitive("variant")


def pipe(*names: str) -> DefaultPipe:
    return DefaultPipe(tuple(Column(number, name, LONG) for number, name in enumerate(names)))


def test_a_key_goes_to_the_column_of_its_own_spelling_else_to_the_one_equal_ignoring_case() -> None:
    found = {
        key: column and column.name
        for key in ("a", "A", "B", "ß", "x")
        for column in [pipe("A", "a", "b", "ẞ").column_for(key)]
    }

    assert found == {"a": "a", "A": "A", "B": "b", "ß": "ẞ", "x": None}


def test_no_key_goes_to_the_metadata_column() -> None:
    assert pipe("record_metadata", "a").column_for("RECORD_METADATA") is None
    assert [column.name for column in pipe("Record_Metadata", "a").payload()] == ["a"]
    assert is_metadata_name("record_Metadata")
    assert not is_metadata_name("record_metadata2")


def test_the_default_pipe_is_named_after_its_table() -> None:
    assert default_pipe("ORDERS") == "ORDERS-STREAMING"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (LONG, None),
        (VARIANT, None),
        (Primitive("decimal", 38, 2), None),
        (ListType(1, StructType((Column(2, "a", LONG),)), element_required=False), None),
        (Primitive("time"), "time"),
        (Primitive("uuid"), "uuid"),
        (Primitive("binary"), "binary"),
        (Primitive("fixed[16]"), "fixed[16]"),
        (Primitive("timestamp_ns"), "timestamp_ns"),
        (MapType(1, LONG, 2, LONG, value_required=False), "map"),
        (ListType(1, VARIANT, element_required=False), "list of variant"),
        (StructType((Column(1, "v", VARIANT),)), "struct with a variant"),
        (StructType((Column(1, "", LONG),)), "struct with a field without a name"),
        (ListType(1, StructType((Column(2, "t", Primitive("time")),)), element_required=False), "time"),
    ],
)
def test_types_records_cannot_be_projected_to_are_named(kind: IcebergType, reason: str | None) -> None:
    assert unsupported(kind) == reason


def test_types_are_written_as_duckdb_spells_them() -> None:
    kind = StructType((Column(3, 'a"b', ListType(4, Primitive("decimal", 9, 2), element_required=False)),))

    assert sql_type(kind) == 'STRUCT("a""b" DECIMAL(9,2)[])'
    assert (
        field_ids([Column(1, "s", kind)]) == '{"s": {__duckdb_field_id: 1, "a""b": {__duckdb_field_id: 3, element: 4}}}'
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "2024-02-29"),
        ("timestamp", "2024-01-01T00:00:00"),
        ("timestamp", "9999-12-31T23:59:59.999999"),
        ("timestamptz", "2024-01-01T00:00:00Z"),
        ("timestamptz", "0001-01-01T00:00:00-23:59"),
        ("timestamptz", "9999-12-31T23:59:59+00:00"),
    ],
)
def test_texts_in_their_form_pass(name: str, text: str) -> None:
    check_text_form(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "2023-02-29"),
        ("date", "2024-02-29\n"),
        ("date", "٢٠٢٤-01-01"),
        ("timestamp", "2024-01-01T00:00"),
        ("timestamptz", "2024-01-01T00:00:00+0100"),
        ("timestamptz", "2024-01-01T00:00:00z"),
        ("timestamptz", "0001-01-01T00:00:00+00:01"),
        ("timestamptz", "9999-12-31T23:59:59-00:01"),
    ],
)
def test_texts_in_no_form_are_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"ISO|range"):
        check_text_form(name, text)
