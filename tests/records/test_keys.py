"""Record keys: their text, and whether it is JSON to be kept as such."""

from __future__ import annotations

import pytest
from tests.records.batches import batch, convert

from frazil.model import Conversion, ConverterSpec
from frazil.records.metadata import KEY_IS_JSON

HUGE = "123456789012345678901234567890"
DEEP = b"[" * 1000 + b"]" * 1000


def key_of(converter: str, key: bytes | None) -> tuple[str | None, bool]:
    """A key's text and whether it is JSON; the other key keeps the column from being all null."""
    found = convert(batch(value=[b"{}"] * 2, key=[key, b"1"]), Conversion(key_converter=ConverterSpec(converter)))
    assert not len(found.rejects)
    return found.table.column("key")[0].as_py(), found.table.column(KEY_IS_JSON)[0].as_py()


@pytest.mark.parametrize(
    ("converter", "key", "text"),
    [
        ("string", b"plain", "plain"),
        ("string", b"", ""),
        ("string", b"42", "42"),
        ("string", b"a\x00b", "a\x00b"),
        ("string", b"\xffx", "\ufffdx"),
        ("string", None, None),
        ("bytes", b"\x00\xff", "AP8="),
        ("bytes", b"", ""),
        ("bytes", None, None),
        ("json", b'"text"', "text"),
        ("json", b'"42"', "42"),
        ("json", b'"a\\u0000b"', "a\x00b"),
        ("json", b"null", None),
        ("json", b"", None),
        ("json", None, None),
    ],
)
def test_a_key_is_text_by_its_converter(converter: str, key: bytes | None, text: str | None) -> None:
    assert key_of(converter, key) == (text, False)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"true", "true"),
        (b" 1.50 ", "1.50"),
        (b"1e3", "1e3"),
        (b"-9223372036854775808", "-9223372036854775808"),
        (b'{ "a" : [1, 1.50, "x y"] }', '{"a":[1,1.50,"x y"]}'),
        (b"[]", "[]"),
        (b'{"a": {"a": "1e999"}}', '{"a":{"a":"1e999"}}'),
        (HUGE.encode(), HUGE),
        (b"9223372036854775808", "9223372036854775808"),
        (b"0.10000000000000001", "0.10000000000000001"),
        (b'{"id": %s}' % HUGE.encode(), f'{{"id":{HUGE}}}'),
    ],
)
def test_a_json_key_that_is_no_text_stays_json_in_compact_form(key: bytes, text: str) -> None:
    assert key_of("json", key) == (text, True)


@pytest.mark.parametrize(
    "key",
    [
        b"9" * 39,
        b"0." + b"1" * 39,
        b"1e400",
        b"1e9999999999999999999",
        b'{"id":%s}' % (b"9" * 39),
        b'{"a":1,"a":2}',
        b'[{"a":{"b":1,"b":1}}]',
    ],
)
def test_a_json_key_that_a_variant_would_change_is_its_text(key: bytes) -> None:
    assert key_of("json", key) == (key.decode(), False)


@pytest.mark.parametrize(
    "key", [b"{", b"nonsense", b"\xff", b'"\\ud800"', b"NaN", b"-Infinity", b"1 2", b"01", b"[1,]", DEEP]
)
def test_a_key_that_is_no_json_is_a_reject_and_its_neighbours_stay(key: bytes) -> None:
    converted = convert(
        batch(value=[b"1", b"2", b"3"], key=[b"1", key, None]), Conversion(key_converter=ConverterSpec("json")), now=0
    )

    assert converted.table.column("value").to_pylist() == ["1", "3"]
    assert converted.records.column("offset").to_pylist() == [0, 2]
    (bad,) = converted.rejects
    assert (bad.offset, bad.key, bad.value, bad.stage, bad.code) == (1, key, b"2", "convert", "5015")
    assert bad.reason.startswith("the key is not valid JSON: ")
