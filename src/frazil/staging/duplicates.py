"""Find records in which a key appears twice: JSON readers take the first or the last of them, each its own.

`from_json_strict` refuses duplicates at no cost, but also records that lack a key. Only where it refuses are the keys
themselves looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from frazil.model import Column, IcebergType, ListType, StructType
from frazil.records.convert import VALUE
from frazil.sql import json_path, literal, wildcard_path


def rows_with_duplicates(
    connection: duckdb.DuckDBPyConnection, chunk: str, row: str, columns: Sequence[tuple[Column, str]]
) -> set[int]:
    """The rows of a chunk in which some object that columns are read from has a key twice.

    Args:
        connection: where `chunk` is registered.
        chunk: the relation.
        row: its column of row numbers.
        columns: the columns, each with a spelling of its key.
    """
    paths: list[tuple[str | None, ...]] = [()]
    for column, spelling in columns:
        paths.extend((spelling, *path) for path in _structs(column.type))
    found: set[int] = set()
    for path in paths:
        keys_of_one = [key for key in path if key is not None]
        one = len(keys_of_one) == len(path)
        names = f"json_keys({VALUE}, {json_path(keys_of_one) if one else literal(wildcard_path(path))})"
        listed = names if one else f"unnest({names})"
        lists = connection.execute(f"SELECT DISTINCT names FROM (SELECT {listed} AS names FROM {chunk})").fetchall()
        twice = [keys for (keys,) in lists if keys is not None and len(keys) != len(set(keys))]
        if not twice:
            continue
        condition = f"list_contains($twice, {names})" if one else f"list_has_any({names}, $twice)"
        # A bound value may hold what a literal may not: keys with NUL characters.
        rows = connection.execute(f"SELECT {row} FROM {chunk} WHERE {condition}", {"twice": twice}).fetchall()
        found.update(number for (number,) in rows)
    return found


def _structs(kind: IcebergType, path: tuple[str | None, ...] = ()) -> Iterator[tuple[str | None, ...]]:
    """Paths of the structs within a type; None stands for all elements of a list."""
    if isinstance(kind, StructType):
        yield path
        for field in kind.fields:
            yield from _structs(field.type, (*path, field.name))
    elif isinstance(kind, ListType):
        yield from _structs(kind.element, (*path, None))
