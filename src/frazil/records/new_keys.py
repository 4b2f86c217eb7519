"""New keys, as far as there is room for columns of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from frazil.model import Drift, IcebergType, ListType, MapType, Seen, StructType

MIXED: Final = Seen(frozenset({"string"}), fields=())
"""Objects that differ too much to have columns for all their keys: like other mixes they become JSON text."""


class NewKeys(dict[str, Seen]):
    """What was seen of new keys, those that were seen first; however many come, these stay few."""

    def __init__(self, room: int) -> None:
        """Hold keys for `room` columns, fields of structs counted among them."""
        super().__init__()
        self._room = room
        self._last: dict[str, Seen] = {}
        """What was noted last of each key: most records look like the one before."""

    def note(self, key: str, seen: Seen) -> None:
        """Take note of what was seen of a key, unless there is no room for it."""
        if self._last.get(key) == seen:
            return
        known = self.get(key)
        if known is None and not self._room:
            return
        self._last[key] = seen
        merged = seen if known is None else known.merged_with(seen)
        left = self._room + (0 if known is None else _size(known))
        if _size(merged) > left:
            merged = MIXED
        self[key] = merged
        self._room = left - _size(merged)

    def note_all(self, drift: Drift) -> None:
        """Take note of several keys."""
        for key, seen in drift.items():
            self.note(key, seen)


def width_of(columns: Iterable[IcebergType]) -> int:
    """How many columns those of these types are, with the fields of structs counted among them."""
    return sum(map(_width, columns))


def _size(seen: Seen) -> int:
    """How many columns it makes at most."""
    fields = sum(_size(field) for _, field in seen.fields or ())
    return max(1, fields + (_size(seen.element) if seen.element else 0))


def _width(kind: IcebergType) -> int:
    match kind:
        case StructType(fields=fields):
            return max(1, sum(_width(field.type) for field in fields))
        case ListType(element=element):
            return _width(element)
        case MapType(value=value):
            return _width(value)
        case _:
            return 1
