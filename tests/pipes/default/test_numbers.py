"""Numbers, booleans, texts, uuids and bytes: what each type takes and what it refuses (spec 4.3)."""

from __future__ import annotations

import json
import math
from decimal import Context, Decimal
from typing import Any

import pytest

from .chunks import REJECTED, column, fates
from .conftest import MakeTable

LONG = Context(prec=40)

TRUE = [
    "true",
    "1",
    "1.0",
    "1e0",
    '"true"',
    '"TRUE"',
    '"t"',
    '"T"',
    '"yes"',
    '"Yes"',
    '"y"',
    '"on"',
    '"ON"',
    '"1"',
    '" y\\n"',
]
FALSE = ["false", "0", "0.0", "-0", "0e9", '"false"', '"f"', '"no"', '"N"', '"off"', '"oFf"', '"0"', '"\\tfalse "']
NO_BOOLEANS = [
    *("42", "-1", "999", "0.5", "2", "1e1", "[]", "[true]", "{}"),
    *('""', '" "', '"tru"', '"yes!"', '"2"', '"1.0"', '"null"', '"ja"', '"\\u00a0true"'),
]
INF = math.inf


def test_a_boolean_takes_the_words_for_it_and_nothing_else(make_table: MakeTable) -> None:
    found = fates(make_table(column("x", "boolean")), TRUE + FALSE + NO_BOOLEANS)

    assert found == {
        **dict.fromkeys(TRUE, True),
        **dict.fromkeys(FALSE, False),
        **dict.fromkeys(NO_BOOLEANS, REJECTED),
    }


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            "long",
            {
                "1": 1,
                '"1"': 1,
                '" 12 "': 12,
                '"\\t-7\\n"': -7,
                '"+5"': 5,
                '"007"': 7,
                '"1."': 1,
                '"1e3"': 1000,
                '"12.5E1"': 125,
                "1.0": 1,
                "1e3": 1000,
                "-0": 0,
                "0e5000": 0,
                "9007199254740993.0": 9007199254740993,
                "9223372036854775807": 2**63 - 1,
                '"-9223372036854775808"': -(2**63),
                "9223372036854775807.000": 2**63 - 1,
                "9223372036854775808": REJECTED,
                "-9223372036854775809": REJECTED,
                '"9223372036854775808"': REJECTED,
                "1.5": REJECTED,
                '"1.5"': REJECTED,
                "1e-7": REJECTED,
                "1e400": REJECTED,
                "1e9999999999999999999999": REJECTED,
                "true": REJECTED,
                '"0x22"': REJECTED,
                '"1_000"': REJECTED,
                '"1,000"': REJECTED,
                '"1 000"': REJECTED,
                '"١"': REJECTED,
                '"\\u00a01"': REJECTED,
                '"."': REJECTED,
                '"--1"': REJECTED,
                '"e3"': REJECTED,
                '"1e"': REJECTED,
                '"NaN"': REJECTED,
                '"one"': REJECTED,
                '""': REJECTED,
            },
        ),
        (
            "int",
            {
                "2147483647": 2**31 - 1,
                '"-2147483648"': -(2**31),
                "2147483648": REJECTED,
                "-2147483649": REJECTED,
                "2147483647.5": REJECTED,
                "1e10": REJECTED,
            },
        ),
        (
            "decimal(5,2)",
            {
                "1": Decimal("1.00"),
                '"1"': Decimal("1.00"),
                '" 1.5e2 "': Decimal("150.00"),
                "999.99": Decimal("999.99"),
                '"-999.990"': Decimal("-999.99"),
                "-0.00": Decimal(0),
                "0e-900": Decimal(0),
                "1.005": REJECTED,
                "1000": REJECTED,
                "999.995": REJECTED,
                "-1e3": REJECTED,
                '"1000"': REJECTED,
                "1e999999": REJECTED,
                "1e-999999": REJECTED,
                "1e9999999999999999999999": REJECTED,
                "true": REJECTED,
                '"NaN"': REJECTED,
                '"0x22"': REJECTED,
                "[1]": REJECTED,
            },
        ),
        (
            "decimal(38,2)",
            {
                "123456789012345678901234567890123456.78": Decimal("123456789012345678901234567890123456.78"),
                "1.5000000000000000000000000000000000000000000": Decimal("1.50"),
                "123.456789": REJECTED,
                "123456789012345678901234567890.123": REJECTED,
            },
        ),
        ("decimal(38,20)", {"1E17": Decimal(10**17), "9223372036854775807": REJECTED, '"1E30"': REJECTED}),
        (
            "decimal(38,0)",
            {
                "9" * 38: Decimal("9" * 38),
                "1.0e37": Decimal(10**37),
                "1" + "0" * 38: REJECTED,
                "12345678901234567890123456789.1": REJECTED,
            },
        ),
        ("decimal(38,38)", {"0." + "1" * 38: Decimal("0." + "1" * 38), "1": REJECTED, "0." + "1" * 39: REJECTED}),
    ],
)
def test_a_number_lands_with_every_digit_or_not_at_all(
    make_table: MakeTable, kind: str, values: dict[str, Any]
) -> None:
    assert fates(make_table(column("x", kind)), values) == values


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            "long",
            {
                "1.5": 2,
                "2.5": 3,
                "-1.5": -2,
                "0.5": 1,
                "-0.5": -1,
                "0.4999999999999999999999": 0,
                '"1.4e0"': 1,
                "1e-9999": 0,
                "9223372036854775807.4": 2**63 - 1,
                "9223372036854775807.5": REJECTED,
                "-9223372036854775808.5": REJECTED,
            },
        ),
        ("int", {"2147483646.5": 2**31 - 1, "2147483647.5": REJECTED}),
        (
            "decimal(2,1)",
            {"9.94": Decimal("9.9"), '"9.96"': REJECTED, "9.95": REJECTED, "-9.95": REJECTED, "0.05": Decimal("0.1")},
        ),
        ("decimal(38,2)", {"123.456789": Decimal("123.46"), "1.255": Decimal("1.26"), "-1.255": Decimal("-1.26")}),
        ("decimal(38,20)", {"1E30": REJECTED, '"1E30"': REJECTED, "9223372036854775807": REJECTED}),
    ],
)
def test_digits_without_room_are_rounded_half_up_where_that_is_asked_for(
    make_table: MakeTable, kind: str, values: dict[str, Any]
) -> None:
    assert fates(make_table(column("x", kind), numbers="round"), values) == values


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            "double",
            {
                "1": 1.0,
                '"1"': 1.0,
                '" 1.5e3 "': 1500.0,
                '"+.5"': 0.5,
                '"1."': 1.0,
                "123456789012345678901234567890": 1.2345678901234568e29,
                "1.7976931348623157e308": 1.7976931348623157e308,
                "4.9e-324": 5e-324,
                "1e-400": 0.0,
                "1e-99999999999": 0.0,
                '"inf"': INF,
                '"INF"': INF,
                '"-Inf"': -INF,
                '"Infinity"': INF,
                '"+infinity"': INF,
                '" -Infinity "': -INF,
                "1e400": REJECTED,
                '"-1e400"': REJECTED,
                "false": REJECTED,
                '"0x1p3"': REJECTED,
                '"1f"': REJECTED,
                '"1d"': REJECTED,
                '"infinit"': REJECTED,
                '"snan"': REJECTED,
                '"x"': REJECTED,
                '""': REJECTED,
                "[1]": REJECTED,
                "{}": REJECTED,
            },
        ),
        (
            "float",
            {
                "16777217": 16777216.0,
                "0.1": 0.10000000149011612,
                '"0.1"': 0.10000000149011612,
                "3.4028235e38": 3.4028234663852886e38,
                '"-inf"': -INF,
                "3.4028235677973366e38": REJECTED,
                "1e39": REJECTED,
                '"1e39"': REJECTED,
                "true": REJECTED,
            },
        ),
    ],
)
def test_a_binary_fraction_is_the_nearest_one_or_infinite(
    make_table: MakeTable, kind: str, values: dict[str, Any]
) -> None:
    assert fates(make_table(column("x", kind)), values) == values


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("word", ["nan", "NaN", " NAN\t"])
def test_not_a_number_is_a_text(make_table: MakeTable, kind: str, word: str) -> None:
    (found,) = make_table(column("x", kind)).land(json.dumps({"x": word})).rows

    assert math.isnan(found)


