"""How drift changes a table's schema: a fixed, commutative merge of what the values of a new key are.

Design section 4 has the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, Literal

from frazil.model import (
    NOTHING_OBSERVED,
    Column,
    Conversion,
    Drift,
    IcebergType,
    ListType,
    MapType,
    ObservedType,
    Primitive,
    SchemaChange,
    StructType,
    WriteShape,
)
from frazil.pipes.naming import folded
from frazil.pipes.scalars import joined_scalars
from frazil.pipes.types import VARIANT, paths_within
from frazil.sql import is_usable_name

NestedType = Literal["variant", "json", "struct"]

_STRING: Final = Primitive("string")


def conversion_for(conversion: Conversion, shape: WriteShape) -> Conversion:
    """How records become rows of a table: what would be VARIANT is JSON text where there is no VARIANT."""
    if shape.takes_variants or conversion.nested_type != "variant":
        return conversion
    return replace(conversion, nested_type="json")


def merged(drifts: Iterable[Drift]) -> Drift:
    """The drift of several tasks as one; the order of tasks does not matter."""
    together: dict[str, ObservedType] = {}
    for drift in drifts:
        for key, seen in drift.items():
            together[key] = together.get(key, NOTHING_OBSERVED).merged_with(seen)
    return together


def schema_change(drift: Drift, nested: NestedType, name: Callable[[str], str] = str) -> SchemaChange:
    """What a table has to become so that the records with this drift land; see `columns_for`."""
    return SchemaChange(add=columns_for(drift, nested, name))


def columns_for(drift: Drift, nested: NestedType, name: Callable[[str], str] = str) -> dict[str, IcebergType]:
    """The columns to add, sorted by name; ids within types are given by the catalog; `name` gives a key's column.

    Keys whose values do not tell a type get none. Keys that differ only by case are one column, spelled as in the first
    record that has one of them.
    """
    named = _ignoring_case(merged({name(key): seen} for key, seen in drift.items()))
    return {column: column_type(seen, nested) for column, seen in named.items() if is_typed(seen, nested)}


def unambiguous(columns: Mapping[str, IcebergType], existing: Iterable[Column]) -> dict[str, IcebergType]:
    """The columns to add to the `existing` ones, those of which a field would have the path of another as JSON text.

    Iceberg knows fields by dotted paths: a field `b` of a column `a` and a column `a.b` are one to it.
    """
    together = {**{column.name: column.type for column in existing}, **columns}
    paths = {name: [folded(path) for path in paths_within(name, kind)] for name, kind in together.items()}
    taken = Counter(chain(map(folded, together), *paths.values()))
    return {name: _STRING if any(taken[path] > 1 for path in paths[name]) else kind for name, kind in columns.items()}


def is_typed(seen: ObservedType, nested: NestedType) -> bool:
    """Whether values tell the type of a column: null does not, nor an empty array, nor a structure of such.

    A schema does, whatever the values are.
    """
    if seen.scalars - {"null"} or seen.entries is not None:
        return True
    if nested == "struct":
        within = [field for _, field in seen.fields or ()] + ([] if seen.element is None else [seen.element])
        return any(is_typed(each, nested) for each in within)
    return seen.fields is not None or seen.element not in (None, NOTHING_OBSERVED)


def column_type(seen: ObservedType, nested: NestedType) -> IcebergType:
    """The type that holds all the values: `joined_scalars` of scalars, nested ones as configured."""
    if seen.fields is None and seen.element is None and seen.entries is None:
        return joined_scalars(seen.scalars)
    if nested == "variant":
        return VARIANT
    if nested == "json":
        return _STRING
    return _structured(seen)


def _structured(seen: ObservedType) -> IcebergType:
    """A struct, a list or a map; a mix of kinds, and an object without fields, is what only JSON text can hold."""
    is_object = seen.fields is not None or seen.entries is not None
    if seen.scalars - {"null"} or (is_object and seen.element is not None):
        return _STRING
    if seen.element is not None:
        return ListType(0, column_type(seen.element, "struct"), element_required=False)
    if seen.entries is not None:
        return _map(seen.entries, seen.fields or ())
    found = _ignoring_case(dict(seen.fields or ()))
    fields = {name: each for name, each in found.items() if is_typed(each, "struct")}
    if not fields or not all(map(is_usable_name, fields)):
        return _STRING
    return StructType(tuple(Column(0, name, column_type(found, "struct")) for name, found in fields.items()))


def _map(entries: tuple[ObservedType, ObservedType], objects: Iterable[tuple[str, ObservedType]]) -> IcebergType:
    """A map; the members of objects without a schema are entries of it."""
    keys, values = entries
    for _, member in objects:
        keys, values = keys.merged_with(_TEXT), values.merged_with(member)
    key = column_type(keys, "struct")
    if not isinstance(key, Primitive):
        return _STRING
    return MapType(0, key, 0, column_type(values, "struct"), value_required=False)


_TEXT: Final = ObservedType(frozenset({"string"}))


def _ignoring_case(drift: Mapping[str, ObservedType]) -> dict[str, ObservedType]:
    """What was seen of keys that are equal ignoring case, together, sorted by name.

    The name is the key of the first record; of several in one record, or where nobody knows, the first as texts.
    """
    spelled: dict[str, str] = {}
    together: dict[str, ObservedType] = {}
    for key in sorted(drift, key=lambda key: (drift[key].first is None, drift[key].first, key)):
        name = spelled.setdefault(folded(key), key)
        together[name] = together.get(name, NOTHING_OBSERVED).merged_with(drift[key])
    return dict(sorted(together.items()))
