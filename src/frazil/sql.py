"""The only door through which text from outside enters DuckDB SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

LONGEST_NAME = 255
"""Characters a name may have; longer ones are refused before they come here."""

RESERVED = "__duckdb_field_id"
"""What DuckDB tells field ids by when it writes a file: no column or field can be called so, in any case."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNSPEAKABLE = re.compile(r"[\x00\ud800-\udfff]")


def is_usable_name(text: str) -> bool:
    """Whether `text` can name a new column: at most 255 characters that can be written, none of them a control."""
    return is_writable_name(text) and len(text) <= LONGEST_NAME and not _CONTROL.search(text)


def is_writable_name(text: str) -> bool:
    """Whether a column or field of this name can be written: it is an identifier, and not reserved."""
    return bool(text) and not _UNSPEAKABLE.search(text) and text.lower() != RESERVED


def ident(text: str) -> str:
    """`text` as a quoted identifier.

    Raises:
        ValueError: it is empty, or holds what SQL cannot.
    """
    if not text:
        raise ValueError("an empty text is no identifier")
    return '"' + _speakable(text).replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as a string literal.

    Raises:
        ValueError: it holds what SQL cannot.
    """
    return "'" + _speakable(text).replace("'", "''") + "'"


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


def _speakable(text: str) -> str:
    found = _UNSPEAKABLE.search(text)
    if found:
        what = "a NUL character" if found[0] == "\x00" else "half a surrogate pair"
        raise ValueError(f"{what} cannot enter SQL: {text[:40]!r}")
    return text
