"""What decoders are, and a converter that reads whole columns with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from frazil.records.connect.data import Schema, SchemaAndValue
from frazil.records.connect.unreadable import Unreadable
from frazil.records.converters import ConvertedColumn
from frazil.records.schema_types import SchemaTypes


class Decoder(Protocol):
    """Reads the bytes of a record's value, key or header; it may keep what it knows of schemas.

    What is raised besides `Unreadable` is no fault of the record: a schema registry that does not answer is a
    `frazil.errors.RegistryUnavailable`.
    """

    def decode(self, data: bytes) -> SchemaAndValue:
        """The value with its schema.

        Raises:
            Unreadable: the bytes are no such value.
        """

    def text(self, data: bytes) -> str | None:
        """The value as JSON, None for null: the same as `frazil.records.connect.json_text.json_text` of `decode`.

        Raises:
            Unreadable: the bytes are no such value.
        """

    def text_and_schema(self, data: bytes) -> tuple[str | None, Schema | None]:
        """The same text, and the schema of `decode`; the schema is one object for as many values as possible.

        Raises:
            Unreadable: the bytes are no such value.
        """

    def schema_id(self, data: bytes) -> int | None:
        """The id of the value's schema in its registry, if it has one."""


class WithoutSchemas:
    """A decoder whose values have no fields that a schema names."""

    __slots__ = ()

    def text_and_schema(self: Decoder, data: bytes) -> tuple[str | None, Schema | None]:
        """The text alone."""
        return self.text(data), None


@dataclass(frozen=True, slots=True)
class DecodingConverter:
    """A `frazil.records.converters.Converter` of records that no transform looks at."""

    decoder: Decoder
    types: SchemaTypes | None = None
    """What tells the types of values; None where they do not become columns."""

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Read each cell; one that is null stands for nothing."""
        texts: list[str | None] = []
        schemas: list[Schema | None] = []
        ids: list[int | None] = []
        bad: dict[int, str] = {}
        for row, cell in enumerate(column.to_pylist()):
            found, schema = None, None
            if cell is not None:
                try:
                    found, schema = self.decoder.text_and_schema(cell)
                except Unreadable as error:
                    bad[row] = str(error)
            texts.append(found)
            schemas.append(schema)
            ids.append(None if cell is None else self.decoder.schema_id(cell))
        return ConvertedColumn(
            pa.array(texts, pa.string()),
            pa.repeat(True, len(column)),
            pa.array(ids, pa.int32()),
            bad,
            None if self.types is None else self.types.column(schemas),
        )
