"""What a transform is, and what most have in common: they work on a record's key or on its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias

from frazil.records.connect.data import Record, Schema, SchemaAndValue, Struct
from frazil.records.smt.kinds import described
from frazil.records.smt.refusal import CannotTransform

Part: TypeAlias = Literal["key", "value"]


class Transformation(Protocol):
    """Changes or drops records. Users write their own with the same method."""

    def apply(self, record: Record) -> Record | None:
        """The record as it goes on; None drops it.

        Raises:
            CannotTransform: it cannot be transformed.
        """


class OfPart(ABC):
    """A transform of keys or of values."""

    purpose: str
    """What it does, for sentences: `flattening`."""

    def __init__(self, part: Part) -> None:
        """Transform that part."""
        self.part = part

    def apply(self, record: Record) -> Record:
        """The record with its key or value changed."""
        before: SchemaAndValue = record.key if self.part == "key" else record.value
        after = self._after(before, record)
        if after is before:
            return record
        return replace(record, key=after) if self.part == "key" else replace(record, value=after)

    @abstractmethod
    def _after(self, before: SchemaAndValue, record: Record) -> SchemaAndValue:
        """What becomes of the key or value of a record."""

    def _map(self, value: Any) -> dict[str, Any]:
        return require_map(value, self.purpose)

    def _struct(self, value: Any) -> Struct:
        return require_struct(value, self.purpose)


class OfPartAlone(OfPart):
    """One that looks at nothing else of the record."""

    def _after(self, before: SchemaAndValue, record: Record) -> SchemaAndValue:  # noqa: ARG002
        return self._plain(before) if before.schema is None else self._with_schema(before.schema, before.value)

    @abstractmethod
    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        """What becomes of a value without a schema."""

    @abstractmethod
    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        """What becomes of a value with a schema."""


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """A value that has to be a map.

    Raises:
        CannotTransform: it is none.
    """
    if not isinstance(value, dict):
        raise CannotTransform(f"{purpose} without a schema takes maps only, and found {described(value)}")
    return value


def require_struct(value: Any, purpose: str) -> Struct:
    """A value that has to be a struct.

    Raises:
        CannotTransform: it is none.
    """
    if not isinstance(value, Struct):
        raise CannotTransform(f"{purpose} takes structs only, and found {described(value)}")
    return value


def plain(value: Any) -> SchemaAndValue:
    """A value without a schema."""
    return SchemaAndValue(None, value)
