"""RECORD_METADATA in the type a table's column has, as DuckDB makes it of converted records."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import duckdb
import orjson
import pytest
from tests.records.batches import batch

from frazil.model import (
    Column,
    Conversion,
    ConverterSpec,
    IcebergType,
    ListType,
    MapType,
    MetadataPart,
    Primitive,
    StructType,
)
from frazil.pipes.metadata_form import keeps_structure
from frazil.pipes.record_metadata import RECORD
from frazil.records import metadata
from frazil.records.convert import RecordConverter

TEXT = Primitive("string")
LONG = Primitive("long")
VARIANT = Primitive("variant")
TEXTS = MapType(0, TEXT, 0, TEXT, value_required=False)

ALL: frozenset[MetadataPart] = frozenset({"topic", "offset_and_partition", "create_time", "push_time"})
HUGE = "123456789012345678901234567890"

FULL: dict[str, list[Any]] = {
    "value": [b"{}"],
    "offset": [41],
    "timestamp": [5],
    "key": [b"k"],
    "headers": [[("h", b"v"), ("n", None)]],
}
BARE: dict[str, list[Any]] = {"value": [b"{}"], "offset": [41]}


def column(kind: IcebergType, *, required: bool = False) -> Column:
    return Column(1, "record_metadata", kind, required)


def struct(**kinds: IcebergType | str) -> StructType:
    return StructType(
        tuple(Column(0, name, Primitive(kind) if isinstance(kind, str) else kind) for name, kind in kinds.items())
    )


def landed(kind: IcebergType, conversion: Conversion | None = None, **records: list[Any]) -> Any:
    """What the column holds of one record."""
    chunk = RecordConverter(conversion or Conversion()).convert(batch(**records), now=77).table
    with duckdb.connect() as database:
        database.register("chunk", chunk)
        ((value,),) = database.execute(f"SELECT {RECORD.expression(column(kind))} FROM chunk").fetchall()
    return value


def test_a_created_tables_struct_holds_every_field() -> None:
    assert landed(metadata.column_type(), **FULL) == {
        "topic": "orders",
        "partition": 3,
        "offset": 41,
        "key": "k",
        "schema_id": None,
        "key_schema_id": None,
        "CreateTime": 5,
        "LogAppendTime": None,
        "SnowflakeConnectorPushTime": 77,
        "headers": {"h": "v", "n": None},
    }


def test_a_struct_may_have_some_fields_in_any_case_and_others_that_stay_null() -> None:
    kind = struct(OFFSET="long", Topic="string", createtime="long", note="string", seen=ListType(0, LONG, False))

    assert landed(kind, **FULL) == {"OFFSET": 41, "Topic": "orders", "createtime": 5, "note": None, "seen": None}


def test_fields_are_cast_to_the_types_they_have() -> None:
    kind = struct(partition="string", offset=Primitive("decimal", 38, 0), CreateTime="string", headers="string")

    found = landed(kind, **FULL)

    assert {name: str(value) for name, value in found.items()} == {
        "partition": "3", "offset": "41", "CreateTime": "5", "headers": '{"h":"v","n":null}',
    }  # fmt: skip


def test_json_text_has_the_members_that_have_a_value_in_one_order() -> None:
    assert landed(TEXT, **FULL) == (
        '{"topic":"orders","offset":41,"partition":3,"CreateTime":5,"SnowflakeConnectorPushTime":77,'
        '"key":"k","headers":{"h":"v","n":null}}'
    )
    assert landed(TEXT, **BARE) == '{"topic":"orders","offset":41,"partition":3,"SnowflakeConnectorPushTime":77}'
    assert '"LogAppendTime":5' in landed(TEXT, **BARE, timestamp=[5], log_append_time=[True])


def test_a_variant_is_the_same_object() -> None:
    assert landed(VARIANT, **FULL) == orjson.loads(landed(TEXT, **FULL))
    assert landed(VARIANT, **BARE) == {
        "topic": "orders", "offset": 41, "partition": 3, "SnowflakeConnectorPushTime": 77,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [VARIANT, TEXT, struct(topic="string", key="string", headers=TEXTS)], ids=str)
def test_with_nothing_to_tell_the_column_is_null(kind: IcebergType) -> None:
    assert landed(kind, Conversion(metadata=None), **FULL) is None
    assert landed(kind, Conversion(metadata=frozenset()), **BARE) is None
    assert landed(kind, Conversion(metadata=frozenset({"create_time"})), **BARE) is None


def test_without_any_part_keys_and_headers_are_still_told() -> None:
    conversion = Conversion(metadata=frozenset())

    assert landed(TEXT, conversion, **BARE, key=[b"k"]) == '{"key":"k"}'
    assert landed(VARIANT, conversion, **BARE, headers=[[("h", b"v")]]) == {"headers": {"h": "v"}}
    assert landed(struct(topic="string", key="string"), conversion, **BARE, key=[b"k"]) == {"topic": None, "key": "k"}


@pytest.mark.parametrize(
    ("part", "members"),
    [
        ("topic", {"topic"}),
        ("offset_and_partition", {"offset", "partition"}),
        ("create_time", {"CreateTime"}),
        ("push_time", {"SnowflakeConnectorPushTime"}),
    ],
)
def test_a_part_that_is_off_is_no_member(part: MetadataPart, members: set[str]) -> None:
    rest = landed(VARIANT, Conversion(metadata=ALL - {part}), **FULL)

    assert landed(VARIANT, **FULL).keys() - rest.keys() == members


@pytest.mark.parametrize(
    ("key", "member"),
    [
        (b"42", 42),
        (b'"42"', "42"),
        (b"1.5", 1.5),
        (b"false", False),
        (b'{"a":[1,{"b":null}]}', {"a": [1, {"b": None}]}),
        (b"[]", []),
        (b"9" * 39, "9" * 39),
        (b'{"id":%s}' % (b"9" * 39), f'{{"id":{"9" * 39}}}'),
        (b'"\\u0000\\"\\\\"', '\x00"\\'),
    ],
)
def test_a_json_key_is_a_json_value_in_json_and_a_text_in_a_struct(key: bytes, member: Any) -> None:
    conversion = Conversion(key_converter=ConverterSpec("json"))

    assert landed(VARIANT, conversion, **BARE, key=[key])["key"] == member
    assert orjson.loads(landed(TEXT, conversion, **BARE, key=[key]))["key"] == member
    assert landed(struct(key="string"), conversion, **BARE, key=[key])["key"] == (
        member if isinstance(member, str) else key.decode()
    )


@pytest.mark.parametrize("number", [HUGE, "9223372036854775808", "0.10000000000000001", "123456789.123456789"])
def test_numbers_of_38_digits_are_numbers_in_a_variant(number: str) -> None:
    conversion = Conversion(
        key_converter=ConverterSpec("json"), header_converter=ConverterSpec("json"), structured_headers=True
    )
    usual = {"topic": "orders", "partition": 3, "offset": 41, "CreateTime": 5, "SnowflakeConnectorPushTime": 77}
    text = b"123456789012345678901"
    record = {**BARE, "timestamp": [5], "headers": [[("h", number.encode()), ("t", b'"%s"' % text), ("n", None)]]}
    headers = {"h": Decimal(number), "t": text.decode(), "n": None}

    alone = landed(VARIANT, conversion, **record, key=[b'"k"'])
    both = landed(VARIANT, conversion, **record, key=[b'{"id":[%s]}' % number.encode()])

    assert alone == {**usual, "key": "k", "headers": headers}
    assert both == {**usual, "key": {"id": [Decimal(number)]}, "headers": headers}


def test_a_number_of_a_key_is_one_beside_headers_that_are_texts() -> None:
    found = landed(VARIANT, Conversion(key_converter=ConverterSpec("json")), **{**FULL, "key": [HUGE.encode()]})

    assert (found["key"], found["headers"]) == (int(HUGE), {"h": "v", "n": None})


def test_a_null_json_key_is_no_member() -> None:
    assert "key" not in landed(VARIANT, Conversion(key_converter=ConverterSpec("json")), **BARE, key=[b"null"])


@pytest.mark.parametrize("key", ["a\x00b", 'quote " and \\', "\ufffdØ😀\n", "x" * 1_000_000], ids=len)
def test_any_text_is_a_key(key: str) -> None:
    given = [key.encode()]

    assert landed(VARIANT, **BARE, key=given)["key"] == key
    assert orjson.loads(landed(TEXT, **BARE, key=given))["key"] == key
    assert landed(struct(key="string"), **BARE, key=given)["key"] == key


def test_structured_headers_keep_their_types_in_json_and_are_texts_in_a_struct() -> None:
    conversion = Conversion(structured_headers=True)
    values = [("n", b"42"), ("t", b"value1"), ("o", b"{}"), ("l", b'[1, "a"]'), ("b", b"true"), ("x", b"null")]
    record = {**BARE, "headers": [[*values, ('it"s', None)]]}

    typed = {"n": 42, "t": "value1", "o": {}, "l": [1, "a"], "b": True, "x": None, 'it"s': None}
    assert landed(VARIANT, conversion, **record)["headers"] == typed
    assert orjson.loads(landed(TEXT, conversion, **record))["headers"] == typed
    assert orjson.loads(landed(struct(headers="string"), conversion, **record)["headers"]) == typed
    assert landed(struct(headers=TEXTS), conversion, **record)["headers"] == {
        "n": "42", "t": "value1", "o": "{}", "l": '[1,"a"]', "b": "true", "x": None, 'it"s': None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [
        VARIANT,
        TEXT,
        metadata.column_type(),
        struct(key="string"),
        struct(partition="long"),
        struct(partition="double", offset="string"),
        struct(partition=Primitive("decimal", 12, 2)),
        struct(topic="string", other="date"),
    ],
    ids=str,
)
def test_a_column_of_these_types_is_written(kind: IcebergType) -> None:
    assert RECORD.unsupported(column(kind), Conversion()) is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (LONG, "its type is long"),
        (TEXTS, "its type is map<string, string>"),
        (struct(a="long", b="string"), "its type is struct<a: long, b: string>"),
        (struct(topic="long"), "its field topic is of type long, which cannot hold it"),
        (struct(offset="int"), "its field offset is of type int, which cannot hold it"),
        (struct(offset="double"), "its field offset is of type double, which cannot hold it"),
        (struct(Partition="float"), "its field Partition is of type float, which cannot hold it"),
        (struct(partition=Primitive("decimal", 10, 1)), "its field partition is of type decimal(10,1), which cannot hold it"),
        (struct(CreateTime="timestamptz"), "its field CreateTime is of type timestamptz, which cannot hold it"),
        (struct(key="variant"), "its field key is of type variant, which cannot hold it"),
        (struct(headers=struct(a="string")), "its field headers is of type struct<a: string>, which cannot hold it"),
        (
            struct(headers=MapType(0, TEXT, 0, TEXT, value_required=True)),
            "its field headers is of type map<string, string>, which cannot hold it",
        ),
        (struct(key="string", KEY="string"), "its fields key and KEY differ only by case"),
        (
            struct(topic="string", other="geometry"),
            "its field other is of type geometry, and geometry is not written yet",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_column_that_cannot_hold_metadata_is_refused_by_name(kind: IcebergType, reason: str) -> None:
    assert RECORD.unsupported(column(kind), Conversion()) == reason


@pytest.mark.parametrize("name", ["key", "headers", "CreateTime", "LogAppendTime", "schema_id", "note"])
def test_a_field_that_not_every_record_has_may_not_be_required(name: str) -> None:
    kinds: dict[str, IcebergType] = {"headers": TEXTS, "CreateTime": LONG, "LogAppendTime": LONG, "schema_id": LONG}
    topic = Column(2, "topic", TEXT, required=True)
    kind = StructType((topic, Column(3, name, kinds.get(name, TEXT), required=True)))

    assert RECORD.unsupported(column(StructType((topic, Column(3, name, kinds.get(name, TEXT))))), Conversion()) is None
    assert RECORD.unsupported(column(kind), Conversion()) == (
        f"its field {name} must not be NULL, and not every record has one"
    )


def test_a_required_field_needs_its_part_to_be_on() -> None:
    kind = StructType((Column(2, "topic", TEXT, required=True), Column(3, "offset", LONG)))

    assert RECORD.unsupported(column(kind), Conversion()) is None
    assert RECORD.unsupported(column(kind), Conversion(metadata=ALL - {"topic"})) == (
        "its field topic must not be NULL, and not every record has one"
    )


@pytest.mark.parametrize("kind", [VARIANT, TEXT, struct(topic="string")], ids=str)
def test_a_required_column_needs_something_that_every_record_has(kind: IcebergType) -> None:
    needed = column(kind, required=True)

    assert RECORD.unsupported(needed, Conversion()) is None
    assert RECORD.unsupported(needed, Conversion(metadata=frozenset({"push_time"}))) is None
    for parts in (None, frozenset(), frozenset({"create_time"})):
        reason = RECORD.unsupported(needed, Conversion(metadata=parts))
        assert reason == "it must not be NULL, and the settings snowflake.metadata.* leave it NULL"


def test_only_json_keeps_the_structure_of_headers() -> None:
    assert keeps_structure(column(VARIANT))
    assert keeps_structure(column(TEXT))
    assert not keeps_structure(column(metadata.column_type()))
