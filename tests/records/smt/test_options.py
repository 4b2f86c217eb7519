"""Options as Kafka reads them."""

from __future__ import annotations

import pytest

from frazil.records.smt.options import Options


def texts(options: Options) -> list[str]:
    return [f"{each.key} {each.text}" for each in options.problems]


def test_blanks_around_a_text_are_no_part_of_it():
    assert Options({"a": "\t x \n"}).text("a") == "x"


def test_a_list_is_separated_by_commas_and_blanks_around_them():
    assert Options({"a": " x , y,z "}).texts("a") == ("x", "y", "z")
    assert Options({"a": "x,,x,"}).texts("a") == ("x", "", "x", "")
    assert Options({"a": " "}).texts("a") == ()
    assert Options({}).texts("a") == ()


@pytest.mark.parametrize(("text", "expected"), [("TRUE", True), (" false ", False)])
def test_a_flag_is_written_in_any_case(text: str, expected: bool):
    assert Options({"a": text}).flag("a", default=not expected) is expected


@pytest.mark.parametrize(("text", "expected"), [("+7", 7), ("-2147483648", -(2**31)), (" 12 ", 12)])
def test_an_integer_is_read(text: str, expected: int):
    assert Options({"a": text}).integer("a") == expected


@pytest.mark.parametrize("text", ["2147483648", "1.0", "", "0x1"])
def test_what_is_no_integer_of_32_bits_is_refused(text: str):
    options = Options({"a": text}, "transforms.it.")

    assert options.integer("a") is None
    assert texts(options) == [f"transforms.it.a {text!r} is not an integer of 32 bits. Write digits only."]


def test_all_that_is_wrong_is_found_at_once():
    options = Options({"b": "x", "c": "d,d,"}, "it.")

    options.text("a")
    options.flag("b", default=True)
    options.names("c")

    assert texts(options) == [
        "it.a is missing, and has no default value. Write it.a=<text>.",
        "it.b 'x' is neither true nor false. Write one of them.",
        "it.c 'd,d,' has an empty entry. Remove the comma beside it.",
        "it.c 'd,d,' names something twice. Keep one of them.",
    ]
