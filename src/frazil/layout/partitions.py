"""The tuples that tell partitions apart: in SQL, as Iceberg's JSON has them, and as directories are called by them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus

import numpy as np

from frazil.layout.sources import sources
from frazil.layout.transforms import result_type, sorting, transformed
from frazil.model import Column, Layout, PartitionField, PartitionValue, Primitive
from frazil.pipes.types import is_bytes, sql_type

_FLOATING: Final = ("float", "double")
_LONGEST: Final = 200
"""Bytes of a directory's name; file systems take 255."""

_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Partition:
    """What all rows of a file have in common."""

    values: tuple[PartitionValue, ...] = ()
    """One for each field of the spec."""

    directory: str = ""
    """Where its files go, below the directory of all; empty for a table without partitions."""


UNPARTITIONED: Final = Partition()


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One field of a partition's tuple."""

    field: PartitionField
    sql: str
    """What rows have in common: its value, or for floating point its text, by which −0.0 is not 0.0."""

    type: Primitive
    """The Iceberg type of its value."""

    @property
    def sql_type(self) -> str:
        """The DuckDB type of `sql`."""
        return "VARCHAR" if self.type.name in _FLOATING else sql_type(self.type)

    @property
    def is_missing(self) -> str:
        """SQL for whether `sql` fails: rows for which it does belong to no partition."""
        return f"TRY(struct_pack(v := {self.sql})) IS NULL"

    @property
    def reason(self) -> str:
        """Why a row for which `sql` fails belongs to no partition."""
        return (
            f"the table is partitioned by {self.field.name}, and {self.field.transform} of the value is out of the "
            f"range of {self.type}"
        )

    def listed(self, key: str) -> str:
        """SQL that turns one of the values of `sql` into what `partition` takes."""
        match self.type.name:
            case "date":
                return f"{key} - DATE '1970-01-01'"
            case "time" | "timestamp" | "timestamptz":
                return f"epoch_us({key})"
            case "timestamp_ns" | "timestamptz_ns":
                return f"epoch_ns({key})"
            case "decimal" | "uuid":
                return f"CAST({key} AS VARCHAR)"
            case _:
                return key

    def value(self, listed: Any) -> PartitionValue:
        """The value as Iceberg's JSON has it."""
        if listed is None:
            return None
        if is_bytes(self.type):
            return bytes(listed).hex().upper()
        match self.type.name:
            case "float" | "double":
                return float(listed)
            case "timestamptz" | "timestamptz_ns":
                return self._moment(listed) + "+00:00"
            case "date" | "time" | "timestamp" | "timestamp_ns":
                return self._moment(listed)
            case _:
                return listed  # type: ignore[no-any-return]

    def step(self, listed: Any) -> str:
        """The directory of a value, as Iceberg's own writers call it."""
        name = f"{_escaped(self.field.name)}={_escaped(self._shown(listed))}"
        if len(name) <= _LONGEST:
            return name
        # No reader looks at it, but file systems have their limits.
        digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
        return f"{name[: _LONGEST - _DIGEST - 1]}-{digest}"

    def _shown(self, listed: Any) -> str:
        if listed is None:
            return "null"
        match self.field.transform.name, self.type.name:
            case "year", _:
                return str(np.datetime64(listed, "Y"))
            case "month", _:
                return str(np.datetime64(listed, "M"))
            case "hour", _:
                return str(np.datetime64(listed, "h")).replace("T", "-")
            case _, "boolean":
                return str(listed).lower()
            case _ if is_bytes(self.type):
                return base64.b64encode(listed).decode()
            case _:
                return str(self.value(listed))

    def _moment(self, number: int) -> str:
        match self.type.name:
            case "date":
                return str(np.datetime64(number, "D"))
            case "time":
                return str(np.datetime64(number, "us")).partition("T")[2]
            case "timestamp_ns" | "timestamptz_ns":
                return str(np.datetime64(number, "ns"))
            case _:
                return str(np.datetime64(number, "us"))


def is_partitioned(layout: Layout) -> bool:
    """Whether rows go to several files: fields that were dropped in format version 1 are left as `void`."""
    return any(field.transform.name != "void" for field in layout.partition)


def the_only_partition(layout: Layout) -> Partition:
    """The one of a table that is not partitioned, or no longer."""
    return Partition((None,) * len(layout.partition))


def partition(keys: Sequence[PartitionKey], listed: Sequence[Any]) -> Partition:
    """The partition of a tuple, given as SQL lists it."""
    pairs = [*zip(keys, listed, strict=True)]
    return Partition(tuple(key.value(each) for key, each in pairs), "/".join(key.step(each) for key, each in pairs))


def partition_keys(layout: Layout, columns: Sequence[Column]) -> tuple[PartitionKey, ...]:
    """What the partitions of a table with these columns are told apart by; its layout can be written."""
    known = sources(columns)
    keys = []
    for field in layout.partition:
        source = known.get(field.source)
        if source is None:
            keys.append(PartitionKey(field, "CAST(NULL AS INTEGER)", Primitive("int")))
            continue
        value, kind = transformed(field.transform, source.sql, source.type), result_type(field.transform, source.type)
        keys.append(PartitionKey(field, f"CAST({value} AS VARCHAR)" if kind.name in _FLOATING else value, kind))
    return tuple(keys)


def order_by(layout: Layout, columns: Sequence[Column], names: Sequence[str] | None = None) -> str:
    """What goes after ORDER BY; empty for rows in no order.

    Args:
        layout: how the table is sorted.
        columns: the table's.
        names: SQL for each of them; if not given, they are called as in data files.
    """
    known = sources(columns, names)
    terms = []
    for field in layout.order:
        source = known.get(field.source)
        if source is not None and field.transform.name != "void":
            direction = "DESC" if field.descending else "ASC"
            nulls = "FIRST" if field.nulls_first else "LAST"
            terms.append(f"{sorting(field.transform, source.sql, source.type)} {direction} NULLS {nulls}")
    return ", ".join(terms)


def _escaped(text: str) -> str:
    """As `java.net.URLEncoder` writes it."""
    return quote_plus(text, safe="*").replace("~", "%7E")
