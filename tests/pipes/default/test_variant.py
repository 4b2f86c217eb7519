"""VARIANT columns: what is read back is what was sent, or it is a reject."""

from __future__ import annotations

import json

import duckdb
import pyarrow.parquet as pq
import pytest

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType

from .chunks import column, columns, exactly
from .conftest import MakeTable


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": [true, null, "x"], "c": {"d": {}}}',
        "[]",
        "{}",
        '[[1], {"a": [2]}]',
        '"text"',
        '""',
        '"\\u0000 \\ud83d\\ude00 \\" \\\\"',
        "true",
        "1",
        "-9223372036854775808",
        "9223372036854775807",
        "0.1",
        "0.30000000000000004",
        "-1.5e-7",
        "1e2",
        "1234567890123456",
        '{"": 1, "a.b": 2, "a": {"b": 3}, "A": 4}',
        '"12345678901234567890"',
        '{"text": ", 12345678901234567890.5"}',
    ],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_a_value_is_read_back_equal(
    make_table: MakeTable,
    text: str,
    uniform: bool,
) -> None:
    landed = make_table(*columns(v="variant")).land(f'{{"v": {text}}}', *([] if uniform else ["{}"]))

    assert landed.rejects == {}
    assert landed.rows[0] == json.loads(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (StructType((Column(901, "a", Primitive("variant"), required=True),)), '{"a": null}'),
        (ListType(901, Primitive("variant"), element_required=True), "[1, null]"),
        (MapType(901, Primitive("string"), 902, Primitive("variant"), value_required=True), '{"k": null}'),
    ],
    ids=["struct", "list", "map"],
)
def test_null_is_no_value_of_a_variant_within_that_must_not_be_null(
    make_table: MakeTable, kind: IcebergType, text: str
) -> None:
    landed = make_table(column("v", kind)).land(f'{{"v": {text}}}', '{"v": null}')

    assert list(landed.rejects) == [0]
    assert "must not be" in landed.reasons[0][1]
    assert landed.rows == [None]


def test_null_an_absent_key_and_a_tombstone_are_sql_null(make_table: MakeTable) -> None:
    landed = make_table(*columns(v="variant")).land('{"v": null}', "{}", None, '{"v": [null]}')
    assert landed.written

    counted = duckdb.execute(f"SELECT count(*), count(v) FROM read_parquet('{landed.written.path}')").fetchall()

    assert counted == [(4, 1)]
    assert landed.rows == [None, None, None, [None]]


def test_it_is_written_unshredded(make_table: MakeTable) -> None:
    written = make_table(*columns(v="variant")).land(*['{"v": {"a": 1}}'] * 100).written
    assert written

    assert [each.path for each in _leaves(str(written.path))] == ["v.metadata", "v.value"]


def _leaves(path: str) -> list[pq.ColumnSchema]:
    schema = pq.ParquetFile(path).schema
    return [schema.column(number) for number in range(len(schema))]


@pytest.mark.parametrize(
    "text",
    [
        "[1,]",
        '{"a": 1,}',
        "[1 2]",
        "[01]",
        "[.5]",
        "[1.]",
        "[+1]",
        "[tru]",
        "NaN",
        '{"a": [Infinity]}',
        "-",
        '{"a"}',
        "/* c */ 1",
        '"a\nb"',
        '"\\x"',
        '"\\ud800"',
        '{"\\ud800": 1}',
    ],
)
@pytest.mark.parametrize("good", ['{"v": 7}', "{}"])
def test_malformed_json_within_is_a_reject(make_table: MakeTable, text: str, good: str) -> None:
    landed = make_table(*columns(v="variant")).land(good, f'{{"v": {text}}}', good)

    assert list(landed.rejects) == [1]
    assert len(landed.rows) == 2


WITHIN = ["{}", "[{}]", '{{"k": [1, {}]}}', '{{"k":{}}}', "[\n\t{}]", '{{"b": 0.5, "a": {{"b": {}}}}}']


@pytest.mark.parametrize(
    "number",
    [
        "0.10000000000000001",
        "52.520006599999997",
        "12345678.123456789",
        "123456789.123456789",
        "0.1234567890123456789",
        "12345678901234567.5e-3",
        "1.2345678901234567890123e3",
        "9223372036854775808",
        "-9223372036854775809",
        "12345678901234567890",
        "18446744073709551616",
        "123456789012345678901234567890",
        "9" * 38,
        "-0." + "9" * 38,
        "1" * 19 + "." + "1" * 19,
        "1234567890123456789" + "0" * 19,
        "12345678901234567890.50000000000000000000000000000000000000000",
    ],
)
@pytest.mark.parametrize("within", WITHIN)
def test_a_number_of_38_digits_lands_with_every_digit(make_table: MakeTable, number: str, within: str) -> None:
    landed = make_table(*columns(v="variant")).land('{"v": 7}', f'{{"v": {within.format(number)}}}', '{"v": 0.5}')

    assert landed.rejects == {}
    assert landed.rows == [7, exactly(within.format(number)), 0.5]


