from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.java_regex import Template, compiled


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("(?<env>.*)_topic", "(?P<env>.*)_topic"),
        (r"(?<a>x)\k<a>", "(?P<a>x)(?P=a)"),
        (r"\Qa.b\E+", r"a\.b+"),
        (r"\Q(?<a>", r"\(\?<a>"),
        (r"\(?<a>", r"\(?<a>"),
        (r"\\(?<a>x)", r"\\(?P<a>x)"),
        ("[(?<a>]+", "[(?<a>]+"),
        ("[]a]", "[]a]"),
        ("(?<=a)b(?<!c)", "(?<=a)b(?<!c)"),
        ("a++(?>b|c)", "a++(?>b|c)"),
    ],
)
def test_what_java_writes_otherwise_is_written_as_python_reads_it(java: str, python: str) -> None:
    assert compiled(java).pattern == python


@pytest.mark.parametrize(
    "java", ["(", r"\p{L}", "[a[b]]", "[a&&b]", "[^[a]]", "a{99999999999999}", "(?<a>x)(?<a>y)", "x(?i)"]
)
def test_what_python_cannot_read_as_java_does_is_refused(java: str) -> None:
    with pytest.raises(ValueError, match=rf"{re.escape(repr(java))} is not a regular expression frazil understands"):
        compiled(java)


@given(st.text("ab.-_"), st.text("ab.-_"))
def test_a_quoted_stretch_matches_itself_only(text: str, other: str) -> None:
    pattern = compiled(rf"\Q{text}\E")

    assert pattern.fullmatch(text)
    assert bool(pattern.fullmatch(other)) == (text == other)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("$0", "xy"),
        ("$2$1", "yx"),
        ("${first}-${second}", "x-y"),
        ("$12", "x2"),
        ("$012", "x2"),
        (r"\$1\\", "$1\\"),
        ("$3", ""),
        ("plain", "plain"),
    ],
)
def test_a_template_is_filled_as_java_fills_it(template: str, filled: str) -> None:
    pattern = compiled("(?<first>.)(?<second>.)(z)?")
    match = pattern.fullmatch("xy")

    assert match
    assert Template.read(template, pattern).filled(match) == filled


def test_a_number_means_the_longest_one_that_is_a_group() -> None:
    pattern = compiled("(.)" * 12)
    match = pattern.fullmatch("abcdefghijkl")

    assert match
    assert Template.read("$12 $123 $13 $1", pattern).filled(match) == "l l3 a3 a"


@pytest.mark.parametrize("template", ["$2", "${b}", "$", "a$", "$a", "${", "${}", "${a", "\\"])
def test_a_template_that_refers_to_nothing_is_refused_with_what_to_write(template: str) -> None:
    with pytest.raises(ValueError, match="write "):
        Template.read(template, compiled("(?<a>.)"))


@given(st.text())
def test_escaped_text_fills_to_itself(text: str) -> None:
    pattern = compiled("")
    match = pattern.fullmatch("")
    escaped = text.replace("\\", r"\\").replace("$", r"\$")

    assert match
    assert Template.read(escaped, pattern).filled(match) == text
