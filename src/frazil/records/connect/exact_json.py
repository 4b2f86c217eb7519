"""JSON whose numbers keep their digits."""

from __future__ import annotations

import json
from typing import Any, Final

from frazil.records.connect.data import Number
from frazil.records.connect.unreadable import Unreadable

MOST_DIGITS: Final = 4096
"""Digits that a number may have: calculating with more takes time that grows with their square."""

_MARK: Final = b"\xef\xbb\xbf"


def parsed(data: bytes) -> Any:
    """The value of a JSON document in UTF-8, its numbers as `Number`; a byte order mark is no part of it.

    Raises:
        Unreadable: it is none, nested too deep, or has a number of more than `MOST_DIGITS` characters.
    """
    try:
        decoder = _DECODER if len(data) <= MOST_DIGITS else _LONG_DECODER
        return decoder.decode(data.removeprefix(_MARK).decode())
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"is not valid JSON: the bytes are not valid UTF-8: byte {data[error.start]:#04x} at position {error.start}"
        ) from error
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(f"is not valid JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable("is nested too deep") from error


def _no_number(text: str) -> None:
    raise ValueError(f"JSON has no {text}")


def _bounded(text: str) -> Number:
    if len(text) > MOST_DIGITS:
        raise Unreadable(f"has a number of {len(text):,} characters, more than {MOST_DIGITS:,}")
    return Number(text)


_DECODER: Final = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_no_number)
_LONG_DECODER: Final = json.JSONDecoder(parse_int=_bounded, parse_float=_bounded, parse_constant=_no_number)
