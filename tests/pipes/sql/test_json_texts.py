"""Texts that a pipe reads as JSON: by one rule, whichever function reads them."""

from __future__ import annotations

import json

import pytest
from tests.pipes.default.chunks import Worker, columns
from tests.pipes.sql.landing import create, land

NO_JSON = {
    "[nan]": "not valid JSON",
    '{"a": NaN}': "not valid JSON",
    "[-Infinity]": "not valid JSON",
    "[1,]": "not valid JSON",
    '{"a": 1,}': "not valid JSON",
    '{"a": 1, "a": 2}': "a key twice",
    '{"a": 1, "\\u0061": 2}': "a key twice",
    '[{"o": {"k": 1, "k": null}}]': "a key twice",
    "[" * 501 + "]" * 501: "nested deeper than 500 levels",
    '{"a":' * 100_000 + "1" + "}" * 100_000: "nested deeper than 500 levels",
}


def record(text: str) -> str:
    return json.dumps({"a": text})


@pytest.mark.parametrize(("text", "reason"), NO_JSON.items(), ids=[each[:20] for each in NO_JSON])
def test_what_is_no_json_fails_is_null_or_is_told(worker: Worker, text: str, reason: str) -> None:
    parsed = land(worker, create("PARSE_JSON($1:a::STRING)"), columns(x="variant"), record(text), record("[1]"))
    tried = land(worker, create("TRY_PARSE_JSON($1:a::STRING)"), columns(x="variant"), record(text), record("[1]"))
    checked = land(worker, create("CHECK_JSON($1:a::STRING)"), columns(x="string"), record(text), record("[1]"))

    assert parsed.rows == [[1]]
    assert reason in parsed.rejects[0].reason
    assert parsed.rejects[0].reason.startswith("this text is")
    assert (tried.rows, tried.rejects) == ([None, [1]], {})
    assert [reason in (told or "") for told in checked.rows] == [True, False]


@pytest.mark.parametrize("text", ["{", '["\\ud800"]', "tru", "{'a': 1}"])
def test_the_place_is_named_where_a_text_stops_being_json(worker: Worker, text: str) -> None:
    parsed = land(worker, create("PARSE_JSON($1:a::STRING)"), columns(x="variant"), record(text), record("[1]"))
    tried = land(worker, create("TRY_PARSE_JSON($1:a::STRING)"), columns(x="variant"), record(text))

    assert parsed.rows == [[1]]
    assert "Malformed JSON at byte" in parsed.rejects[0].reason
    assert (tried.rows, tried.rejects) == ([None], {})


JSON = {
    '[null, "", {"": ""}, ""]': [None, "", {"": ""}, ""],
    '{"i": "nan, inf ,]", "na": ",}"}': {"i": "nan, inf ,]", "na": ",}"},
    '{"a:b": "c:d\\"e:f", "A": 1, "a": 2}': {"a:b": 'c:d"e:f', "A": 1, "a": 2},
    '[{"a": 1}, {"a": {"a": null}}]': [{"a": 1}, {"a": {"a": None}}],
    " [true , false, null] ": [True, False, None],
    "[" + "[]," * 2000 + "[]]": [[]] * 2001,
}


@pytest.mark.parametrize(("text", "found"), JSON.items(), ids=[each[:20] for each in JSON])
@pytest.mark.parametrize("function", ["PARSE_JSON", "TRY_PARSE_JSON"])
def test_what_only_looks_like_it_is_json(worker: Worker, function: str, text: str, found: object) -> None:
    landed = land(worker, create(f"{function}($1:a::STRING)"), columns(x="variant"), record(text))

    assert (landed.rows, landed.rejects) == ([found], {})


@pytest.mark.parametrize(
    "item", ["ARRAY_SORT(TO_ARRAY($1:a::STRING))", "$1:a::STRING::ARRAY", "TO_OBJECT($1:a::STRING)"]
)
def test_no_function_reads_a_text_of_any_depth(worker: Worker, item: str) -> None:
    landed = land(worker, create(item), columns(x="variant"), record("[" * 100_000 + "]" * 100_000))

    assert landed.rows == []
    assert [*landed.rejects] == [0]
