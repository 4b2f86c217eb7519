"""The layout that a created table is given once it has the columns for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import orjson

from frazil.layout.sources import unwritable
from frazil.model import Column, CreatedKey, Layout, LayoutTransform, PartitionField, SortField
from frazil.tables.rules.names import matching

ColumnKey: TypeAlias = tuple[str, LayoutTransform]
"""A column by its name, and what rows are partitioned or sorted by of it."""

Keys: TypeAlias = tuple[tuple[ColumnKey, ...], tuple[ColumnKey, ...]]
"""Those of the partitions, and those of the order."""


def wanted_layout(text: str, columns: Sequence[Column]) -> Keys | str | None:
    """The keys that a property `LAYOUT_OF_CREATED` means.

    None as long as one of their columns is not there; the reason if files could never be written so.
    """
    asked = _asked(text)
    if asked is None:
        return "it cannot be read"
    found = [[(_column(key, columns), key) for key in keys] for keys in asked]
    known = [[(column, key) for column, key in keys if column is not None] for keys in found]
    if known != found:
        return None
    partition, order = (
        [(column, LayoutTransform(key.transform, key.parameter)) for column, key in keys] for keys in known
    )
    layout = Layout(
        tuple(PartitionField(column.name, column.id, transform) for column, transform in partition),
        tuple(SortField(column.id, transform) for column, transform in order),
    )
    if reason := unwritable(layout, columns):
        return reason
    return _named(partition), _named(order)


def missing_columns(text: str, columns: Sequence[Column]) -> list[str]:
    """The columns that a property `LAYOUT_OF_CREATED` names and that are not there."""
    keys = [key for keys in _asked(text) or () for key in keys]
    return [*dict.fromkeys(key.column for key in keys if _column(key, columns) is None)]


def _asked(text: str) -> list[list[CreatedKey]] | None:
    """The keys of the partitions and those of the order; None if the text is none of ours."""
    try:
        document = orjson.loads(text)
        return [[_created_key(each) for each in document.get(kind, [])] for kind in ("partition", "order")]
    except (orjson.JSONDecodeError, AttributeError, TypeError, KeyError):
        return None


def _created_key(found: Any) -> CreatedKey:
    return CreatedKey(found["column"], found["quoted"], found["transform"], found["parameter"])


def _column(key: CreatedKey, columns: Sequence[Column]) -> Column | None:
    by_name = {each.name: each for each in columns}
    return by_name.get(key.column if key.quoted else matching(by_name, key.column) or "")


def _named(keys: Sequence[tuple[Column, LayoutTransform]]) -> tuple[ColumnKey, ...]:
    return tuple((column.name, transform) for column, transform in keys)
