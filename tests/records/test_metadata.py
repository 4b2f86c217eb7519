"""What is told about records, as the columns every pipe projects from."""

from __future__ import annotations

from typing import Any

import pytest
from tests.records.batches import batch, convert

from frazil.model import Conversion, ConverterSpec, MetadataPart
from frazil.records import metadata

ALL: frozenset[MetadataPart] = frozenset({"topic", "offset_and_partition", "create_time", "push_time"})


def told(conversion: Conversion | None = None, **columns: list[Any]) -> dict[str, list[Any]]:
    """Each field of the metadata, record by record."""
    table = convert(batch(**columns), conversion or Conversion(), now=77).table
    return {name: table.column(name).to_pylist() for name, _ in metadata.FIELDS}


def test_every_record_says_where_it_came_from_and_when() -> None:
    found = told(value=[b"{}", None], timestamp=[5, 6])

    assert found["topic"] == ["orders", "orders"]
    assert (found["partition"], found["offset"]) == ([3, 3], [0, 1])
    assert found["SnowflakeConnectorPushTime"] == [77, 77]
    assert found["schema_id"] == found["key_schema_id"] == [None, None]


def test_a_timestamp_is_create_time_or_log_append_time_or_absent() -> None:
    found = told(value=[b"{}"] * 3, timestamp=[5, 6, None], log_append_time=[False, True, False])

    assert found["CreateTime"] == [5, None, None]
    assert found["LogAppendTime"] == [None, 6, None]


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("topic", {"topic"}),
        ("offset_and_partition", {"offset", "partition"}),
        ("create_time", {"CreateTime"}),
        ("push_time", {"SnowflakeConnectorPushTime"}),
    ],
)
def test_a_part_that_is_off_is_not_told(part: MetadataPart, fields: set[str]) -> None:
    record: dict[str, list[Any]] = {
        "value": [b"{}"], "key": [b"k"], "timestamp": [5], "headers": [[("h", b"v")]],
    }  # fmt: skip

    every = {name for name, values in told(**record).items() if values != [None]}
    rest = {name for name, values in told(Conversion(metadata=ALL - {part}), **record).items() if values != [None]}

    assert every - rest == fields


def test_without_metadata_nothing_is_added_and_keys_and_headers_are_not_looked_at() -> None:
    conversion = Conversion(key_converter=ConverterSpec("json"), header_converter=ConverterSpec("json"), metadata=None)

    found = told(conversion, value=[b"{}"], key=[b"no json"], headers=[[("h", b"no json")]], timestamp=[5])

    assert {name for name, values in found.items() if values != [None]} == set()


def test_what_every_record_has_depends_on_the_parts_that_are_on() -> None:
    assert metadata.always_present(Conversion()) == {"topic", "offset", "partition", "SnowflakeConnectorPushTime"}
    assert metadata.always_present(Conversion(metadata=frozenset({"create_time", "topic"}))) == {"topic"}
    assert metadata.always_present(Conversion(metadata=None)) == set()


def test_a_header_that_is_no_json_is_a_reject_that_names_it_and_its_neighbours_stay() -> None:
    headers = [[("ok", b"1")], [("ok", b"1"), ("bad", b"nonsense")], None]

    converted = convert(
        batch(value=[b"1", b"2", b"3"], headers=headers), Conversion(header_converter=ConverterSpec("json")), now=0
    )

    assert converted.table.column("value").to_pylist() == ["1", "3"]
    (bad,) = converted.rejects
    assert (bad.offset, bad.value, bad.headers, bad.stage) == (1, b"2", (("ok", b"1"), ("bad", b"nonsense")), "convert")
    assert bad.reason.startswith("the header 'bad' is not valid JSON: ")


def test_a_value_that_is_no_text_is_a_reject_with_all_it_came_with() -> None:
    records = batch(
        value=[b"{}", b"\x80", b""],
        key=[None, b"k", None],
        headers=[None, [("h", b"1"), ("h", b"2")], None],
        timestamp=[1, 2, 3],
    )

    converted = convert(records, Conversion(), now=0)

    (bad,) = converted.rejects
    assert (bad.partition.topic, bad.partition.partition, bad.offset, bad.timestamp) == ("orders", 3, 1, 2)
    assert (bad.key, bad.value, bad.headers) == (b"k", b"\x80", (("h", b"1"), ("h", b"2")))
    assert bad.reason == "the value is not valid JSON: the bytes are not valid UTF-8: byte 0x80 at position 0"
    assert converted.table.column("value").to_pylist() == ["{}", None]
