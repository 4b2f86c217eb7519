"""What statements that define tables ask for; nothing is looked up yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from frazil.model import IcebergType, LayoutTransform
from frazil.snowflake.pipes import CreatePipe


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that is to be."""

    name: exp.Identifier = field(repr=False)
    type: IcebergType
    required: bool = False
    """NOT NULL."""

    default: str | None = None
    """As JSON text, as Iceberg writes single values; it fills what a record has not, and rows that are there."""

    comment: str | None = None
    if_missing: bool = False
    """IF NOT EXISTS, of a column that is added."""

    length: int | None = None
    """The most characters or bytes; None for any number."""


@dataclass(frozen=True, slots=True)
class LayoutKey:
    """One of the values that rows are partitioned or sorted by."""

    column: tuple[exp.Identifier, ...] = field(repr=False)
    """The column, or what leads to a field of a struct."""

    transform: LayoutTransform


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE, or CREATE INTERACTIVE TABLE, which makes the pipe of its name as well."""

    text: str
    """The statement as it was written."""

    name: exp.Table = field(repr=False)
    columns: tuple[NewColumn, ...]
    partition: tuple[LayoutKey, ...] = ()
    """PARTITION BY."""

    order: tuple[LayoutKey, ...] = ()
    """CLUSTER BY."""

    properties: Mapping[str, str] = field(default_factory=dict)
    """Iceberg's, as the options come to."""

    no_effect: tuple[tuple[str, str], ...] = ()
    """Options that change nothing here, each with the reason."""

    pipe: CreatePipe | None = None
    replaces: bool = False
    """OR REPLACE."""

    if_missing: bool = False
    """IF NOT EXISTS."""


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE."""

    text: str
    name: exp.Table = field(repr=False)
    if_there: bool = False
    """IF EXISTS."""


@dataclass(frozen=True, slots=True)
class AddColumns:
    """ADD COLUMN."""

    columns: tuple[NewColumn, ...]


@dataclass(frozen=True, slots=True)
class DropColumns:
    """DROP COLUMN."""

    names: tuple[exp.Identifier, ...] = field(repr=False)
    if_there: bool = False
    """IF EXISTS."""


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME COLUMN."""

    name: exp.Identifier = field(repr=False)
    new: exp.Identifier = field(repr=False)


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """ALTER COLUMN of one column; what is None stays."""

    name: exp.Identifier = field(repr=False)
    type: IcebergType | None = None
    """SET DATA TYPE."""

    length: int | None = None
    """Of that type: the most characters or bytes, None for any number."""

    relaxes: bool = False
    """DROP NOT NULL."""

    comment: str | None = None


@dataclass(frozen=True, slots=True)
class SetProperties:
    """SET and UNSET."""

    properties: Mapping[str, str | None]
    """None for one that goes."""

    no_effect: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SetOrder:
    """CLUSTER BY, or DROP CLUSTERING KEY."""

    order: tuple[LayoutKey, ...]


@dataclass(frozen=True, slots=True)
class SetPartition:
    """PARTITION BY."""

    partition: tuple[LayoutKey, ...]


Change: TypeAlias = (
    AddColumns | DropColumns | RenameColumn | tuple[AlterColumn, ...] | SetProperties | SetOrder | SetPartition
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE."""

    text: str
    name: exp.Table = field(repr=False)
    change: Change
    if_there: bool = False
    """IF EXISTS."""


Definition: TypeAlias = CreateTable | AlterTable | DropTable
