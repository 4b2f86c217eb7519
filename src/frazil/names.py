"""Names: any text as one that needs no quotes, the way the Snowflake connector does it; and names no table can have.

Connector names are always sanitised; topics without an entry in `snowflake.topic2table.map` are, unless the connector
is set to leave them. The result is the same as the original's to the last digit, so that a moved connector finds its
tables again.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"[_a-zA-Z][_$a-zA-Z0-9]+")
_FIRST = re.compile(r"[_a-zA-Z]")
_OTHER = re.compile(r"[^_$a-zA-Z0-9]")

_LONGEST = 255
"""Bytes of a name; file systems take no more."""

_KEPT = "_frazil"
"""The directory beside the tables where rejects are kept."""


def sanitise(text: str) -> str:
    """An upper-case name of letters, digits, `_` and `$`, with a hash at its end when `text` had to be altered.

    >>> sanitise("orders"), sanitise("shop.orders")
    ('ORDERS', 'SHOP_ORDERS_570428637')
    """
    if _NAME.fullmatch(text):
        return text.upper()
    # Java's length of text is in UTF-16 units: a character outside the first plane becomes two underscores there.
    body = "".join(chr(unit) for unit in _utf16(text.replace(".*", "")))
    start = "" if _FIRST.match(body) else "_"
    return f"{start}{_OTHER.sub('_', body)}_{_hash(text)}".upper()


def refusal(name: str) -> str | None:
    """Why no table can have this name, or None; a table's directory is named after it.

    >>> refusal("shop.orders"), refusal("../orders")
    (None, 'holds a slash')
    """
    if not name:
        return "is empty"
    if not name.isprintable():
        return "holds a control character"
    if "/" in name or "\\" in name:
        return "holds a slash"
    if name in (".", ".."):
        return "means a directory"
    if name.lower() == _KEPT:
        return "is the directory where frazil keeps rejects"
    if len(name.encode()) > _LONGEST:
        return f"is longer than {_LONGEST} bytes"
    return None


def _hash(text: str) -> int:
    """Java's `String.hashCode`, without its sign.

    Math.abs leaves Java's smallest int negative, which would put a `-` into the name; here it is positive like others.
    """
    value = 0
    for unit in _utf16(text):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value if value < 1 << 31 else (1 << 32) - value


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [high << 8 | low for high, low in zip(data[::2], data[1::2], strict=True)]
