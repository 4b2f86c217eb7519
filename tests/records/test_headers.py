"""Record headers by their converter, as texts and with the types of their values."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from frazil.records import headers as headers_of
from frazil.records.batches import HEADERS, topics
from frazil.records.convert import CONVERTERS
from frazil.records.headers import HeaderColumns, converted

HUGE = "123456789012345678901234567890"


def headers(column: pa.MapArray, converter: str, *, structured: bool) -> HeaderColumns:
    """Headers as metadata has them, after their converter."""
    values, bad = converted(column, topics("orders", len(column)), CONVERTERS[converter]("header", {}))
    found = headers_of.headers(values, structured=structured)
    return replace(found, bad={**found.bad, **bad})


def header(converter: str, value: bytes | None) -> tuple[str | None, Any]:
    """One header's text, and the JSON it is when headers are structured."""
    column = pa.array([[("h", value)]], HEADERS)
    found = headers(column, converter, structured=True)
    assert not found.bad
    text = dict(found.texts[0].as_py())["h"]
    structured = found.structured[0].as_py()
    return text, text if structured is None else json.loads(structured, parse_float=_number)["h"]


def _number(text: str) -> float | Decimal:
    """A Decimal where a float would have other digits."""
    return float(text) if repr(float(text)) == text else Decimal(text)


def test_of_headers_with_one_name_the_last_counts_and_records_may_have_none() -> None:
    column = pa.array([[("a", b"1"), ("b", None), ("a", b"2")], [], None, [("x", b"\xff"), ("", b"")]], HEADERS)

    found = headers(column, "string", structured=False)

    assert found.texts.to_pylist() == [[("a", "2"), ("b", None)], None, None, [("x", "\ufffd"), ("", "")]]
    assert found.structured.null_count == 4


def test_structured_headers_are_one_json_object_a_record() -> None:
    column = pa.array([[("a", b"x"), ("b", None), ("a", b"2")], [], None, [('q"', b"true")]], HEADERS)

    found = headers(column, "simple", structured=True)

    assert found.structured.to_pylist() == ['{"a":2,"b":null}', None, None, '{"q\\"":true}']
    assert found.texts.to_pylist() == [[("a", "2"), ("b", None)], None, None, [('q"', "true")]]


def test_records_whose_headers_are_empty_have_none() -> None:
    found = headers(pa.array([[], []], HEADERS), "simple", structured=True)

    assert (found.texts.to_pylist(), found.structured.to_pylist()) == ([None, None], [None, None])


def test_part_of_a_batch_has_its_own_headers() -> None:
    column = pa.array([[("a", b"1")], None, [("b", b"2"), ("c", None)], [("d", b"4")]], HEADERS)

    found = headers(column.slice(1, 2), "simple", structured=True)

    assert found.texts.to_pylist() == [None, [("b", "2"), ("c", None)]]
    assert found.structured.to_pylist() == [None, '{"b":2,"c":null}']


