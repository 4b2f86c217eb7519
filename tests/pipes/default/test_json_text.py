"""Objects and arrays in text columns: their compact JSON, with every digit as it was written."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from .chunks import REJECTED, column, columns, fates, listed, mapped, struct
from .conftest import MakeTable

LONG = "123456789012345678901234567890"
DOCUMENTS = {
    "{}": "{}",
    "[]": "[]",
    '{"b": 1.50, "a": [1e3, "x"]}': '{"b":1.50,"a":[1e3,"x"]}',
    "[1.50, 1E+2, -0, -0.0, 0.10, 1e-07]": "[1.50,1E+2,-0,-0.0,0.10,1e-07]",
    f"[{LONG}, -{LONG}.{LONG}, 1e{'9' * 20}]": f"[{LONG},-{LONG}.{LONG},1e{'9' * 20}]",
    '[true, false, null, ""]': '[true,false,null,""]',
    ' {\t"a" :\n[ 1 ,\r2 ] } ': '{"a":[1,2]}',
    # Keys keep their order, and are not looked at: nobody reads columns from them.
    '{"z": 1, "a": 2, "z": 3, "": 4, "a.b": 5}': '{"z":1,"a":2,"z":3,"":4,"a.b":5}',
    '{"a/b": "c\\/d"}': '{"a/b":"c/d"}',
    r'{"q\"\\": "\b\f\n\r\t"}': r'{"q\"\\":"\b\f\n\r\t"}',
    r'["\u00e9\u0000\u001f\u007f\ud83d\ude00\u2028"]': '["é\\u0000\\u001f\x7f😀\u2028"]',
    '["é😀\u2028\x7f"]': '["é😀\u2028\x7f"]',
    '["<script>&\'"]': '["<script>&\'"]',
    '[", 1.50", "{", "]"]': '[", 1.50","{","]"]',
    '[[[[]]], {"a": {"b": {}}}]': '[[[[]]],{"a":{"b":{}}}]',
}
OTHERS = {
    '"plain"': "plain",
    '"{\\"a\\": 1.50}"': '{"a": 1.50}',
    '"[1, 2]"': "[1, 2]",
    '"null"': "null",
    '"\\"quoted\\""': '"quoted"',
    '"\\u007b"': "{",
    '"a\\u0000b"': "a\0b",
    '"tab\\t, slash\\/"': "tab\t, slash/",
    '""': "",
    "1.50": "1.5",
    "1e3": "1000",
    "-0": "0",
    "12345678901234567890": "12345678901234567890",
    "9223372036854775807": "9223372036854775807",
    "true": "true",
    "null": None,
}
BROKEN = ['"\\ud800"', '{"k": "\\udfff"}', '["\\ud83dx"]', '{"\\ud800": 1}', "[1,]", "[NaN]", "{1: 2}"]


def test_documents_are_compact_texts(make_table: MakeTable) -> None:
    assert fates(make_table(column("x", "string")), DOCUMENTS) == DOCUMENTS


def test_documents_texts_and_numbers_mix_in_one_chunk(make_table: MakeTable) -> None:
    values = {**OTHERS, **DOCUMENTS, **dict.fromkeys(BROKEN, REJECTED)}

    assert fates(make_table(column("x", "string")), values) == values
    assert fates(make_table(column("x", "string")), reversed(values)) == values


def test_documents_texts_and_numbers_mix_across_chunks(make_table: MakeTable) -> None:
    table = make_table(column("x", "string"))
    parts = [OTHERS, DOCUMENTS, OTHERS, dict.fromkeys(BROKEN, REJECTED), OTHERS]

    assert [fates(table, part) for part in parts] == parts


@pytest.mark.parametrize("value", [*DOCUMENTS, *OTHERS])
def test_the_exact_tier_writes_the_same_text(make_table: MakeTable, value: str) -> None:
    """The 1.0e0 in a column of whole numbers sends the record there."""
    table = make_table(*columns(n="long", x="string"))

    landed = table.land(f'{{"n": 1.0e0, "x": {value}}}', f'{{"n": 1, "x": {value}}}')

    expected = {**DOCUMENTS, **OTHERS}[value]
    assert landed.rows == [(1, expected), (1, expected)]


def test_a_document_reads_as_the_value_that_was_sent(make_table: MakeTable) -> None:
    texts = make_table(column("x", "string")).land(*(f'{{"x": {each}}}' for each in DOCUMENTS)).rows

    assert [json.loads(text) for text in texts] == [json.loads(each) for each in DOCUMENTS]


@pytest.mark.parametrize("spellings", list(itertools.permutations(["doc", "Doc", "DOC"])))
def test_documents_come_under_any_spelling_of_the_key(make_table: MakeTable, spellings: tuple[str, ...]) -> None:
    table = make_table(*columns(doc="string", n="long"))
    first, second, third = spellings

    landed = table.land(
        f'{{"{first}": {{"a": 1.50}}}}',
        f'{{"{second}": "text", "{third}": null}}',
        f'{{"{third}": [1.50], "n": 1}}',
        f'{{"{first}": null, "{second}": [0.10]}}',
        f'{{"{first}": [1], "{second}": [1]}}',
        "{}",
    )

    assert landed.rows == [('{"a":1.50}', None), ("text", None), ("[1.50]", 1), ("[0.10]", None), (None, None)]
    assert list(landed.rejects) == [4]


def test_documents_within_structs_lists_and_maps_are_texts_too(make_table: MakeTable) -> None:
    table = make_table(*columns(s=struct(x="string"), l=listed("string"), m=mapped("string", "string")))

    landed = table.land(
        f'{{"s": {{"x": {{"a": 1.50}}}}, "l": [[{LONG}], "x", 1.50, null], "m": {{"k": {{"b": [0.10]}}, "n": 1}}}}',
        '{"s": {"x": "plain"}, "l": ["a"], "m": {"k": "v"}}',
        '{"s": {"x": {"k": "\\ud800"}}}',
    )

    assert landed.rows == [
        ({"x": '{"a":1.50}'}, [f"[{LONG}]", "x", "1.5", None], [("k", '{"b":[0.10]}'), ("n", "1")]),
        ({"x": "plain"}, ["a"], [("k", "v")]),
    ]
    assert landed.rejects[2].column == "s"


def test_documents_do_not_change_their_neighbours(make_table: MakeTable) -> None:
    """Keeping the digits of numbers changes how a whole record is read."""
    shape = columns(
        doc="string", d="double", f="float", p="decimal(38,10)", n="long", v="variant", s=struct(d="double")
    )
    record = '{"doc": %s, "d": 0.1, "f": 1e-7, "p": 1.5, "n": 9223372036854775807, "v": {"a": 1.50}, "s": {"d": 1e22}}'
    table = make_table(*shape)

    (before,) = table.land(record % '"x"').rows
    (after,) = table.land(record % "[1.50]").rows

    assert after == ("[1.50]", *before[1:])


@pytest.mark.parametrize("other", ["1.50", "{}", "null"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_minus_zero_is_plain_0_whatever_else_is_in_the_table(make_table: MakeTable, other: str, blank: str) -> None:
    """Decimals and documents make the statement keep the digits of numbers."""
    zero = f"{blank}-0{blank}"
    record = f'{{"x": {zero}, "s": {{"x": {zero}}}, "l": [{zero}, "-0"], "m": {{"k": {zero}}}, "other": {{}}}}'
    nested = columns(x="string", s=struct(x="string"), l=listed("string"), m=mapped("string", "string"))
    expected = ("0", {"x": "0"}, ["0", "-0"], [("k", "0")])

    for kind in ("decimal(5,2)", "string") if other == "1.50" else ("string",):
        landed = make_table(*nested, column("d", kind)).land(record, f'{{"d": {other}}}', record)
        assert [row[:4] for row in landed.rows] == [expected, (None,) * 4, expected]


@pytest.mark.parametrize("name", ["doc", 'q"', "*", "", "\x7f"])
def test_any_key_of_the_record_may_stand_beside_a_document(make_table: MakeTable, name: str) -> None:
    others: list[Any] = [1.5, "x", None, {}, [1]]
    table = make_table(*columns(x="string"))

    landed = table.land(*(json.dumps({"x": {"a": 1}, name: each}) for each in others))

    assert (landed.rows, landed.rejects) == (['{"a":1}'] * len(others), {})


@pytest.mark.parametrize("name", ["\x7f", "\x7f\x7f", "value", "parsed 0"])
def test_any_column_of_the_table_may_stand_beside_a_document(make_table: MakeTable, name: str) -> None:
    landed = make_table(*columns(x="string", **{name: "long"})).land(f'{{"x": [1.50], "{name}": 1}}')

    assert landed.rows == [("[1.50]", 1)]
