"""VARIANT columns: every object has its keys in the order the specification wants, which readers rely on.

`chunks` reads VARIANTs by the letter of the specification, so that every test that lands one is a test of this.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.model import ConverterSpec
from frazil.pipes.default.exact_json import DEEPEST
from frazil.records.variant import kept

from .chunks import Table, Worker, column, columns, exactly
from .conftest import MakeTable
from .test_law import LAW, TIMES

ORDERS = [
    ["b", "a"],
    ["aa", "a", "", "b", "A"],
    ["\U0001f600", "\uff46", "\ue000", "\ud7ff", "é", "z", "\x80", "\x7f"],
    ["a\0b", "a\0", "a", "\0", "a\x01"],
    ["x" * length for length in range(30, 0, -1)],
    [f"prefix of many bytes {number}" for number in range(40, 0, -1)],
    [f"{number * 7919 % 2003}" for number in range(2000)],
    [f"{number:0300}" for number in range(300, 0, -1)],
]
"""Keys in other orders than that of their bytes; UTF-16 has another one, too."""


@pytest.mark.parametrize("keys", ORDERS, ids=lambda keys: f"{len(keys)} keys")
@pytest.mark.parametrize("number", ["0.5", "12345678901234567890"])
def test_the_keys_of_objects_are_in_order_at_every_depth(make_table: MakeTable, keys: list[str], number: str) -> None:
    inner = {key: place for place, key in enumerate(keys)}
    texts = [json.dumps({"z": [inner, {"y": inner}], **inner, "n": 0.25}, ensure_ascii=odd) for odd in (True, False)]

    landed = make_table(*columns(v="variant")).land(*(f'{{"v": {text}}}'.replace("0.25", number) for text in texts))

    # Reading them checks the order.
    assert landed.rejects == {}
    assert [list(row) for row in landed.rows] == [sorted({*keys, "z", "n"}, key=str.encode)] * 2


def test_so_are_those_of_what_fills_an_absent_key(make_table: MakeTable) -> None:
    default = '{"b": 12345678901234567890, "a": {"d": 1, "c": 2}}'
    table = make_table(column("v", "variant", default=default), column("n", "long"))

    landed = table.land('{"n": 1}', '{"n": 2, "v": {"z": 1, "y": 2}}', '{"n": 3}')

    filled = json.loads(default)
    assert landed.rows == [(filled, 1), ({"y": 2, "z": 1}, 2), (filled, 3)]
    assert list(landed.rows[0][0]) == ["a", "b"]


def test_so_are_those_of_metadata(make_table: MakeTable) -> None:
    table = make_table(
        column("RECORD_METADATA", "variant"), key_converter=ConverterSpec("json"), structured_headers=True
    )
    headers = [(f"h{number}", b"12345678901234567890" if number == 7 else b"1") for number in range(100, 0, -1)]

    landed = table.land("{}", "{}", key=[b'{"b": 1, "a": 2}', None], headers=[headers[:50], headers])

    assert landed.rejects == {}
    assert [row.get("key") for row in landed.rows] == [{"a": 2, "b": 1}, None]
    assert [row["headers"].get("h7") for row in landed.rows] == [None, 12345678901234567890]
    assert [row["offset"] for row in landed.rows] == [0, 1]
    assert list(landed.rows[1]["headers"]) == sorted(dict(headers))


@pytest.mark.parametrize("text", ["\x7f", "\x7fAQAA", "\x7f\x7f", "\x7fAQAMAQ==", 'a\x7f"'])
def test_a_text_that_begins_as_what_stands_for_bytes_is_a_text(make_table: MakeTable, text: str) -> None:
    written = [
        json.dumps(text),
        json.dumps(text).replace("\x7f", "\\u007f"),
        json.dumps([text]),
        json.dumps({text: text}),
    ]

    landed = make_table(*columns(v="variant")).land(*(f'{{"v": {each}}}' for each in written))

    assert landed.rows == [json.loads(each) for each in written]


texts = st.text(max_size=8) | st.text(st.characters(codec="utf-8", min_codepoint=0xD000), max_size=3)
numbers = st.decimals(allow_nan=False, allow_infinity=False).map(str) | st.floats(
    allow_nan=False, allow_infinity=False
).map(repr)


def objects(values: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    """Texts of objects with some members."""
    return st.dictionaries(texts, values, max_size=most).map(
        lambda found: "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in found.items()) + "}"
    )


documents = st.recursive(
    texts.map(json.dumps) | numbers.filter(lambda text: kept(text) is not None) | st.sampled_from(["null", "true"]),
    lambda inner: st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]") | objects(inner, 40),
    max_leaves=60,
)


@given(st.lists(documents | objects(st.just("1"), 300), min_size=1, max_size=8))
@settings(LAW, max_examples=60 * TIMES)
def test_whatever_is_written_is_canonical(worker: Worker, given_documents: list[str]) -> None:
    landed = Table(worker, columns(v="variant")).land(*(f'{{"v":{each}}}' for each in given_documents))

    assert landed.rejects == {}
    assert landed.rows == [exactly(each) for each in given_documents]


def test_it_may_be_nested_as_deep_as_records_may_be(make_table: MakeTable) -> None:
    deepest = DEEPEST - 1
    nested = [f"{'[' * deepest}1{']' * deepest}", '{"b":0,"a":' * (deepest) + "12345678901234567890" + "}" * deepest]

    landed = make_table(*columns(v="variant")).land(*(f'{{"v":{each}}}' for each in nested))

    assert landed.rejects == {}
    assert len(landed.rows) == 2
