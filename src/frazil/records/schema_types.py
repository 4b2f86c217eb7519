"""The column of what values are by their schemas: for each record the types of its keys, as text.

A batch has few schemas, so each is looked at once, and records that share one share a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from frazil.model import ObservedType
from frazil.records.batches import TYPES
from frazil.records.connect.data import Schema
from frazil.records.connect.declared import declared

_MOST_SCHEMAS: Final = 1000
"""Schemas whose types are kept; what writes each record with another one is not to fill the memory."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(dict[str, ObservedType])


class SchemaTypes:
    """Tells the types of values for the records of one task."""

    def __init__(self, *, bytes_fit: bool) -> None:
        """Tell them for columns that take what converters make of bytes, or do not."""
        self._bytes_fit = bytes_fit
        self._known: dict[int, tuple[Schema, str | None]] = {}

    def column(self, schemas: Sequence[Schema | None]) -> pa.DictionaryArray:
        """The column of records whose values have these schemas; null for values without fields that a schema names."""
        places: dict[int, int | None] = {id(None): None}
        texts: dict[str, int] = {}
        for schema in schemas:
            if id(schema) not in places and schema is not None:
                text = self._text(schema)
                places[id(schema)] = None if text is None else texts.setdefault(text, len(texts))
        indices = pa.array([places[id(schema)] for schema in schemas], pa.int32())
        return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))

    def _text(self, schema: Schema) -> str | None:
        known = self._known.get(id(schema))
        if known is None:
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            found = declared(schema, bytes_fit=self._bytes_fit)
            # The schema is kept beside its text: an id is another's as soon as its schema is gone.
            known = self._known[id(schema)] = schema, _ENCODER.encode(found).decode() if found else None
        return known[1]


def no_types(count: int) -> pa.DictionaryArray:
    """The column of records without schemas."""
    return pa.nulls(count, TYPES)


@lru_cache(maxsize=_MOST_SCHEMAS)
def types_of(text: str) -> Mapping[str, ObservedType]:
    """What a text of the column says: the types of keys."""
    found: dict[str, ObservedType] = _DECODER.decode(text)
    return found
