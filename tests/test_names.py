from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.names import refusal, sanitise


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", "ORDERS"),
        ("_aA1", "_AA1"),
        ("-_aA1", "___AA1_44483871"),
        ("_aA1-", "_AA1__90688251"),
        ("testApp.snowflake-connector", "TESTAPP_SNOWFLAKE_CONNECTOR_36242259"),
        ("a", "A_97"),
        ("1a", "_1A_1616"),
        ("topic.name", "TOPIC_NAME_879703062"),
        ("😀😀", "______1705528838"),
        ("a.*b", f"AB_{((97 * 31 + 46) * 31 + 42) * 31 + 98}"),
    ],
)
def test_names_are_the_ones_the_snowflake_connector_generates(text: str, name: str) -> None:
    assert sanitise(text) == name


def test_a_topic_pattern_alone_gets_a_name_of_underscores_and_its_hash() -> None:
    assert sanitise(".*") == "__1468"


def test_a_hash_of_javas_smallest_int_has_no_sign() -> None:
    assert sanitise("DESIGNING WORKHOUSES") == "DESIGNING_WORKHOUSES_2147483648"


def test_a_character_outside_the_first_plane_counts_as_the_two_units_java_sees() -> None:
    assert sanitise("a😀").startswith("A___")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        ("a\nb", "control"),
        ("a\ud800", "control"),
        ("a/b", "slash"),
        ("a\\b", "slash"),
        (".", "directory"),
        ("..", "directory"),
        ("_Frazil", "rejects"),
        ("é" * 128, "255 bytes"),
    ],
)
def test_a_name_that_would_leave_its_directory_or_has_none_is_refused(name: str, reason: str) -> None:
    assert reason in (refusal(name) or "")


@pytest.mark.parametrize("name", ["a.b", "a..b", "...", " a:b,c%20#?'`", "_frazil_", "é" * 127, "日本語"])
def test_any_other_name_can_be_a_tables(name: str) -> None:
    assert refusal(name) is None


@given(st.text())
def test_every_text_becomes_a_plain_upper_case_name(text: str) -> None:
    name = sanitise(text)

    assert re.fullmatch(r"[_A-Z][_$A-Z0-9]+", name)
    assert sanitise(name) == name


@given(st.text(min_size=1))
def test_an_altered_text_carries_javas_hash_of_the_original(text: str) -> None:
    if not re.fullmatch(r"[_a-zA-Z][_$a-zA-Z0-9]+", text):
        assert sanitise(text).endswith(f"_{_abs_java_hash(text)}")


def _abs_java_hash(text: str) -> int:
    data = text.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
    total = sum(unit * 31 ** (len(units) - 1 - i) for i, unit in enumerate(units))
    return abs((total + 2**31) % 2**32 - 2**31)
