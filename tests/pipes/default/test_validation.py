"""Whose rules hold for texts (spec 4.3 and 4.4): with client_side they stand for JSON where a column asks for some."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType

from .chunks import Table, Worker, column
from .conftest import MakeTable

LONG, TEXT, VARIANT = Primitive("long"), Primitive("string"), Primitive("variant")
LIST = ListType(901, LONG, element_required=False)
MAP = MapType(901, TEXT, 902, LONG, value_required=False)
STRUCT = StructType((Column(901, "a", LONG), Column(902, "b", TEXT)))
CLIENT, SERVER = {"validation": "client_side"}, {"validation": "server_side"}


def landed(make_table: MakeTable, kind: IcebergType, rules: dict[str, str], value: Any) -> Any:
    found = make_table(column("v", kind), **rules).land(json.dumps({"v": value}))
    return found.reasons[0][1] if found.rejects else found.rows[0]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (VARIANT, '{"a": [1.5, "x"]}', {"a": [1.5, "x"]}),
        (VARIANT, " [1] ", [1]),
        (VARIANT, '"quoted"', "quoted"),
        (VARIANT, "7", 7),
        (VARIANT, "null", None),
        (VARIANT, "", None),
        (VARIANT, " ", None),
        (VARIANT, {"a": "{}"}, {"a": "{}"}),
        (VARIANT, ["[]"], ["[]"]),
        (LIST, "[1, 2]", [1, 2]),
        (LIST, "3", [3]),
        (LIST, 3, [3]),
        (LIST, "", [None]),
        (LIST, "null", [None]),
        (LIST, None, None),
        (MAP, '{"k": 1}', [("k", 1)]),
        (STRUCT, '{"a": 1, "B": "x"}', {"a": 1, "b": "x"}),
    ],
)
def test_on_the_clients_side_a_text_stands_for_json(
    make_table: MakeTable, kind: IcebergType, value: Any, expected: Any
) -> None:
    assert landed(make_table, kind, CLIENT, value) == expected


@pytest.mark.parametrize("value", ["hello", "{null}", "}{", "foo", "{'a': 1}", "NaN", "[1,]"])
@pytest.mark.parametrize("kind", [VARIANT, LIST, MAP, STRUCT], ids=["variant", "list", "map", "struct"])
def test_on_the_clients_side_a_text_that_is_no_json_is_rejected_with_the_setting_that_asks_for_it(
    make_table: MakeTable, kind: IcebergType, value: str
) -> None:
    reason = landed(make_table, kind, CLIENT, value)

    assert "not valid JSON, which snowflake.validation=client_side asks of texts" in reason


@pytest.mark.parametrize("value", ["[1]", "7", '"x"', "", [1], 7, True])
@pytest.mark.parametrize("kind", [MAP, STRUCT], ids=["map", "struct"])
def test_an_object_is_no_array_and_no_scalar(make_table: MakeTable, kind: IcebergType, value: Any) -> None:
    assert isinstance(landed(make_table, kind, CLIENT, value), str)


def test_a_key_twice_in_a_text_is_a_reject(make_table: MakeTable) -> None:
    assert "twice" in landed(make_table, VARIANT, CLIENT, '{"a": 1, "a": 2}')


@pytest.mark.parametrize("value", ["hello", '{"a": 1}', "", "7"])
def test_on_the_servers_side_a_text_in_a_variant_stays_a_text(make_table: MakeTable, value: str) -> None:
    assert landed(make_table, VARIANT, SERVER, value) == value


@pytest.mark.parametrize("value", ["[1]", 3, ""])
def test_on_the_servers_side_only_arrays_are_lists(make_table: MakeTable, value: Any) -> None:
    assert isinstance(landed(make_table, LIST, SERVER, value), str)


documents = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(st.characters(codec="utf-8"), max_size=5)
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(documents, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_text_of_a_document_lands_as_the_document_does(worker: Worker, values: list[Any]) -> None:
    from frazil.model import Conversion

    table = [column("v", VARIANT)]
    whole = Table(worker, tuple(table), Conversion()).land(*(json.dumps({"v": value}) for value in values))
    texts = Table(worker, tuple(table), Conversion(validation="client_side")).land(
        *(json.dumps({"v": json.dumps(value)}) for value in values)
    )

    assert not whole.rejects
    assert not texts.rejects
    assert texts.rows == whole.rows


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_bytes_in_base64_land_as_bytes(worker: Worker, values: list[bytes]) -> None:
    from frazil.model import Conversion

    shape = (column("v", Primitive("binary")), column("w", Primitive("fixed[3]")))
    found = Table(worker, shape, Conversion(binary="base64")).land(
        *(
            json.dumps({"v": base64.b64encode(value).decode(), "w": base64.b64encode(value[:3].ljust(3)).decode()})
            for value in values
        )
    )

    assert not found.rejects
    assert [row[0] for row in found.rows] == values


@pytest.mark.parametrize("form", ["hex", "base64"])
@pytest.mark.parametrize(("kind", "default"), [("binary", "00ffaabb"), ("binary", "00"), ("fixed[2]", "00ff")])
def test_a_default_of_bytes_is_the_tables_however_records_write_them(
    make_table: MakeTable, kind: str, default: str, form: str
) -> None:
    inner = StructType((column("d", kind, default=json.dumps(default)), column("e", "long")))
    table = make_table(column("v", kind, default=json.dumps(default)), column("s", inner), binary=form)

    found = table.land('{"s": {"e": 1}}', '{"v": null, "s": null}')

    assert found.rows == [(bytes.fromhex(default), {"d": bytes.fromhex(default), "e": 1}), (None, None)]


@pytest.mark.parametrize("value", ["abc", "YQ", "YR==", "a b=", "é===", 7, "0102 ", "%%%%"])
def test_what_is_no_base64_is_a_reject(make_table: MakeTable, value: Any) -> None:
    assert "is not text in base64" in landed(make_table, Primitive("binary"), {"binary": "base64"}, value)


@pytest.mark.parametrize(
    ("kind", "length", "value", "reason"),
    [
        ("string", 3, "äöü", None),
        ("string", 2, "\U0001f600\U0001f600", None),
        ("string", 3, "abcd", "'abcd' has 4 characters, and the column takes 3"),
        ("string", 3, 1234, "has 4 characters"),
        ("string", 4, 1234, None),
        ("string", 4, False, "has 5 characters"),
        ("string", 30, 1234, None),
        ("string", 9, {"a": [1, 2]}, "has 11 characters"),
        ("string", 11, {"a": [1, 2]}, None),
        ("string", 3, None, None),
        ("binary", 2, "0aff", None),
        ("binary", 2, "0aff00", "has 3 bytes, and the column takes 2"),
    ],
)
def test_a_text_has_as_many_characters_as_its_column_takes_and_no_more(
    make_table: MakeTable, kind: str, length: int, value: Any, reason: str | None
) -> None:
    table = make_table(replace(column("v", Primitive(kind)), length=length), column("w", LONG))

    found = table.land(json.dumps({"v": value, "w": 1}), json.dumps({"v": None, "w": 2}))

    assert len(found.rows) == (2 if reason is None else 1)
    if reason is not None:
        assert found.reasons[0][0] == "v"
        assert reason in found.reasons[0][1]