@pytest.mark.parametrize(
    ("value", "text", "structured"),
    [
        # What Kafka Connect's own converter makes of them too.
        ("value1", "value1", "value1"),
        ("", "", ""),
        ("  ", "  ", "  "),
        ("null", None, None),
        ("NULL", "NULL", "NULL"),
        ("true", "true", True),
        (" false ", "false", False),
        ("TRUE", "TRUE", "TRUE"),
        ("42", "42", 42),
        (" 42\n", "42", 42),
        ("007", "7", 7),
        ("+5", "5", 5),
        ("-0", "0", 0),
        ("5.", "5", 5),
        ("100.0", "100", 100),
        ("1e3", "1000", 1000),
        ("-.5", "-0.5", -0.5),
        ("1.50", "1.5", 1.5),
        ("9223372036854775807", "9223372036854775807", 2**63 - 1),
        (".5", ".5", ".5"),
        ("1d", "1d", "1d"),
        ("0x10", "0x10", "0x10"),
        ("-", "-", "-"),
        ("NaN", "NaN", "NaN"),
        ("10.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("4bf9-2f35", "4bf9-2f35", "4bf9-2f35"),
        ('"quoted"', '"quoted"', '"quoted"'),
        ("{}", "{}", {}),
        ("[]", "[]", []),
        ('{ "a" : 1, "b": "x" }', '{"a":1,"b":"x"}', {"a": 1, "b": "x"}),
        ('[1, "a", [true]]', '[1,"a",[true]]', [1, "a", [True]]),
        ("[1", "[1", "[1"),
        ("{a:1}", "{a:1}", "{a:1}"),
        ("true}", "true}", "true}"),
        ("2019-08-23", "2019-08-23T00:00:00.000Z", "2019-08-23T00:00:00.000Z"),
        ("2019-08-23T14:34:54.346Z", "2019-08-23T14:34:54.346Z", "2019-08-23T14:34:54.346Z"),
        # Where it would lose something.
        ("3.14159265358979", "3.14159265358979", 3.14159265358979),
        ("0.1234567890123456789", "0.1234567890123456789", Decimal("0.1234567890123456789")),
        ("0.10000000000000001", "0.10000000000000001", Decimal("0.10000000000000001")),
        ("+123456789.1234567890", "123456789.123456789", Decimal("123456789.123456789")),
        ("1.0000000000000001e300", "1.0000000000000001E+300", Decimal("1.0000000000000001e300")),
        (HUGE, HUGE, int(HUGE)),
        ("9" * 39, "9" * 39, "9" * 39),
        ("1e99999999999999999999", "1e99999999999999999999", "1e99999999999999999999"),
        ("1e400", "1e400", "1e400"),
        ("1e999999999999", "1e999999999999", "1e999999999999"),
        (f"[{HUGE}]", f"[{HUGE}]", [int(HUGE)]),
        (f"[{'9' * 39}]", f"[{'9' * 39}]", f"[{'9' * 39}]"),
        ("42,43", "42,43", "42,43"),
        ("12:34", "12:34", "12:34"),
        ("{}x", "{}x", "{}x"),
        ("[1,null]", "[1,null]", [1, None]),
        ("2019-13-45", "2019-13-45", "2019-13-45"),
    ],
)
def test_the_simple_converter_guesses(value: str, text: str | None, structured: Any) -> None:
    assert header("simple", value.encode()) == (text, structured)


@pytest.mark.parametrize(
    ("converter", "value", "text", "structured"),
    [
        ("simple", None, None, None),
        ("simple", b"\xff", "\ufffd", "\ufffd"),
        ("string", None, None, None),
        ("string", b'{"a":1}', '{"a":1}', '{"a":1}'),
        ("string", b"42", "42", "42"),
        ("string", b"a\x00b", "a\x00b", "a\x00b"),
        ("json", None, None, None),
        ("json", b"", None, None),
        ("json", b"null", None, None),
        ("json", b'"hello"', "hello", "hello"),
        ("json", b"42", "42", 42),
        ("json", b"true", "true", True),
        ("json", b'{"a":1, "b":"x"}', '{"a":1,"b":"x"}', {"a": 1, "b": "x"}),
        ("json", b"[1,2,3]", "[1,2,3]", [1, 2, 3]),
        ("json", HUGE.encode(), HUGE, int(HUGE)),
        ("json", b"9" * 39, "9" * 39, "9" * 39),
        ("bytes", None, None, None),
        ("bytes", b"\x00\xff", "AP8=", "AP8="),
        ("bytes", b"", "", ""),
    ],
)
def test_a_value_is_what_its_converter_reads(
    converter: str, value: bytes | None, text: str | None, structured: Any
) -> None:
    assert header(converter, value) == (text, structured)


@pytest.mark.parametrize("value", [b"{", b"nonsense", b"\xff", b'"\\ud800"'])
def test_a_header_that_is_no_json_makes_its_record_bad(value: bytes) -> None:
    column = pa.array([[("a", b"1"), ("it's", value)], [("a", b"2")]], HEADERS)

    found = headers(column, "json", structured=False)

    assert found.texts.to_pylist()[1] == [("a", "2")]
    assert list(found.bad) == [0]
    assert found.bad[0].startswith('the header "it\'s" is not valid JSON: ')
