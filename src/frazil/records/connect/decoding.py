"""What decoders are, and a converter that reads whole columns with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from frazil.records.connect.data import SchemaAndValue
from frazil.records.connect.unreadable import Unreadable
from frazil.records.converters import ConvertedColumn


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

    def schema_id(self, data: bytes) -> int | None:
        """The id of the value's schema in its registry, if it has one."""


@dataclass(frozen=True, slots=True)
class DecodingConverter:
    """A `frazil.records.converters.Converter` of records that no transform looks at."""

    decoder: Decoder

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:  # noqa: ARG002
        """Read each cell; one that is null stands for nothing."""
        texts: list[str | None] = []
        ids: list[int | None] = []
        bad: dict[int, str] = {}
        for row, cell in enumerate(column.to_pylist()):
            found = None
            if cell is not None:
                try:
                    found = self.decoder.text(cell)
                except Unreadable as error:
                    bad[row] = str(error)
            texts.append(found)
            ids.append(None if cell is None else self.decoder.schema_id(cell))
        return ConvertedColumn(
            pa.array(texts, pa.string()), pa.repeat(True, len(column)), pa.array(ids, pa.int32()), bad=bad
        )
