"""A query as it is run: a text for DuckDB, and what the text reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from frazil.model import TableName
from frazil.snowflake.lake import NOW, Moment

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "in", "is null", "is not null", "starts with"]


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition that every row which the query can use meets; files that hold no such row need not be read."""

    column: tuple[str, ...]
    """The column's name; below it those of struct fields."""

    operator: Operator
    values: tuple[str, ...] = ()
    """What it is compared with, as text that DuckDB casts to the column's type: one value, several after `in`."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A table as a query reads it once."""

    place: str
    """The name the text of the query has for it; whoever runs the query makes a view of that name."""

    table: TableName
    columns: tuple[str, ...] | None = None
    """The columns that are needed, as the table spells them; None for all."""

    moment: Moment = NOW
    since: Moment | None = None
    """For CHANGES: only rows that were appended after this, up to `moment`."""

    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a query's result."""

    head: str
    """Its name as Snowflake gives it; others may have the same."""

    is_document: bool = False
    """Whether its texts are JSON: a VARIANT, or what Snowflake calls an OBJECT or an ARRAY."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query that DuckDB runs."""

    text: str
    """DuckDB SQL; its columns are called c0, c1 and so on."""

    columns: tuple[ResultColumn, ...]
    scans: tuple[Scan, ...] = ()
