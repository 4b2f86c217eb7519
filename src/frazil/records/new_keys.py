"""New keys, as far as a table may get columns for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from frazil.model import Drift, IcebergType, ListType, MapType, ObservedType, StructType

MIXED: Final = ObservedType(frozenset({"string"}), fields=())
"""Objects that differ too much to have columns for all their keys: like other mixes they become JSON text."""


class NewKeys(dict[str, ObservedType]):
    """What was seen of new keys, those that were seen first; however many come, these stay few."""

    def __init__(self, column_budget: int) -> None:
        """Hold keys for `column_budget` columns, fields of structs counted among them."""
        super().__init__()
        self._budget = column_budget
        self.is_exceeded = False
        """Whether a key came for which there was no room."""

    @property
    def room(self) -> int:
        """How many more keys there is room for, at most."""
        return self._budget

    def note(self, key: str, seen: ObservedType) -> None:
        """Take note of what was seen of a key, unless the budget is used up."""
        known = self.get(key)
        if known is None and not self._budget:
            self.is_exceeded = True
            return
        merged = self._together(known, seen)
        self._budget += (0 if known is None else _size(known)) - _size(merged)
        self[key] = merged

    def note_all(self, drift: Drift) -> None:
        """Take note of several keys."""
        for key, seen in drift.items():
            self.note(key, seen)

    def would_learn(self, drift: Drift) -> bool:
        """Whether taking note of a record's keys would change anything."""
        return any(self._is_news(key, seen) for key, seen in drift.items())

    def _is_news(self, key: str, seen: ObservedType) -> bool:
        known = self.get(key)
        return self._budget > 0 if known is None else not _is_same(self._together(known, seen), known)

    def _together(self, known: ObservedType | None, seen: ObservedType) -> ObservedType:
        """Both, as far as the budget goes."""
        merged = seen if known is None else known.merged_with(seen)
        left = self._budget + (0 if known is None else _size(known))
        return merged if _size(merged) <= left else replace(MIXED, first=merged.first)


def width_of(columns: Iterable[IcebergType]) -> int:
    """How many columns those of these types are, with the fields of structs counted among them."""
    return sum(map(_width, columns))


def _size(seen: ObservedType) -> int:
    """How many columns it makes at most."""
    fields = sum(_size(field) for _, field in seen.fields or ())
    values = _size(seen.entries[1]) if seen.entries else 0
    return max(1, fields + values + (_size(seen.element) if seen.element else 0))


def _is_same(one: ObservedType, other: ObservedType) -> bool:
    """Whether they are equal and were first seen in the same records, at any depth."""
    if one != other or one.first != other.first:
        return False
    within = [(mine, yours) for (_, mine), (_, yours) in zip(one.fields or (), other.fields or (), strict=True)]
    within += zip(one.entries or (), other.entries or (), strict=True)
    if not all(_is_same(mine, yours) for mine, yours in within):
        return False
    return one.element is None or other.element is None or _is_same(one.element, other.element)


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
