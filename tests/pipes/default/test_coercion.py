"""What does not fit is a reject with its column and reason, never a NULL, and takes no good record with it."""

from __future__ import annotations

import json

import pytest

from frazil.model import IcebergType

from .chunks import column, columns, listed, mapped, struct
from .conftest import MakeTable

NESTED = struct(x="long", y=listed(struct(d="date")))


@pytest.mark.parametrize(
    ("kind", "good", "value", "reason"),
    [
        ("long", "1", '""', "a text does not fit"),
        ("long", "1", "1.5", "is not a whole number"),
        ("long", "1", "true", "a boolean does not fit"),
        ("long", "1", "{}", "an object does not fit"),
        ("long", "1", "[1]", "an array does not fit"),
        ("boolean", "true", "2", "a number does not fit"),
        ("double", "1", "1e400", "out of the range of double"),
        ("decimal(5,2)", "1", "1.005", "more than 2 digits after the point"),
        ("string", '"x"', '"\\ud800"', "unpaired surrogate"),
        ("string", '"x"', '{"k": "\\udfff"}', "unpaired surrogate"),
        ("date", '"2024-01-01"', '"2024-02-30"', "day is out of range"),
        ("time", '"12:00:00"', '"24:00:00"', "no ISO 8601 time of day"),
        ("timestamp", '"2024-01-01T00:00:00"', '"2024-01-01 00:00:00"', "no ISO 8601 timestamp"),
        ("timestamptz", '"2024-01-01T00:00:00Z"', '"0001-01-01T00:00:00+01:00"', "not within the years 1 to 9999"),
        ("uuid", '"8d8ac610-566d-4ef0-9c22-186b2a5ed793"', '"8d8ac610"', "a text does not fit"),
        ("uuid", '"8d8ac610-566d-4ef0-9c22-186b2a5ed793"', "7", "a number does not fit"),
        ("binary", '"00ff"', '"0"', "pairs of hexadecimal digits"),
        ("variant", "{}", "1e400", "more than a VARIANT keeps exactly"),
        (listed("long"), "[1]", "1", "a number does not fit"),
        (listed("long"), "[1]", '{"0": 1}', "an object does not fit"),
        (listed("long"), "[1]", '[1, "x"]', "[1]: a text does not fit"),
        (listed("long", required=True), "[1]", "[1, null]", "an element of the list is null"),
        (mapped("string", "long"), '{"k": 1}', '{"k": "x"}', "['k']: a text does not fit"),
        (mapped("string", "long"), '{"k": 1}', '{"k": 1, "k": 2}', "the key 'k' appears twice"),
        (NESTED, "{}", "7", "a number does not fit"),
        (NESTED, "{}", "[]", "an array does not fit"),
        (NESTED, "{}", '{"x": "one"}', "x: a text does not fit"),
        (NESTED, "{}", '{"x": 1, "x": 1}', "x: the key appears twice"),
        (NESTED, "{}", '{"x": 1, "X": 2}', "two keys equal to x ignoring case"),
        (NESTED, "{}", '{"y": [{}, {"d": "2024-02-30"}]}', "y: [1]: d: "),
        (NESTED, "{}", '{"y": [{"d": "2024-02-28", "d": "2024-02-28"}]}', "the key appears twice"),
    ],
)
@pytest.mark.parametrize("others", [0, 3])
def test_a_value_that_does_not_fit_is_a_reject_and_its_neighbours_land(
    make_table: MakeTable, kind: str | IcebergType, good: str, value: str, reason: str, others: int
) -> None:
    neighbours = [f'{{"c": {good}}}'] * others

    landed = make_table(column("c", kind)).land(*neighbours, f'{{"c": {value}}}', *neighbours)

    assert list(landed.rejects) == [others]
    assert landed.rejects[others].column == "c"
    assert reason in landed.rejects[others].reason
    assert landed.rejects[others].value == f'{{"c": {value}}}'.encode()
    assert len(landed.rows) == 2 * others
    assert None not in landed.rows


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("[1]", "an array, not a JSON object"),
        ("1", "a number, not a JSON object"),
        ('"x"', "a text, not a JSON object"),
        ("null", "null, not a JSON object"),
        ("   ", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"a": 1', "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": 1} x', "Extra data"),
        ('{"a": 1}{"a": 2}', "Extra data"),
        ("{'a': 1}", "not valid JSON"),
        ("{a: 1}", "not valid JSON"),
        ('{"a": 01}', "not valid JSON"),
        ('{"a": +1}', "not valid JSON"),
        ('{"a": 0x22}', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"b": -Infinity}', "-Infinity is not a number"),
        ('{"zz": [Infinity]}', "Infinity is not a number"),
        ('{"a": 1 /* c */}', "not valid JSON"),
        ('{"b": "a\nb"}', "not valid JSON: Invalid control character at character 8"),
        ('{"b": "a', "not valid JSON: Unterminated string starting at character 6"),
        ('{"b": "\\x"}', "not valid JSON"),
        ('{"zz": [1, 2,]}', "not valid JSON"),
        ('{"zz": tru}', "not valid JSON"),
        ('\ufeff\ufeff{"a": 1}', "not valid JSON"),
        (b'{"b": "\xff"}', "not valid UTF-8: byte 0xff at position 7"),
        (b'{"b": "\xed\xa0\x80"}', "not valid UTF-8"),
        (b"\x00\x00\x00\x00\x01{}", "magic byte of a schema registry"),
    ],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_what_is_no_json_object_is_a_reject(
    make_table: MakeTable,
    value: str | bytes,
    reason: str,
    uniform: bool,
) -> None:
    good = '{"a": 1, "b": "x"}' if uniform else "{}"

    landed = make_table(*columns(a="long", b="string")).land(good, value, good)

    assert list(landed.rejects) == [1]
    assert reason in landed.rejects[1].reason
    assert len(landed.rows) == 2


