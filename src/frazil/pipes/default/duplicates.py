"""Find records in which a key appears twice: JSON readers take the first or the last of them, each its own.

`from_json_strict` refuses duplicates at no cost, but also records that lack a key. Only where it refuses are the keys
themselves looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType
from frazil.records.convert import VALUE
from frazil.sql import Wildcard, json_path, literal, wildcard_path

_Path = tuple[str | Wildcard, ...]


def rows_with_duplicates(
    connection: duckdb.DuckDBPyConnection,
    chunk: str,
    row: str,
    columns: Sequence[tuple[Column, str]],
) -> set[int]:
    """The rows of a chunk in which some object that columns are read from has a key twice.

    Args:
        connection: where `chunk` is registered.
        chunk: the relation.
        row: its column of row numbers.
        columns: the columns, each with a spelling of its key.
    """
    paths: list[_Path] = [()]
    for column, spelling in columns:
        paths.extend((spelling, *path) for path in _objects(column.type))
    found: set[int] = set()
    for path in paths:
        names, one = _names(path)
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


def _names(path: _Path) -> tuple[str, bool]:
    """SQL for the keys of the object at a path, or the list of those of all objects there; and whether it is one."""
    keys = [key for key in path if isinstance(key, str)]
    if len(keys) == len(path):
        return f"json_keys({VALUE}, {json_path(keys)})", True
    return f"json_keys({VALUE}, {literal(wildcard_path(path))})", False


def _objects(kind: IcebergType, path: _Path = ()) -> Iterator[_Path]:
    """Paths of the objects within a type."""
    match kind:
        case StructType(fields=fields):
            yield path
            for field in fields:
                yield from _objects(field.type, (*path, field.name))
        case ListType(element=element):
            yield from _objects(element, (*path, Wildcard.ELEMENTS))
        case MapType(value=value):
            yield path
            yield from _objects(value, (*path, Wildcard.MEMBERS))
        case Primitive():
            return
