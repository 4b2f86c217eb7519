"""Tables as far as names and types go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from frazil.model.places import OrderedPlace


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table in a namespace of the connector's catalog, spelled as it exists or will be created."""

    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


@dataclass(frozen=True, slots=True)
class Primitive:
    """An Iceberg primitive type, or VARIANT."""

    name: str
    """As Iceberg's schema JSON spells it: `long`, `timestamptz`, `decimal`, `variant` …"""

    precision: int = 0
    """Digits of a decimal."""

    scale: int = 0
    """Digits of a decimal after the point."""

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name


@dataclass(frozen=True, slots=True)
class ListType:
    """An Iceberg list."""

    element_id: int
    element: IcebergType
    element_required: bool

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """An Iceberg map."""

    key_id: int
    key: IcebergType
    value_id: int
    value: IcebergType
    value_required: bool

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructType:
    """An Iceberg struct."""

    fields: tuple[Column, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"


IcebergType: TypeAlias = Primitive | ListType | MapType | StructType


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a field of a struct."""

    id: int
    """Iceberg's field id, which the Parquet file carries too."""

    name: str
    type: IcebergType
    required: bool = False
    default: str | None = None
    """Iceberg's write default as JSON text; it fills a key that a record has not."""

    length: int | None = None
    """The most characters of a text, or bytes of a BINARY column, that a record may bring; None for any number."""


LONGEST: Final[Mapping[str, int]] = {"string": 16_777_216, "binary": 8_388_608}
"""Bytes of the longest value of a column without a length, by its type, as in Snowflake."""

FieldPath: TypeAlias = tuple[str, ...]
"""The names that lead to a column or field; a list's elements are its `element`, a map's values its `value`."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What a table's columns are to become, so that records land that do not fit them yet."""

    add: Mapping[str, IcebergType] = field(default_factory=dict)
    """New columns, all of them optional; ids within their types are given by the catalog."""

    grow: Mapping[FieldPath, IcebergType] = field(default_factory=dict)
    """New fields of structs that are there, likewise; the path ends with the field's name."""

    widen: Mapping[FieldPath, Primitive] = field(default_factory=dict)
    """Types that hold all that columns or fields hold now, and more: Iceberg's promotions."""

    relax: frozenset[FieldPath] = frozenset()
    """Columns and fields that may be NULL from now on."""


MOST_COLUMNS: Final = 1000
"""Columns that frazil gives a table at most, unless a connector is configured otherwise."""


@dataclass(frozen=True, slots=True)
class ObservedType:
    """What the values of one key are: by their schemas where they have some, else by what they looked like."""

    scalars: frozenset[str] = frozenset()
    """`null`, `boolean`, `long`, `huge` (a whole number beyond 64 bits), `double`, `string`; schemas also say Iceberg's
    other types as Iceberg spells them: `int`, `date`, `decimal(12,2)` …"""

    fields: tuple[tuple[str, ObservedType], ...] | None = None
    """The keys of objects among them; None when there was no object."""

    element: ObservedType | None = None
    """The elements of arrays among them; None when there was no array."""

    first: OrderedPlace | None = field(default=None, compare=False)
    """The first record that had one of them; None when nobody asked. It says nothing about what they looked like."""

    entries: tuple[ObservedType, ObservedType] | None = None
    """The keys and the values of maps among them; None when no schema names a map: values cannot tell one."""

    def merged_with(self, other: ObservedType) -> ObservedType:
        """What was seen here and there; the order does not matter."""
        fields: dict[str, ObservedType] = {}
        for key, seen in (*(self.fields or ()), *(other.fields or ())):
            fields[key] = fields[key].merged_with(seen) if key in fields else seen
        objects = self.fields is not None or other.fields is not None
        elements = [each for each in (self.element, other.element) if each is not None]
        maps = [each for each in (self.entries, other.entries) if each is not None]
        return ObservedType(
            self.scalars | other.scalars,
            tuple(sorted(fields.items(), key=lambda item: item[0])) if objects else None,
            elements[0].merged_with(elements[1]) if len(elements) == 2 else next(iter(elements), None),
            min((each for each in (self.first, other.first) if each is not None), default=None),
            (maps[0][0].merged_with(maps[1][0]), maps[0][1].merged_with(maps[1][1]))
            if len(maps) == 2
            else next(iter(maps), None),
        )


NOTHING_OBSERVED = ObservedType()

Drift: TypeAlias = Mapping[str, ObservedType]
"""New keys, spelled as they came, and what their values are."""
