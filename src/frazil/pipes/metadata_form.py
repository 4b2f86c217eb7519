"""The column that says where a record comes from, in the type a table's column has: a struct, VARIANT, or JSON text.

Which column that is, and of which fields, the source decides: Kafka's is RECORD_METADATA, in
`frazil.pipes.record_metadata`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from frazil.model import Column, Conversion, IcebergType, MapType, Primitive, StructType
from frazil.pipes import types
from frazil.sql import ident, literal

_DIGITS: Final = {"int": 10, "long": 19}
"""Digits a decimal needs before the point to hold every value of a type."""

_WIDER: Final = {
    "string": ("string",),
    "int": ("int", "long", "double", "string"),
    "long": ("long", "string"),
    "map": ("string",),
    "timestamptz": ("timestamptz", "timestamp", "timestamptz_ns", "timestamp_ns", "long", "string"),
}
"""Types that hold every value of a field exactly; a time in ms since the epoch is one of any of its types."""


class MetadataForm(ABC):
    """What one kind of source records of its records."""

    column: ClassVar[str]
    """The column's name in tables frazil creates; in others it is found ignoring case."""

    fields: ClassVar[tuple[tuple[str, str], ...]]
    """The fields of the struct, with their Iceberg types."""

    inputs: ClassVar[tuple[str, ...]]
    """The columns of converted records that the column's SQL reads."""

    @abstractmethod
    def document(self) -> str:
        """SQL for the metadata as the text of a JSON object that has no member without a value."""

    @abstractmethod
    def anything(self) -> str:
        """SQL for whether anything is known of a record; its first part is true for nearly every one."""

    @abstractmethod
    def variant(self) -> str:
        """SQL for the metadata as VARIANT."""

    @abstractmethod
    def field_sql(self, name: str, kind: IcebergType) -> str | None:
        """SQL for a field in a type of a struct's; None: a cast of the column of that name."""

    @abstractmethod
    def field_document(self, name: str) -> str | None:
        """SQL for the JSON text of a field that may be any JSON value; None: it is of its type."""

    @abstractmethod
    def always_present(self, conversion: Conversion) -> frozenset[str]:
        """The fields that every record has."""

    @abstractmethod
    def created_type(self, conversion: Conversion) -> IcebergType:
        """The type of the column in tables frazil creates; field ids are given by the catalog."""

    @property
    def remedy(self) -> str:
        """What to do about a column that is `unsupported`."""
        return (
            "Make it VARIANT, STRING, or a struct of fields among "
            + ", ".join(name for name, _ in self.fields)
            + ", as docs/record-metadata.md says; or drop it."
        )

    def is_column(self, column: Column) -> bool:
        """Whether a column is this one, in any case."""
        return self.is_name(column.name)

    def is_name(self, name: str) -> bool:
        """Whether a name is this column's, in any case."""
        return name.upper() == self.column.upper()

    def expression(self, column: Column) -> str:
        """SQL for the column's value over the columns `frazil.records.convert` makes; NULL if nothing is known.

        The column is one that `unsupported` has no objection to.
        """
        match column.type:
            case StructType(fields=fields):
                value = f"struct_pack({', '.join(f'{ident(field.name)} := {self._field(field)}' for field in fields)})"
            case Primitive(name="variant"):
                value = types.canonical(self.variant())
            case _:
                value = self.document()
        return f"CASE WHEN {self.anything()} THEN {value} END"

    def unsupported(self, column: Column, conversion: Conversion) -> str | None:
        """Why a table's column cannot be written as records are converted, if it cannot; goes with `remedy`."""
        always = self.always_present(conversion)
        if column.required and not always:
            return "it must not be NULL, and the settings snowflake.metadata.* leave it NULL"
        match column.type:
            case StructType(fields=fields):
                return self._unsupported_struct(fields, always)
            case Primitive(name="variant" | "string"):
                return None
            case other:
                return f"its type is {other}"

    def _unsupported_struct(self, fields: Sequence[Column], always: frozenset[str]) -> str | None:
        known = {self._known(field) for field in fields}
        if known == {None}:
            return f"its type is {StructType(tuple(fields))}"
        found = (reason for field in fields if (reason := self._unsupported_field(field, always)))
        return next(found, None) or next(_twice(fields), None)

    def _unsupported_field(self, field: Column, always: frozenset[str]) -> str | None:
        name = self._known(field)
        if field.required and name not in always:
            return f"its field {field.name} must not be NULL, and not every record has one"
        if name is None:
            found = types.unsupported(StructType((field,)))
            return f"its field {field.name} is of type {field.type}, and {found} is not written yet" if found else None
        kind = dict(self.fields)[name]
        held = _holds(field.type, kind)
        return None if held else f"its field {field.name} is of type {field.type}, which cannot hold it"

    def _field(self, field: Column) -> str:
        name = self._known(field)
        own = self.field_sql(name, field.type) if name else None
        return own or f"CAST({ident(name) if name else 'NULL'} AS {types.type_within(field.type)})"

    def _known(self, field: Column) -> str | None:
        """The metadata field that a field of a struct is for, ignoring case."""
        return next((name for name, _ in self.fields if name.casefold() == field.name.casefold()), None)


def json_object(members: Mapping[str, str]) -> str:
    """SQL for the text of a JSON object.

    Args:
        members: its members in their order, each as SQL for its JSON text; NULL leaves one out.
    """
    written = ", ".join(literal(f'"{name}":') + " || " + value for name, value in members.items())
    return f"'{{' || concat_ws(',', {written}) || '}}'"


def keeps_structure(column: Column) -> bool:
    """Whether header values can keep their JSON types in a column of metadata; in a struct they are texts."""
    return isinstance(column.type, Primitive)


def _twice(fields: Sequence[Column]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for field in fields:
        other = seen.setdefault(field.name.casefold(), field.name)
        if other != field.name:
            yield f"its fields {other} and {field.name} differ only by case"


def _holds(kind: IcebergType, needed: str) -> bool:
    match kind:
        case Primitive(name="decimal", precision=precision, scale=scale):
            return precision - scale >= _DIGITS.get(needed, 99)
        case Primitive(name=name):
            return name in _WIDER[needed]
        case MapType(key=key, value=value, value_required=required):
            return needed == "map" and (key, value, required) == (Primitive("string"), Primitive("string"), False)
        case _:
            return False