def test_a_text_takes_numbers_plain_and_without_trailing_zeros(make_table: MakeTable) -> None:
    values = {
        "12345678901234567890": "12345678901234567890",
        "1" * 40 + "." + "2" * 40: "1" * 40 + "." + "2" * 40,
        "1.500": "1.5",
        "100": "100",
        "1.0": "1",
        "-0": "0",
        "-0.0": "0",
        "0e5000": "0",
        "1e-7": "0.0000001",
        "1E+2": "100",
        "1e400": "1" + "0" * 400,
        # As many zeros as a person wrote the exponent to avoid.
        "1e5000": "1e5000",
        "true": "true",
        "false": "false",
        '""': "",
        '" x "': " x ",
        '"1.500"': "1.500",
        '"a\\u0000b\\ud83d\\ude00"': "a\0b😀",
    }

    assert fates(make_table(column("x", "string")), values) == values


def test_bytes_are_pairs_of_hexadecimal_digits(make_table: MakeTable) -> None:
    values = {
        '""': b"",
        '"00ff"': b"\x00\xff",
        '"DEADbeef"': b"\xde\xad\xbe\xef",
        '" 0a\\n"': b"\n",
        '"0"': REJECTED,
        '"0x00"': REJECTED,
        '"0g"': REJECTED,
        '"00 ff"': REJECTED,
        '"00\\u00a0"': REJECTED,
        '"AAE="': REJECTED,
        '"٠٠"': REJECTED,
        "12": REJECTED,
        "true": REJECTED,
        "[0, 255]": REJECTED,
    }

    assert fates(make_table(column("x", "binary")), values) == values


def test_a_uuid_is_32_hexadecimal_digits_with_or_without_hyphens(make_table: MakeTable) -> None:
    text = "8d8ac610-566d-4ef0-9c22-186b2a5ed793"
    values = {
        json.dumps(text): text,
        json.dumps(text.upper()): text,
        json.dumps(text.replace("-", "")): text,
        json.dumps("{" + text + "}"): REJECTED,
        json.dumps("urn:uuid:" + text): REJECTED,
        json.dumps(text[:-1]): REJECTED,
        json.dumps(text + "0"): REJECTED,
        json.dumps(text.replace("8", "g")): REJECTED,
        "1": REJECTED,
        '""': REJECTED,
    }

    assert fates(make_table(column("x", "uuid")), values) == values


@pytest.mark.parametrize(("precision", "scale"), [(38, 0), (38, 38), (38, 10), (30, 2)])
def test_a_decimal_of_more_than_28_digits_takes_its_ends_however_they_are_written(
    make_table: MakeTable, precision: int, scale: int
) -> None:
    end = Decimal(10**precision - 1).scaleb(-scale, LONG)
    texts = [f'"  {end:f} "', f"{end:e}", f'"-{end:f}"', f'"{end:f}0"', f'"1{end:f}"']

    found = fates(make_table(column("x", f"decimal({precision},{scale})")), texts)

    assert [*found.values()] == [end, end, end.copy_negate(), end if scale else REJECTED, REJECTED]
