"""RECORD_METADATA and record keys, as the columns every pipe projects from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from frazil.records import metadata
from frazil.records.convert import convert
from frazil.model import KeyConverter
from frazil.sources.kafka.reader import SCHEMA


def batch(**columns: list[Any]) -> pa.RecordBatch:
    count = len(next(iter(columns.values())))
    usual = {"partition": [3] * count, "offset": list(range(count)), "log_append_time": [False] * count}
    given = {**{name: [None] * count for name in SCHEMA.names}, **usual, **columns}
    return pa.RecordBatch.from_pydict(given, schema=SCHEMA)


def told(converter: KeyConverter = "string", **columns: list[Any]) -> dict[str, list[Any]]:
    """Each field of the metadata, record by record."""
    table = convert(batch(**columns), "orders", converter, now=77).table
    return {name: table.column(name).to_pylist() for name, _ in metadata.FIELDS}


def test_every_record_is_told_where_it_came_from_and_when() -> None:
    found = told(value=[b"{}", None], timestamp=[5, 6])

    assert found["topic"] == ["orders", "orders"]
    assert (found["partition"], found["offset"]) == ([3, 3], [0, 1])
    assert found["SnowflakeConnectorPushTime"] == [77, 77]
    assert found["schema_id"] == found["key_schema_id"] == [None, None]


def test_a_timestamp_is_create_time_or_log_append_time_or_absent() -> None:
    found = told(value=[b"{}"] * 3, timestamp=[5, 6, None], log_append_time=[False, True, False])

    assert found["CreateTime"] == [5, None, None]
    assert found["LogAppendTime"] == [None, 6, None]


def test_headers_are_text_and_of_duplicates_the_last_wins() -> None:
    headers = [[("a", b"1"), ("b", None), ("a", b"2")], [], None, [("x", b"\xff"), ("", b"")]]

    found = told(value=[b"{}"] * 4, headers=headers)

    assert found["headers"] == [[("a", "2"), ("b", None)], None, None, [("x", "\ufffd"), ("", "")]]
    assert told(value=[b"{}"], headers=[None])["headers"] == [None]


@pytest.mark.parametrize(
    ("converter", "key", "text"),
    [
        ("string", b"plain", "plain"),
        ("string", b"", ""),
        ("string", b"\xffx", "\ufffdx"),
        ("string", None, None),
        ("bytes", b"\x00\xff", "AP8="),
        ("bytes", b"", ""),
        ("bytes", None, None),
        ("json", b'"text"', "text"),
        ("json", b"null", None),
        ("json", b"", None),
        ("json", None, None),
        ("json", b"true", "true"),
        ("json", b" 1.50 ", "1.50"),
        ("json", b"123456789012345678901234567890", "123456789012345678901234567890"),
        ("json", b'{ "a" : [1, 1.50, "x y"] }', '{"a":[1,1.50,"x y"]}'),
        ("json", b'{"id": 123456789012345678901234567890}', '{"id":123456789012345678901234567890}'),
        ("json", b"[]", "[]"),
    ],
)
def test_a_key_is_text_by_its_converter(converter: KeyConverter, key: bytes | None, text: str | None) -> None:
    assert told(converter, value=[b"{}", b"{}"], key=[key, b"1"])["key"][0] == text


@pytest.mark.parametrize("key", [b"{", b"nonsense", b"\xff", b'"\\ud800"', b"NaN", b"1 2"])
def test_a_key_that_is_no_json_is_a_reject_and_its_neighbours_stay(key: bytes) -> None:
    converted = convert(batch(value=[b"1", b"2", b"3"], key=[b"1", key, None]), "orders", "json", now=0)

    assert converted.table.column("value").to_pylist() == ["1", "3"]
    assert converted.records.column("offset").to_pylist() == [0, 2]
    (bad,) = converted.rejects
    assert (bad.offset, bad.key, bad.value, bad.stage, bad.code) == (1, key, b"2", "convert", "5015")
    assert bad.reason.startswith("the key is no ")


def test_a_value_that_is_no_text_is_a_reject_with_all_it_came_with() -> None:
    records = batch(
        value=[b"{}", b"\x80", b""],
        key=[None, b"k", None],
        headers=[None, [("h", b"1"), ("h", b"2")], None],
        timestamp=[1, 2, 3],
    )

    converted = convert(records, "orders", "string", now=0)

    (bad,) = converted.rejects
    assert (bad.partition.topic, bad.partition.partition, bad.offset, bad.timestamp) == ("orders", 3, 1, 2)
    assert (bad.key, bad.value, bad.headers) == (b"k", b"\x80", (("h", b"1"), ("h", b"2")))
    assert bad.reason == "the bytes are no UTF-8: byte 0x80 at position 0"
    assert converted.table.column("value").to_pylist() == ["{}", None]
