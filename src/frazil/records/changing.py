"""Transforms that look into records: whole records are decoded, changed, and written down again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from frazil.model import Conversion
from frazil.records.batches import TOPIC, converted_schema
from frazil.records.connect.data import Header, Record, Schema, SchemaAndValue, Type
from frazil.records.connect.decoding import Decoder
from frazil.records.connect.json_text import Write, writer
from frazil.records.connect.unreadable import Unreadable
from frazil.records.decoders import decoder
from frazil.records.schema_types import SchemaTypes
from frazil.records.smt.chain import Step
from frazil.records.smt.refusal import CannotTransform

_COLUMNS: Final = ("topic", "timestamp", "key", "value", "headers", "types", "schema_id", "key_schema_id")
"""What transforms may change, and what decoders add."""

_NOTHING: Final = SchemaAndValue(None, None)
_LONGEST_NAME_SHOWN: Final = 60
_MOST_WRITERS: Final = 1000
"""Schemas whose writers are kept."""


@dataclass(slots=True)
class Changed:
    """What became of the records of a batch."""

    types: SchemaTypes
    """What tells the types of values by their schemas."""

    rows: list[int] = field(default_factory=list)
    """Those that are still there."""

    unreadable: dict[int, str] = field(default_factory=dict)
    """Why records cannot be converted, by row."""

    refused: dict[int, str] = field(default_factory=dict)
    """Why a transform cannot take records, by row."""

    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})

    def batch(self, read: pa.RecordBatch) -> pa.RecordBatch:
        """The records that are there, as `frazil.records.batches.converted_schema` says."""
        schema = converted_schema(read.schema)
        kept = read.take(pa.array(self.rows, pa.int64()))
        arrays = [
            self._array(name, schema.field(name).type) if name in _COLUMNS else kept.column(name)
            for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _array(self, name: str, kind: pa.DataType) -> pa.Array:
        values = self.columns[name]
        if name == "topic":
            return pa.array(values, pa.string()).dictionary_encode().cast(TOPIC)
        if name == "types":
            return self.types.column(values)
        return pa.array(values, kind)


class Changing:
    """Has transforms change the records of one task."""

    def __init__(self, conversion: Conversion, steps: Sequence[Step], types: SchemaTypes) -> None:
        """Decode as `conversion` says, and have `steps` change records in their order; `types` tells their types."""
        self._steps = tuple(steps)
        self._types = types
        self._value = decoder(conversion.value_converter)
        self._key = decoder(conversion.key_converter)
        self._header = decoder(conversion.header_converter)
        self._writers: dict[int, tuple[Schema | None, Write]] = {}

    def change(self, batch: pa.RecordBatch) -> Changed:
        """Decode and change records; those that are bad or dropped are none of the rows."""
        done = Changed(self._types)
        appends = [done.columns[name].append for name in _COLUMNS]
        names = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
        for row, cells in enumerate(zip(*(batch.column(name).to_pylist() for name in names), strict=True)):
            try:
                changed = self._record(*cells)
            except Unreadable as error:
                done.unreadable[row] = str(error)
                continue
            except CannotTransform as error:
                done.refused[row] = str(error)
                continue
            if changed is None:
                continue
            try:
                written = self._written(changed)
            except Unreadable as error:
                done.refused[row] = f"what the transforms made of it cannot be written: {error}"
                continue
            done.rows.append(row)
            ids = self._id(self._value, cells[5]), self._id(self._key, cells[4])
            for append, value in zip(appends, (*written, *ids), strict=True):
                append(value)
        return done

    def _record(
        self,
        topic: str,
        partition: Any,
        offset: Any,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
    ) -> Record | None:
        """A record as the transforms leave it; None if one of them dropped it."""
        record: Record | None = Record(
            topic,
            partition,
            offset,
            timestamp,
            _decoded(self._key, key, "the key"),
            _decoded(self._value, value, "the value"),
            tuple(self._decoded_header(*each) for each in headers or ()),
        )
        for step in self._steps:
            if record is None:
                return None
            try:
                record = step.apply(record)
            except CannotTransform as error:
                raise CannotTransform(f"the transform {step.name}: {error}") from error
        return record

    def _decoded_header(self, name: str, data: bytes | None) -> Header:
        shown = repr(name if len(name) <= _LONGEST_NAME_SHOWN else f"{name[:_LONGEST_NAME_SHOWN]}…")
        return Header(name, _decoded(self._header, data, f"the header {shown}"))

    def _written(self, record: Record) -> tuple[Any, ...]:
        """What stands in the columns that transforms may change."""
        value = self._write(record.value)
        headers = [(each.name, self._text_or_json(each.content)) for each in record.headers]
        return (
            record.topic,
            record.timestamp,
            self._text_or_json(record.key),
            value,
            headers or None,
            record.value.schema,
        )

    def _text_or_json(self, content: SchemaAndValue) -> dict[str, Any] | None:
        if content.schema is not None and content.schema.type is Type.STRING and isinstance(content.value, str):
            return {"text": content.value, "is_json": False}
        text = self._write(content)
        return None if text is None else {"text": text, "is_json": True}

    def _write(self, content: SchemaAndValue) -> str | None:
        known = self._writers.get(id(content.schema))
        if known is None:
            if len(self._writers) >= _MOST_WRITERS:
                self._writers.clear()
            # The schema is kept beside its writer: an id is another's as soon as its schema is gone.
            known = self._writers[id(content.schema)] = content.schema, writer(content.schema)
        return known[1](content.value)

    def _id(self, decoder: Decoder, data: bytes | None) -> int | None:
        return None if data is None else decoder.schema_id(data)


def _decoded(decoder: Decoder, data: bytes | None, what: str) -> SchemaAndValue:
    if data is None:
        return _NOTHING
    try:
        return decoder.decode(data)
    except Unreadable as error:
        raise Unreadable(f"{what} {error}") from error
