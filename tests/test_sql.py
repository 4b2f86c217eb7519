"""Text from outside cannot leave the place in SQL it was put into: tried in DuckDB itself."""

from __future__ import annotations

import json
from collections.abc import Callable

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.sql import (
    LONGEST_NAME,
    Wildcard,
    ident,
    is_usable_name,
    json_path,
    literal,
    literals,
    pointer,
    wildcard_path,
)

texts = st.text(st.characters(exclude_characters="\0", codec="utf-8")) | st.lists(
    st.sampled_from([*"'\"\\;-/*$~[].% \n", "--", "/*", "*/", "''", '""', "a", "é", "DROP TABLE t"])
).map("".join)
keys = texts | st.sampled_from(["*", "#", "$", "0", "-1", "", "~1", "~0", "\\u0061", "[0]", "[*]"])

CONNECTION = duckdb.connect()


@given(texts)
def test_a_literal_is_the_text(text: str) -> None:
    assert CONNECTION.execute(f"SELECT {literal(text)}, 1").fetchall() == [(text, 1)]


@given(st.lists(texts))
def test_literals_are_the_texts(found: list[str]) -> None:
    assert CONNECTION.execute(f"SELECT {literals(found)}::VARCHAR[]").fetchall() == [(found,)]


@given(texts.filter(bool))
def test_an_identifier_names_what_it_says(text: str) -> None:
    query = f"SELECT s.{ident(text)}, {ident(text)} FROM (SELECT 7 AS {ident(text)}) s"

    assert CONNECTION.execute(query).fetchall() == [(7, 7)]
    assert CONNECTION.description
    assert CONNECTION.description[0][0] == text


@given(st.lists(keys, max_size=3))
def test_a_pointer_reaches_the_value_below_the_keys_and_nothing_else(path: list[str]) -> None:
    document: object = "here"
    for key in reversed(path):
        document = (
            {key: document, key + "x": "elsewhere", "other": {key: "elsewhere"}} if key != "other" else {key: document}
        )

    found = CONNECTION.execute(f"SELECT json_extract($1, {json_path(path)})", [json.dumps(document)]).fetchall()

    assert json.loads(found[0][0]) == "here"
    assert json_path(path) == literal(pointer(path))


@given(st.lists(keys, min_size=1, max_size=2))
def test_a_wildcard_path_reaches_every_element_of_a_list(path: list[str]) -> None:
    document: object = [{"found": number} for number in range(3)]
    for key in reversed(path):
        document = {key: document}

    wanted = literal(wildcard_path([*path, Wildcard.ELEMENTS]))
    found = CONNECTION.execute(f"SELECT json_extract($1, {wanted})", [json.dumps(document)]).fetchall()

    assert [json.loads(each) for each in found[0][0]] == [{"found": number} for number in range(3)]


@given(st.lists(keys, min_size=1, max_size=2), st.lists(keys, min_size=1, max_size=3, unique=True))
def test_a_wildcard_path_reaches_every_member_of_an_object(path: list[str], members: list[str]) -> None:
    document: object = {member: {"found": number} for number, member in enumerate(members)}
    for key in reversed(path):
        document = {key: document}

    wanted = literal(wildcard_path([*path, Wildcard.MEMBERS]))
    found = CONNECTION.execute(f"SELECT json_extract($1, {wanted})", [json.dumps(document)]).fetchall()

    assert [json.loads(each) for each in found[0][0]] == [{"found": number} for number in range(len(members))]


@given(st.lists(keys.filter(lambda key: key not in ("", "*")), min_size=1, max_size=3))
def test_a_wildcard_path_reaches_no_other_key(path: list[str]) -> None:
    document: object = {"found": 1}
    for key in reversed(path):
        document = {key: document, key + "x": {"found": 2}}

    query = f"SELECT json_keys($1, {literal(wildcard_path(path))})"

    assert CONNECTION.execute(query, [json.dumps(document)]).fetchall() == [(["found"],)]


@pytest.mark.parametrize("make", [literal, ident, lambda text: literals(["a", text]), lambda text: json_path([text])])
@pytest.mark.parametrize(("text", "named"), [("a\0b", "NUL"), ("a\ud83d", "surrogate"), ("\udc00\ud800", "surrogate")])
def test_what_sql_cannot_say_never_enters_it(make: Callable[[str], str], text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make(text)


def test_an_empty_text_is_no_identifier() -> None:
    with pytest.raises(ValueError, match="empty"):
        ident("")


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("a", True),
        ("x" * LONGEST_NAME, True),
        ("😀 \"quoted' .dots/", True),
        ("", False),
        ("x" * (LONGEST_NAME + 1), False),
        ("a\nb", False),
        ("\0", False),
        ("\x7f", False),
        ("\x9b31m", False),
        ("\udc00", False),
        ("__DuckDB_field_id", False),
    ],
)
def test_names_of_columns_have_limits(name: str, usable: bool) -> None:
    assert is_usable_name(name) is usable
