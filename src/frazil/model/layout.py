"""How the rows of a table are laid out in its files: partition specs and sort orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LAYOUT_OF_CREATED: Final = "frazil.created.layout"
"""The table property with the keys by which a created table is laid out once it has their columns: as JSON, lists of
`CreatedKey` called `partition` and `order`."""

LOCATION: Final = "location"
"""Among the properties of a table to be created: the directory in which its namespace's directory is."""


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """What a table will be partitioned or sorted by."""

    column: str
    quoted: bool
    """Whether the case of the column's name counts."""

    transform: str
    parameter: int = 0


@dataclass(frozen=True, slots=True)
class LayoutTransform:
    """What Iceberg makes of a column's value to partition or sort by it."""

    name: str
    """`identity`, `bucket`, `truncate`, `year`, `month`, `day`, `hour` or `void`."""

    parameter: int = 0
    """How many buckets there are, or how wide a truncated value is; 0 where the transform has none."""

    def __str__(self) -> str:
        return f"{self.name}[{self.parameter}]" if self.parameter else self.name


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One value of the tuple that all rows of a data file have in common."""

    name: str
    source: int
    """The field id of the column, or of the field of a struct, whose value is transformed."""

    transform: LayoutTransform


@dataclass(frozen=True, slots=True)
class SortField:
    """One of the values that the rows of a data file are sorted by."""

    source: int
    """The field id of the column, or of the field of a struct, whose value is transformed."""

    transform: LayoutTransform
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are laid out in the data files of a table."""

    partition: tuple[PartitionField, ...] = ()
    """Empty for a table whose files may hold any rows."""

    order: tuple[SortField, ...] = ()
    """Empty for a table whose rows are in no particular order."""


PLAIN_LAYOUT = Layout()
