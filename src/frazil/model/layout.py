"""How the rows of a table are laid out in its files: partition specs and sort orders."""

from __future__ import annotations

from dataclasses import dataclass


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
