"""Where the records of a topic go that is routed: by the value of a field, or by the topics transforms give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from frazil.model.schema import TableName


@dataclass(frozen=True, slots=True)
class RoutedTable:
    """A table that has the records of one value."""

    value: str
    table: TableName


@dataclass(frozen=True, slots=True)
class Route:
    """How the records of one topic find their tables."""

    path: tuple[str, ...]
    """The keys that lead to the field, the outermost first; none where topics decide."""

    own: TableName
    """The topic's own table: what leads nowhere is its reject."""

    most: int
    """How many tables there may be, besides the topic's own."""

    tables: Mapping[str, RoutedTable] = field(default_factory=dict)
    """The tables there are, by the names that are generated from their values."""

    refused: Mapping[str, str] = field(default_factory=dict)
    """Why no table can have one of the names that were generated from other values."""

    naming: Callable[[str], str] | None = None
    """Where topics decide: gives the name of the table that a topic is mapped to. That name is the value then."""

    @property
    def is_full(self) -> bool:
        """Whether no other value gets a table."""
        return len(self.tables) >= self.most
