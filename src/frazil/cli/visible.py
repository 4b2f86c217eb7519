"""Text from outside on a terminal: what it is can be seen, and it does nothing there."""

from __future__ import annotations

import re
from typing import Final

from rich.text import Text

_ACTING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed, of which escape sequences are made
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of writing
    "\u2028\u2029\ud800-\udfff]"  # what ends a line unseen, and halves of surrogate pairs
)


def visible(text: str) -> str:
    """The text with an escape for each character that a terminal would act on instead of showing it."""
    return _ACTING.sub(lambda found: _escape(found[0]), text)


def cell(text: str) -> Text:
    """The text for rich, to which it is no markup."""
    return Text(visible(text))


def visible_json(document: str) -> str:
    """The same JSON document with such characters as escapes of JSON's; they stand in its strings only."""
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _escape(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
