"""A byte order mark before JSON is no part of it, as in Jackson."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from frazil.model import Conversion, ConverterSpec
from frazil.records.convert import Converted

from .batches import batch, convert

MARK = b"\xef\xbb\xbf"


def converted(conversion: Conversion | None = None, **columns: list[Any]) -> Converted:
    return convert(batch(**columns), conversion)


def test_it_is_taken_off_values_and_stays_in_what_was_read() -> None:
    found = converted(value=[MARK + b'{"a": 1}', b'{"b": 2}', None, MARK, MARK + b"\xff"])

    assert found.table.column("value").to_pylist() == ['{"a": 1}', '{"b": 2}', None, None]
    assert found.records.column("value").to_pylist()[0] == MARK + b'{"a": 1}'
    assert [reject.value for reject in found.rejects] == [MARK + b"\xff"]


@pytest.mark.parametrize(("tombstones", "rows"), [("default", 2), ("ignore", 1)])
def test_a_value_of_nothing_else_is_a_tombstone(tombstones: Literal["default", "ignore"], rows: int) -> None:
    found = converted(Conversion(tombstones=tombstones), value=[MARK, MARK + b"{}"])

    assert (found.table.num_rows, sum(found.skipped.values())) == (rows, 2 - rows)


@pytest.mark.parametrize(("converter", "told"), [("json", '{"id":1}'), ("string", '\ufeff{"id": 1}')])
def test_only_the_json_converter_takes_it_off_keys(converter: str, told: str) -> None:
    found = converted(Conversion(key_converter=ConverterSpec(converter)), value=[b"{}"], key=[MARK + b'{"id": 1}'])

    assert found.table.column("key").to_pylist() == [told]


@pytest.mark.parametrize(("converter", "told"), [("json", "5"), ("string", "\ufeff5")])
def test_only_the_json_converter_takes_it_off_headers(converter: str, told: str) -> None:
    headers = [[("h", MARK + b"5"), ("empty", MARK)]]
    found = converted(Conversion(header_converter=ConverterSpec(converter)), value=[b"{}"], headers=headers)

    assert dict(found.table.column("headers").to_pylist()[0])["h"] == told
