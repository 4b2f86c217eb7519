"""The property that says how long texts and bytes may be."""

from __future__ import annotations

import pytest

from frazil.model import Column, Primitive
from frazil.tables.rules.lengths import changed, with_lengths

COLUMNS = (Column(3, "a", Primitive("string")), Column(7, "b", Primitive("binary")))


def test_lengths_go_to_columns_by_their_ids() -> None:
    found = with_lengths(COLUMNS, '{"3": 20, "9": 1}')

    assert [(each.name, each.length) for each in found] == [("a", 20), ("b", None)]


@pytest.mark.parametrize("text", [None, "", "no JSON", "[]", '{"3": "20"}', '{"3": 0}', '{"3": true}', '{"3": -1}'])
def test_what_is_no_length_says_nothing(text: str | None) -> None:
    assert with_lengths(COLUMNS, text) == COLUMNS


def test_lengths_are_changed_and_taken_away() -> None:
    text = changed(None, {3: 20, 7: None, 9: 4})

    assert text == '{"3":20,"9":4}'
    assert changed(text, {3: 30}) == '{"3":30,"9":4}'
    assert changed(text, {3: None, 9: None}) is None
