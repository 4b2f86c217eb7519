from __future__ import annotations

import pytest

from frazil.model import Column, Primitive
from frazil.pipes.default.projection import Projection
from frazil.pipes.naming import default_pipe, normalized


def test_the_default_pipe_is_named_after_its_table() -> None:
    assert default_pipe("ORDERS") == "ORDERS-STREAMING"


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("city", "CITY"),
        ("zip code", "ZIP CODE"),
        ("zip\\ code", "ZIP CODE"),
        ('"city"', "city"),
        ('"a""b"', 'a"b'),
        ('""', ""),
        ('"', '"'),
        ("", ""),
        ("straße", "STRASSE"),
    ],
)
def test_a_key_is_normalised_as_snowflake_does_its_identifiers(key: str, column: str) -> None:
    assert normalized(key) == column


@pytest.mark.parametrize(("normalizes", "found"), [(True, {"city", "CITY", '"city"'}), (False, {"city", "CITY"})])
def test_a_quoted_key_finds_its_column_only_when_keys_are_normalised(normalizes: bool, found: set[str]) -> None:
    projection = Projection((Column(1, "city", Primitive("string")),), normalizes)

    assert {key for key in ("city", "CITY", '"city"', '"city', "town") if projection.column_for(key)} == found
