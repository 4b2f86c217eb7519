"""Where in a text something is, and a message that points at it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from frazil.errors import InvalidQuery

_WIDTH: Final = 100
"""Characters of a line that a message shows."""

_LONGEST: Final = 500
"""Characters of a reason."""


class Refused(Exception):
    """A piece of a query that is not answered; becomes an InvalidQuery that points at the piece."""

    def __init__(self, reason: str, node: exp.Expr | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.node = node


def invalid(refused: Refused, text: str) -> InvalidQuery:
    """The error for a piece of a text that is not answered."""
    found = place(refused.node) if refused.node is not None else None
    reason = refused.reason if len(refused.reason) <= _LONGEST else refused.reason[: _LONGEST - 1] + "…"
    return InvalidQuery(reason, pointed(text, *found) if found else "")


def place(node: exp.Expr) -> tuple[int, int] | None:
    """Where a piece begins and ends in the text it was read from: its first and last character that are known."""
    # A function has a place of its own, which is its name.
    found = [node.meta] if "start" in node.meta else [each.meta for each in node.walk() if "start" in each.meta]
    if not found:
        return None
    return min(each["start"] for each in found), max(each["end"] for each in found)


def pointed(text: str, start: int, end: int) -> str:
    """The line of the text with marks under the piece, and its place in words."""
    before = text[:start]
    line = before.count("\n")
    first = before.rfind("\n") + 1
    last = text.find("\n", first)
    whole = text[first : last if last >= 0 else len(text)]
    at = start - first
    length = max(min(end - start + 1, len(whole) - at), 1)
    left = max(0, min(at - _WIDTH // 3, len(whole) - _WIDTH))
    shown = "".join(each if each.isprintable() else " " for each in whole[left : left + _WIDTH])
    marks = " " * (at - left) + "^" * min(length, _WIDTH - (at - left))
    return f"line {line + 1}, column {at + 1}:\n  {'…' if left else ' '}{shown}\n   {marks}"


def near(name: str, known: Iterable[str]) -> str:
    """What a message says of names that sound like one that there is not."""
    spelled = {each.lower(): each for each in known if each}
    found = [spelled[each] for each in difflib.get_close_matches(name.lower(), list(spelled), n=3)]
    return f"; the nearest {'is' if len(found) == 1 else 'are'} {', '.join(found)}" if found else ""
