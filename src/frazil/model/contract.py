"""What becomes of values that a table, as it is, has no place for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Fate: TypeAlias = Literal["freeze", "discard", "rescue"]
"""`freeze` rejects the record, `discard` drops the value and keeps the row, `rescue` keeps it in `RESCUED`."""

Rule: TypeAlias = Literal["evolve"] | Fate
"""`evolve` changes the table."""

RESCUED: Final = "_RESCUED_DATA"
"""The column of rescued values, with their keys and where their record lies."""

ERROR_LOGGING: Final = "frazil.error.logging"
"""The table property that says whether the table has an error table."""

EVOLUTION: Final = "frazil.schema.evolution"
"""The table property that says `true` or `false` to evolution; without it, the tables that frazil created evolve."""


@dataclass(frozen=True, slots=True)
class SchemaContract:
    """What a connector does about records that do not fit their table."""

    columns: Rule = "evolve"
    """Of keys without a column."""

    types: Rule = "evolve"
    """Of values that do not fit their column; what cannot become a wider type is a reject under `evolve`."""

    beyond: Fate = "rescue"
    """Of keys that would become columns, were there not too many of them."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a task does about values that one table has no place for."""

    table: str = ""
    """Its name, for reasons."""

    columns: Fate = "discard"
    """Of keys that get no column."""

    types: Rule = "freeze"
    """Of values that do not fit their column."""

    may_change: bool = False
    """Whether the table may get other columns, such as that of rescued values."""

    @property
    def rescues(self) -> bool:
        """Whether any value is rescued."""
        return "rescue" in (self.columns, self.types)


def is_rescued_name(name: str) -> bool:
    """Whether the name is that of the column of rescued values, in any case."""
    return name.upper() == RESCUED
