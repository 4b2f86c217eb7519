"""The fast tier's check of a VARIANT: whether DuckDB's cast from JSON keeps all of it.

Two things would be lost in silence: digits of numbers, and keys that come twice. A document that is written anew as it
came has neither, and most are; what is checked beyond that is there for producers that write blanks, or zeros at the
end of fractions.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

from frazil.records.variant import MARK, is_kept_from_json

REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for a record it does not accept."""


def becomes_variant(value: Raw) -> bool:
    """Whether DuckDB makes of a raw value the VARIANT it stands for."""
    raw = bytes(value)
    if raw[0] == _QUOTE:
        return b"\\u" not in raw and not raw.startswith(_MARKED)
    if raw[0] not in b"{[":
        return raw in (b"null", b"true", b"false") or is_kept_from_json(raw.decode())
    try:
        parsed = _DECODE(raw)
        written = orjson.dumps(parsed, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:  # a whole number has more than 53 bits
        written = b""
    except REFUSED:
        return False
    if written == raw:
        return True
    return (_has_short_numbers(raw) and _has_no_key_twice(raw, written)) or _is_kept(raw)


_QUOTE: Final = ord('"')
_MARKED: Final = b'"' + MARK.encode()
_DECODE: Final = msgspec.json.Decoder().decode


def _has_short_numbers(raw: bytes) -> bool:
    """Whether no number has more digits than every double keeps, or an exponent that could be below all of them."""
    return b"e-" not in raw and b"E-" not in raw and _LONG not in raw.translate(_DIGITS)


_LONG: Final = b"0" * 16
"""Digits, the point among them: a fraction of 15 digits has as many, one of 16 has more."""

_DIGITS: Final = bytes(ord("0") if chr(byte) in "0123456789." else ord(" ") for byte in range(256))


def _has_no_key_twice(raw: bytes, written: bytes) -> bool:
    """Whether a document has as many keys as what was read of it, judging by the colons behind quotes.

    Texts may have some, too: as many in the one as in the other, if quotes are written in the same way.
    """
    return raw.count(b'":') == written.count(b'":') and not any(odd in raw for odd in _ODD)


_ODD: Final = (b"\\u", b'" ', b'"\n', b'"\r', b'"\t')
"""Quotes that may be written in another way, and those that may have a blank before their colon."""


def _is_kept(raw: bytes) -> bool:
    """The same for any document, number by number and key by key."""
    try:
        members = _members(_EXACTLY(raw))
    except (*REFUSED, OverflowError):
        return False
    # Texts may begin with blanks, and hold escaped quotes before colons.
    return members == len(_KEYS(raw.replace(rb"\\", b"").replace(rb"\"", b"")))


_KEYS: Final = re.compile(rb'"[ \t\n\r]*:').findall


def _members(container: Any) -> int:
    """How many members an object or an array has at all levels.

    Raises:
        OverflowError: a whole number has more than 64 bits.
    """
    count, values = (len(container), container.values()) if type(container) is dict else (0, container)
    for value in values:
        kind = type(value)
        if kind is dict or kind is list:
            count += _members(value)
        elif kind is int and not -(2**63) <= value < 2**63:
            raise OverflowError(value)
    return count


def _require_exact(number: str) -> None:
    if len(number) <= _SURELY_EXACT and "e" not in number and "E" not in number:
        return
    # Most long numbers are doubles that some program wrote in full: those come back as they were.
    if repr(float(number)) != number and not is_kept_from_json(number):
        raise ValueError("more digits than a DOUBLE keeps")


_SURELY_EXACT: Final = 16
"""Characters of a fraction without an exponent, its point included, that a DOUBLE keeps."""

_EXACTLY: Final = msgspec.json.Decoder(float_hook=_require_exact).decode
