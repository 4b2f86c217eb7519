"""The only door through which text from outside enters DuckDB SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

LONGEST_NAME = 255
"""Characters a name may have; longer ones are refused before they come here."""

_NO_CHARACTER = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def is_usable_name(text: str) -> bool:
    """Whether `text` can name a column: not empty, at most 255 characters, none a control or half a pair."""
    return 0 < len(text) <= LONGEST_NAME and not _NO_CHARACTER.search(text)


def ident(text: str) -> str:
    """`text` as a quoted identifier."""
    return '"' + _without_nul(text).replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as a string literal."""
    return "'" + _without_nul(text).replace("'", "''") + "'"


def literals(texts: Iterable[str]) -> str:
    """`texts` as a list of string literals."""
    return "[" + ", ".join(literal(text) for text in texts) + "]"


def json_path(keys: Iterable[str]) -> str:
    """The JSON pointer (RFC 6901) to a value below the given keys, as a string literal; no key is the document."""
    return literal(pointer(keys))


def pointer(keys: Iterable[str]) -> str:
    """The JSON pointer (RFC 6901) to a value below the given keys; no key is the document."""
    # DuckDB reads an empty path as the document's own, and only pointers reach a key that is the empty string.
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


class Wildcard(Enum):
    """A step of a JSON path that leads to many values."""

    ELEMENTS = "[*]"
    """All elements of a list."""

    MEMBERS = ".*"
    """All values of an object."""


def wildcard_path(steps: Iterable[str | Wildcard]) -> str:
    """A JSON path below the given keys, as text.

    DuckDB's paths cannot name the keys `*` and the empty string: in their place the path matches every key.
    """
    return "$" + "".join(step.value if isinstance(step, Wildcard) else _path_step(step) for step in steps)


def _path_step(key: str) -> str:
    return ".*" if key in ("", "*") else '."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("a NUL character cannot enter SQL")
    return text