@pytest.mark.parametrize(
    ("number", "double"),
    [
        ("1.0000000000000001e+300", 1e300),
        ("4.9406564584124654e-324", 5e-324),
        ("1" + "0" * 40, 1e40),
        ("-1e-200", -1e-200),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
@pytest.mark.parametrize("within", WITHIN)
def test_a_text_of_a_double_with_no_room_in_38_digits_is_the_double(
    make_table: MakeTable, number: str, double: float, within: str
) -> None:
    landed = make_table(*columns(v="variant")).land(f'{{"v": {within.format(number)}}}')

    assert landed.rows == [json.loads(within.format(repr(double)))]


@pytest.mark.parametrize(
    "number",
    [
        "9" * 39,
        "-" + "1" * 39,
        "0." + "1" * 39,
        "1" * 20 + "." + "1" * 19,
        "1.234567890123456789e300",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999999999999999999",
    ],
)
@pytest.mark.parametrize("within", WITHIN)
def test_a_number_it_would_round_is_a_reject(make_table: MakeTable, number: str, within: str) -> None:
    landed = make_table(*columns(v="variant")).land('{"v": 7}', f'{{"v": {within.format(number)}}}')

    assert landed.rows == [7]
    assert landed.reasons == {1: ("v", f"the number {number!r} is more than a VARIANT keeps exactly")}


KEYS = ["a", "", "*", "a.b", "$", "[0]", "..*", 'q"', "back\\slash", "é", "\0", "\x7f", "/~", "x" * 300]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "within", ["{}", '{{"k": {}}}', "[1, {}]", '{{"": [[{{"*": {}}}]]}}', '[{{"a": 1}}, {{"a": 2}}, {{"a.b": {}}}]']
)
def test_a_key_given_twice_at_any_depth_is_a_reject(make_table: MakeTable, key: str, within: str) -> None:
    name = json.dumps(key)
    once, twice = (within.format(each) for each in (f"{{{name}: 1}}", f"{{{name}: 1, {name}: 1}}"))

    landed = make_table(*columns(v="variant")).land(f'{{"v": {once}}}', f'{{"v": {twice}}}', f'{{"v": {once}}}')

    assert landed.rows == [json.loads(once)] * 2
    assert landed.reasons == {1: ("v", "an object within the VARIANT has a key twice")}


@pytest.mark.parametrize(
    "twice",
    [
        '{"a": 1, "a": 2}',
        '{"a": null, "a": null}',
        '{"a": 1, "a": null}',
        '{"a": 1, "\\u0061": 1}',
        '{"a" : 1, "a"\t: 1}',
        '{"a": {"b": 1}, "a": {"c": 2}}',
        '{"": 1, "": 2}',
        '{"a":1,"b":{"c":[{"d":1,"e":2,"d":3}]}}',
        '{"x": "\\": ", "a": 1, "a": 1}',
    ],
)
@pytest.mark.parametrize("name", ["v", "VALUE", "*"])
def test_a_key_given_twice_in_any_writing_is_a_reject(make_table: MakeTable, twice: str, name: str) -> None:
    landed = make_table(column(name, "variant")).land(f'{{"{name}": {twice}}}')

    assert list(landed.rejects) == [0]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "A": 2}',
        '[{"a": 1}, {"a": 1}]',
        '{"a": {"a": {"a": 1}}}',
        '{"a": "b", "b": "a"}',
        '{"k": "\\"a\\": 1, \\"a\\": 2"}',
        '{"a": "\\u0061", "\\u0062": 1}',
        '{"a":"\\": 1, \\"","b":[":",{"c":"d\\":"}]}',
        '{"é": 1, "e\u0301": 2}',
    ],
)
def test_keys_that_only_look_as_if_they_came_twice_land(make_table: MakeTable, text: str) -> None:
    landed = make_table(*columns(v="variant")).land(f'{{"v": {text}}}', "{}")

    assert landed.rows == [json.loads(text), None]


def test_keys_of_one_name_in_several_columns_do_not_meet(make_table: MakeTable) -> None:
    table = make_table(*columns(v="variant", w="variant", t="string"))

    landed = table.land('{"v": {"a": 1}, "w": {"a": 1}, "t": {"a": 1, "a": 2}}', '{"w": {"a": 1, "a": 2}}')

    assert landed.rows == [({"a": 1}, {"a": 1}, '{"a":1,"a":2}')]
    assert landed.rejects[1].column == "w"


def test_numbers_beside_a_variant_are_not_its(make_table: MakeTable) -> None:
    """What a VARIANT would round lands in columns that hold it, and beside the table."""
    long = "0.1234567890123456789"
    table = make_table(*columns(v="variant", d="decimal(38,20)", t="string"))

    landed = table.land(f'{{"v": 1, "d": {long}, "t": [{long}], "other": {long}}}', f'{{"v": "{long}"}}')

    assert landed.rejects == {}
    assert [row[0] for row in landed.rows] == [1, long]


def test_a_table_without_other_columns_takes_documents_of_any_kind_in_one_chunk(make_table: MakeTable) -> None:
    texts = ["1", "0.5", '"x"', "true", "null", "[]", "{}", '{"a": [1, {"b": null}]}', '"12"', "[1.0, 1]"]

    landed = make_table(*columns(V="variant")).land(*(f'{{"v": {text}}}' for text in texts))

    assert landed.rows == [json.loads(text) for text in texts]
