"""How deep a record may be nested, seen by fast validation on its bytes as exact validation sees it in what they mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.pipes.default.exact_json import DEEPEST
from frazil.pipes.default.fast_validation import is_too_deep

TEXTS = st.text('[]{}",:\\ aø', max_size=8)


def nested(levels: int, kinds: list[str], texts: list[str], *, escaped: bool) -> str:
    """A record of so many levels, with brackets and quotes within its texts."""
    value: Any = texts[0]
    for level in range(levels):
        text = texts[level % len(texts)]
        value = [text, value, []] if kinds[level % len(kinds)] == "[" else {text: {}, f"{text}.": value}
    return json.dumps({"k": value}, ensure_ascii=escaped)


@settings(max_examples=40)
@given(
    st.integers(DEEPEST - 4, DEEPEST + 4),
    st.lists(st.sampled_from("[{"), min_size=1, max_size=5),
    st.lists(TEXTS, min_size=1, max_size=5),
    st.booleans(),
)
def test_brackets_within_texts_are_no_levels(levels: int, kinds: list[str], texts: list[str], escaped: bool) -> None:
    record = nested(levels, kinds, texts, escaped=escaped)

    # The innermost of them holds an empty one.
    assert is_too_deep(record.encode()) == (levels + 1 > DEEPEST)


@pytest.mark.parametrize("many", [b"[],", b"{},", b'"[",', b'"\\\\",', b'"\\"[",'])
def test_what_lies_side_by_side_is_no_deeper(many: bytes) -> None:
    assert not is_too_deep(b'{"k": [' + many * 100_000 + b"0]}")
