"""Hostile texts through every door of `frazil.sql`: DuckDB gives them back unchanged, or they are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.injection.texts import FRAGMENTS, NAMES

from frazil.sql import Wildcard, ident, json_path, literal, literals, pointer, wildcard_path
from frazil.staging.worker import locked_down

CONTEXTS = (
    "SELECT {}",
    "SELECT {} -- a comment that a line feed ends",
    "SELECT/* a comment */{}",
    "SELECT '' || {} || ''",
    "SELECT CASE WHEN true THEN {} END",
    "SELECT list_transform([{}], lambda each: each)[1]",
    "SELECT x FROM (VALUES ({})) AS t(x) WHERE x = {}",
    "SELECT json_extract_string(to_json({}), '$')",
)
"""Places of a statement a literal stands in."""

texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=8).map("".join)


def is_speakable(text: str) -> bool:
    """Whether SQL has a way to say the text."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with locked_down(tmp_path_factory.mktemp("scratch")) as opened:
        yield opened


@given(texts, st.sampled_from(CONTEXTS))
def test_a_literal_is_the_text_wherever_it_stands(
    connection: duckdb.DuckDBPyConnection, text: str, context: str
) -> None:
    if not is_speakable(text):
        with pytest.raises(ValueError, match="cannot enter SQL"):
            literal(text)
        return

    assert connection.execute(context.replace("{}", literal(text))).fetchall() == [(text,)]


@given(st.lists(texts.filter(is_speakable)))
def test_a_list_of_literals_is_the_list(connection: duckdb.DuckDBPyConnection, found: list[str]) -> None:
    assert connection.execute(f"SELECT {literals(found)}::VARCHAR[]").fetchall() == [(found,)]


@given(st.lists(texts, min_size=1, max_size=5, unique_by=str.casefold))
def test_identifiers_are_the_names_of_columns_fields_and_files(
    connection: duckdb.DuckDBPyConnection, names: list[str]
) -> None:
    if not all(name and is_speakable(name) for name in names):
        with pytest.raises(ValueError, match=r"cannot enter SQL|no identifier"):
            list(map(ident, names))
        return
    columns = ", ".join(f"{number} AS {ident(name)}" for number, name in enumerate(names))
    packed = ", ".join(f"{ident(name)} := s.{ident(name)}" for name in names)

    found = connection.execute(f"SELECT struct_pack({packed}) AS p, s.* FROM (SELECT {columns}) AS s")

    assert [each[0] for each in found.description or ()] == ["p", *names]
    assert found.fetchall() == [(dict(zip(names, range(len(names)), strict=True)), *range(len(names)))]


@given(texts.filter(bool))
def test_a_name_is_the_same_in_a_file(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    assume(is_speakable(name))
    directory = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
    file = Path(directory) / "it's.parquet"

    connection.execute(
        f"COPY (SELECT 7 AS {ident(name)}) TO {literal(str(file))} (FORMAT parquet, FIELD_IDS {{{ident(name)}: 5}})"
    )

    read = duckdb.sql(f"FROM read_parquet({literal(str(file))})")
    assert (read.columns, read.fetchall()) == ([name], [(7,)])
    ids = duckdb.sql(f"SELECT name, field_id FROM parquet_schema({literal(str(file))}) WHERE field_id IS NOT NULL")
    assert ids.fetchall() == [(name, 5)]


@given(st.lists(texts, max_size=3))
def test_a_pointer_leads_to_its_key_and_to_no_look_alike(
    connection: duckdb.DuckDBPyConnection, path: list[str]
) -> None:
    if not all(map(is_speakable, path)):
        with pytest.raises(ValueError, match="cannot enter SQL"):
            json_path(path)
        return
    document: object = "here"
    for key in reversed(path):
        document = {**dict.fromkeys(look_alikes(key), "elsewhere"), key: document}
    text = json.dumps(document)

    found = connection.execute(
        f"SELECT json_extract_string($1, {json_path(path)}), json_type($1, [{literal(pointer(path))}])", [text]
    ).fetchall()

    assert found == [("here", ["VARCHAR"])]


@given(st.lists(texts.filter(lambda key: key not in ("", "*")), min_size=1, max_size=3))
def test_a_path_with_wildcards_leads_below_its_keys_only(
    connection: duckdb.DuckDBPyConnection, path: list[str]
) -> None:
    assume(all(map(is_speakable, path)))
    document: object = [{"here": 1}, {"here": 2}]
    for key in reversed(path):
        document = {**{other: [{"elsewhere": 1}] for other in look_alikes(key)}, key: document}

    found = connection.execute(
        f"SELECT json_keys($1, {literal(wildcard_path([*path, Wildcard.ELEMENTS]))})", [json.dumps(document)]
    ).fetchall()

    assert found == [([["here"], ["here"]],)]


def look_alikes(key: str) -> Iterable[str]:
    """Keys that a path to `key` could lead to if it were read otherwise than it is written."""
    others = {
        f"{key}x", key[:-1], key.strip(), key.swapcase(), f'"{key}"', f".{key}", f"/{key}", f"[{key}]", key.replace("~1", "/"),
        key.replace("~0", "~"), key.replace("/", "~1"), key.replace("~", "~0"), key.replace("\\", ""), key.replace("\\", "\\\\"),
        key.partition(".")[0], key.partition("/")[0], key.replace("\N{COMBINING ACUTE ACCENT}", ""), "*", "0",
    }  # fmt: skip
    return sorted(each for each in others - {key} if is_speakable(each))


@pytest.mark.parametrize("make", ["'", '"', "\\", "]", "--", "$$", "\u00a0'", "é", "😀"])
def test_ten_thousand_characters_are_no_problem(connection: duckdb.DuckDBPyConnection, make: str) -> None:
    text = (make * 10_000)[:10_000]

    found = connection.execute(f"SELECT {literal(text)} AS {ident(text)}, json_extract_string($1, {json_path([text])})", [json.dumps({text: "here"})])  # fmt: skip

    assert (found.description or ())[0][0] == text
    assert found.fetchall() == [(text, "here")]


def test_no_two_hostile_names_are_one() -> None:
    assert len({name.casefold() for name in NAMES}) == len(NAMES)
