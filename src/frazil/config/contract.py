"""What `frazil.schema.contract` says: `columns=evolve,types=rescue`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from frazil.config import values
from frazil.model import SchemaContract

_RULES: Final[Mapping[str, Sequence[str]]] = {
    "columns": ("evolve", "freeze", "discard", "rescue"),
    "types": ("evolve", "freeze", "discard", "rescue"),
    "beyond": ("freeze", "discard", "rescue"),
}
"""What may be decided, and how."""


def contract(text: str) -> SchemaContract:
    """The contract in `text`: entries `what=rule` separated by commas; what it does not name is as by default.

    Raises:
        ValueError: entries are malformed; the message lists them all.
    """
    rules: dict[str, Any] = {}
    problems: list[str] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        what, equals, rule = (part.strip().lower() for part in entry.partition("="))
        if not equals or what not in _RULES:
            problems.append(f"{entry!r} decides nothing; write {values.listed(f'{name}=…' for name in _RULES)}")
        elif what in rules:
            problems.append(f"{what} is given twice; keep one of them")
        elif rule not in _RULES[what]:
            problems.append(f"{entry!r} is not possible; write {what}= with {values.listed(_RULES[what])}")
        else:
            rules[what] = rule
    if problems:
        raise ValueError("; ".join(problems))
    return SchemaContract(**rules)


def shown(found: SchemaContract) -> str:
    """A contract as it is written."""
    return ",".join(f"{what}={getattr(found, what)}" for what in _RULES)
