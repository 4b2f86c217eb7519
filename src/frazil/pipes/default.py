"""The default pipe `<TABLE>-STREAMING`: top-level keys to columns by name, ignoring case (spec 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from frazil.model import Column, StructType
from frazil.pipes.types import cast, json_structure, sql_type
from frazil.records import metadata
from frazil.records.convert import VALUE
from frazil.sql import ident, literal

Spellings = Mapping[str, Sequence[str]]
"""Column name → the spellings of its key that a chunk holds; a column without any is NULL in all rows."""


@dataclass(frozen=True, slots=True)
class DefaultPipe:
    """The projection of one table."""

    columns: tuple[Column, ...]
    """All columns of the table, in its order."""

    def payload(self) -> tuple[Column, ...]:
        """The columns that come from the record's keys: all but RECORD_METADATA."""
        return tuple(column for column in self.columns if not is_metadata(column))

    def column_for(self, key: str) -> Column | None:
        """The column a top-level key goes to: that of the same name, else the one equal ignoring case."""
        folded = key.casefold()
        candidates = [column for column in self.payload() if column.name.casefold() == folded]
        return next((column for column in candidates if column.name == key), candidates[0] if candidates else None)

    def select(self, source: str, spellings: Spellings, *, strict: bool = False) -> str:
        """The SELECT that projects the rows of `source`, which has the columns `frazil.records.convert` makes.

        Args:
            source: a relation's name.
            spellings: which keys each column is read from.
            strict: fail on a record that lacks a key or has one twice, at any depth.
        """
        read = "from_json_strict" if strict else "from_json"
        depth = max((len(spellings.get(column.name, ())) for column in self.payload()), default=0)
        parsed = "".join(
            f", {read}({VALUE}, {self._structure(level, spellings)}) AS {_level(level)}" for level in range(depth)
        )
        columns = ", ".join(f"{self._expression(column, spellings)} AS {ident(column.name)}" for column in self.columns)
        return f"SELECT {columns} FROM (SELECT *{parsed} FROM {source})"

    def _value(self, column: Column, spellings: Spellings) -> str:
        casts = [
            cast(f"{_level(level)}.{ident(key)}", column.type)
            for level, key in enumerate(spellings.get(column.name, ()))
        ]
        if not casts:
            return f"CAST(NULL AS {sql_type(column.type)})"
        return casts[0] if len(casts) == 1 else f"coalesce({', '.join(casts)})"

    def _expression(self, column: Column, spellings: Spellings) -> str:
        if not is_metadata(column):
            return self._value(column, spellings)
        fields = column.type.fields if isinstance(column.type, StructType) else ()
        packed = ", ".join(
            f"{ident(field.name)} := CAST({ident(field.name)} AS {sql_type(field.type)})" for field in fields
        )
        return f"struct_pack({packed})"

    def _structure(self, level: int, spellings: Spellings) -> str:
        """What a level reads: from_json refuses keys that differ only by case, so each spelling has a level."""
        read = {
            keys[level]: json_structure(column.type)
            for column in self.payload()
            if level < len(keys := spellings.get(column.name, ()))
        }
        return literal(orjson.dumps(read).decode())


def is_metadata(column: Column) -> bool:
    """Whether the column is RECORD_METADATA, in any case."""
    return is_metadata_name(column.name)


def is_metadata_name(name: str) -> bool:
    """Whether the name is RECORD_METADATA's, in any case."""
    return name.upper() == metadata.COLUMN


def _level(level: int) -> str:
    return ident(f"parsed {level}")
