"""JSON as a VARIANT's bytes, read by the letter of the specification and by pyspark."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.pipes.default.variant_format import decoded

from frazil.records.variant import encode

WHOLE = [sign * (2**bits + off) for bits in (7, 8, 15, 16, 31, 32, 62, 63) for sign in (1, -1) for off in (-1, 0, 1)]
LONG = [2**63, -(2**63) - 1, 2**64, 10**18, -(10**37), 10**38 - 1, 1 - 10**38]


@pytest.mark.parametrize(
    "value",
    [
        [None, True, False, 0, -1, 0.5, -0.0, 1e300, 5e-324],
        WHOLE,
        LONG,
        ["", "x" * 63, "x" * 64, "é" * 32, "\0", "😀" * 100],
        [],
        {},
        [[], {}, [{"a": []}]],
        {"": {"": [{"": 1}]}},
        {"a": {"a": {"a": 1}}, "b": {"a": 2}},
        list(range(255)),
        list(range(256)),
        {f"{number:04}": number for number in range(255)},
        {f"{number:04}": number for number in range(256)},
        {f"{number:06}": [number] for number in range(70_000)},
        ["x" * 300],
        ["x" * 70_000] * 2,
        {"x" * 300: 1, "y" * 70_000: {"z": "x" * 17_000_000}},
    ],
    ids=lambda value: f"{type(value).__name__} of {len(value)}",
)
def test_a_document_is_read_as_it_is(value: Any) -> None:
    assert read(json.dumps(value)) == value


@pytest.mark.parametrize(
    "number",
    ["0.10000000000000001", "-123456789.123456789", "0." + "1" * 38, "9" * 38, "1" * 19 + "." + "9" * 19],
)
def test_a_decimal_is_read_with_its_digits(number: str) -> None:
    assert read(f"[{number}]") == [Decimal(number)]


def read(text: str) -> Any:
    """What a document's VARIANT holds, by others."""
    found = encode(text)
    size = (found[0] >> 6) + 1
    count = int.from_bytes(found[1 : 1 + size], "little")
    last = 1 + size * (count + 1)
    end = last + size + int.from_bytes(found[last : last + size], "little")
    return decoded(found[:end], found[end:])