@pytest.mark.parametrize("record", ["{}", '{"a": null}', '{"A": null}', '{"b": 1}', None, ""])
@pytest.mark.parametrize("kind", ["long", "variant", "string"])
def test_a_required_column_without_a_value_is_a_reject(make_table: MakeTable, kind: str, record: str | None) -> None:
    table = make_table(column("a", kind, required=True))

    landed = table.land('{"a": 1}', '{"A": 2}', record, '{"a": 3}')

    assert list(landed.reasons) == [2]
    assert landed.rejects[2].column == "a"
    assert [str(row) for row in landed.rows] == ["1", "2", "3"]


def test_a_required_column_lands_from_the_first_record_on(make_table: MakeTable) -> None:
    assert make_table(column("a", "long", required=True)).land('{"a": 1}').rows == [1]
    assert make_table(column("a", "long", required=True)).land('{"A": 1}', '{"A": 2}').rows == [1, 2]


@pytest.mark.parametrize("name", ["a", 'a"', "a\\"])
def test_a_required_field_of_a_struct_without_a_value_is_a_reject(make_table: MakeTable, name: str) -> None:
    kind = type(NESTED)((column(name, "long", required=True), *columns(b="long")))

    landed = make_table(column("s", kind)).land(json.dumps({"s": {name: 1}}), '{"s": {"b": 1}}', '{"s": null}')

    assert landed.rows == [{name: 1, "b": None}, None]
    assert "must not be NULL" in landed.rejects[1].reason


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize(
    "record",
    ['{"a": 1, "a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "A": 2}', '{"a": 1, "A": 1}', '{"a": 1, "a": 2, "\\u0000": 3}'],
)
def test_two_values_for_one_column_are_a_reject(
    make_table: MakeTable,
    record: str,
    uniform: bool,
) -> None:
    good = '{"a": 7}' if uniform else "{}"

    landed = make_table(*columns(a="long")).land(good, record, good)

    assert list(landed.rejects) == [1]
    assert landed.rejects[1].column == "a"
    assert landed.rows == [7 if uniform else None] * 2


def test_two_values_for_a_struct_of_any_name_are_a_reject(make_table: MakeTable) -> None:
    inner = struct(**{"x.y": struct(z="long"), "*": listed(struct(z="long"))})
    table = make_table(*columns(**{"*": struct(x="long"), 'a"b': inner}))

    landed = table.land(
        '{"*": {"x": 1, "x": 2}}',
        '{"a\\"b": {"x.y": {"z": 1, "z": 2}}}',
        '{"a\\"b": {"*": [{"z": 0}, {"z": 1, "z": 2}]}}',
        '{"*": {"x": 1}, "a\\"b": {"x.y": {"z": 1}, "*": [{"z": 1}]}}',
    )

    assert sorted(landed.rejects) == [0, 1, 2]
    assert landed.rows == [({"x": 1}, {"x.y": {"z": 1}, "*": [{"z": 1}]})]


def test_of_a_key_given_twice_the_one_with_a_value_counts(make_table: MakeTable) -> None:
    landed = make_table(*columns(a="long")).land('{"a": 1, "a": null}', '{"a": null, "a": 2}', '{"a": null, "a": null}')

    assert (landed.rows, landed.rejects) == ([1, 2, None], {})
