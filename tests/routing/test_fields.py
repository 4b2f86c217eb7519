"""The value that a record is routed by."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config.values import field_path
from frazil.routing.fields import Field, NoValue

json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda within: (
        st.lists(within, max_size=3) | st.dictionaries(st.sampled_from("abc") | st.text(), within, max_size=4)
    ),
    max_leaves=12,
)


def found(path: str, text: str) -> str:
    field = Field(field_path(path))
    return field.text(field.spelled(text.encode()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "de", "b": 1}', "de"),
        ('{"b": [{"a": 2}], "a": "de"}', "de"),
        ('{"a": "d\\u0065"}', "de"),
        ('{"a": 12}', "12"),
        ('{"a": 1.50}', "1.50"),
        ('{"a": 123456789012345678901234567890}', "123456789012345678901234567890"),
        ('{"a": true}', "true"),
        (' {"a" : "de" } ', "de"),
    ],
)
def test_a_text_is_itself_and_any_other_scalar_is_as_it_is_written(text: str, value: str) -> None:
    assert found("a", text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"b": 1}', "no field a"),
        ('{"A": "de"}', "no field a"),
        ('{"a": null}', "is null"),
        ('{"a": ""}', "empty text"),
        ('{"a": {"b": 1}}', "is an object"),
        ('{"a": [1]}', "is an array"),
        ("[1]", "not a JSON object"),
        ('"de"', "not a JSON object"),
        ("no JSON", "not valid JSON"),
        ("", "not valid JSON"),
        ('{"a": "\\ud800"}', "not valid JSON"),
        ('{"a": "de"', "not valid JSON"),
        ('{"b": ' + "[" * 100_000 + "]" * 100_000 + ', "a": 1}', "not valid JSON"),
    ],
)
def test_what_has_no_value_says_why(text: str, reason: str) -> None:
    with pytest.raises(NoValue, match=reason):
        found("a", text)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("a.b", '{"a": {"c": 1, "b": "x"}}', "x"),
        ('"a.b"', '{"a": {"b": "y"}, "a.b": "x"}', "x"),
        ('"a.b".c', '{"a.b": {"c": "x"}}', "x"),
        ("a", '{"\\u0061": "x"}', "x"),
        ("über.key with blanks", '{"über": {"key with blanks": "x"}}', "x"),
    ],
)
def test_dots_lead_into_objects(path: str, text: str, value: str) -> None:
    assert found(path, text) == value


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": null}', '{"a": [{"b": "x"}]}', '{"a": {"c": 1}}', "{}"])
def test_a_path_that_leads_nowhere_finds_no_field(text: str) -> None:
    with pytest.raises(NoValue, match=r"no field a\.b"):
        found("a.b", text)


@given(json)
def test_it_finds_what_a_json_library_finds(document: object) -> None:
    text = orjson.dumps(document)
    expected = document.get("a") if isinstance(document, dict) else None
    try:
        value = found("a", text.decode())
    except NoValue:
        assert expected in (None, "") or isinstance(expected, dict | list)
    else:
        assert value == (expected if isinstance(expected, str) else orjson.dumps(expected).decode())
