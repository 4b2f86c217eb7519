"""The columns, and fields of structs, that a table can be partitioned and sorted by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from frazil.model import Column, IcebergType, Layout, LayoutTransform, Primitive, StructType
from frazil.pipes.types import file_name, fixed_length
from frazil.sql import ident

_WHOLE = frozenset({"int", "long", "decimal"})
_TEXTS = frozenset({"string", "binary"})
_MOMENTS = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_DATES = _MOMENTS | {"date"}
_BUCKETED = _WHOLE | _TEXTS | _DATES | {"time", "fixed", "uuid"}

_TAKEN: Mapping[str, frozenset[str]] = {
    "bucket": _BUCKETED,
    "truncate": _WHOLE | _TEXTS,
    "year": _DATES,
    "month": _DATES,
    "day": _DATES,
    "hour": _MOMENTS,
}
"""The types that a transform takes."""

_TAKE_ALL = frozenset({"identity", "void"})
_KEEP_TYPES = frozenset({"identity", "truncate"})
_FLOATING = frozenset({"float", "double"})
_WITHOUT_TEXT = _MOMENTS | {"time", "binary", "fixed"}
_PARAMETRISED = frozenset({"bucket", "truncate"})


@dataclass(frozen=True, slots=True)
class LayoutSource:
    """What a partition field or a sort field is made of."""

    sql: str
    """Its value, of the columns of a row as it is written."""

    type: Primitive


def sources(columns: Sequence[Column], names: Sequence[str] | None = None) -> dict[int, LayoutSource]:
    """What a table can be partitioned and sorted by, by field id.

    Args:
        columns: the table's.
        names: SQL for each of them; if not given, they are called as in data files.
    """
    roots = [ident(file_name(column)) for column in columns] if names is None else names
    found: dict[int, LayoutSource] = {}
    for column, root in zip(columns, roots, strict=True):
        found.update(_within(column.id, column.type, root))
    return found


def unwritable(layout: Layout, columns: Sequence[Column]) -> str | None:
    """Why rows cannot be laid out so in the files of a table with these columns; None if they can."""
    known = sources(columns)
    if reason := _unsayable(layout, known):
        return reason
    fields = [(f"its partition field {field.name}", field.source, field.transform) for field in layout.partition]
    fields += [("its sort order", field.source, field.transform) for field in layout.order]
    for what, source, transform in fields:
        if transform.name == "void":
            continue
        if source not in known:
            return f"{what} is made of no column, of several, or of what is in a list or a map"
        if not _takes(transform, known[source].type):
            return f"{what} is {transform} of a column of type {known[source].type}, which frazil does not know"
    return None


def _unsayable(layout: Layout, known: Mapping[int, LayoutSource]) -> str | None:
    """Why Iceberg could not be told some tuples: NaN goes only as a text, and of some types it reads none."""
    kept = [
        (field.name, _family(known[field.source].type))
        for field in layout.partition
        if field.transform.name in _KEEP_TYPES and field.source in known
    ]
    floating = next((name for name, kind in kept if kind in _FLOATING), None)
    other = next((name for name, kind in kept if kind in _WITHOUT_TEXT), None)
    if floating is None or other is None:
        return None
    return f"it is partitioned by floating point in {floating} beside {other}, of which Iceberg takes no tuple with NaN"


def _takes(transform: LayoutTransform, kind: Primitive) -> bool:
    if (transform.name in _PARAMETRISED) != (transform.parameter > 0):
        return False
    return transform.name in _TAKE_ALL or _family(kind) in _TAKEN.get(transform.name, ())


def _family(kind: Primitive) -> str:
    """The name of a type without its parameters."""
    return kind.name if fixed_length(kind) is None else "fixed"


def _within(number: int, kind: IcebergType, path: str) -> Iterator[tuple[int, LayoutSource]]:
    match kind:
        case Primitive() if kind.name != "variant":
            yield number, LayoutSource(path, kind)
        case StructType(fields=fields):
            for field in fields:
                yield from _within(field.id, field.type, f"{path}.{ident(field.name)}")
        case _:
            return
