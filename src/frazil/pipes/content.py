"""The pipe of whole records: their values go to RECORD_CONTENT as they are, as VARIANT or as JSON text (spec 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from frazil.model import LONGEST, Column, Conversion, IcebergType, Primitive, SchemaChange, WriteShape
from frazil.pipes.base import CHUNK, Chunk
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.decoder import REFUSED, becomes_variant
from frazil.pipes.default.exact_json import TOO_DEEP, CoercionError, parse
from frazil.pipes.default.fast_validation import SHALLOW, is_too_deep
from frazil.pipes.default.projection import constant
from frazil.pipes.forms import form_of
from frazil.pipes.naming import folded
from frazil.pipes.types import VARIANT, cast, file_name
from frazil.records.convert import VALUE
from frazil.records.rejects import RejectReason
from frazil.sql import ident

COLUMN: Final = "RECORD_CONTENT"

_TEXT: Final = Primitive("string")
_RAW: Final = msgspec.json.Decoder(Raw).decode


def is_content(column: Column) -> bool:
    """Whether the column is RECORD_CONTENT, in any case."""
    return column.name.upper() == COLUMN


def missing(shape: WriteShape, conversion: Conversion) -> SchemaChange:
    """The columns that a table lacks for whole records; `conversion` is the one for the table."""
    names = {folded(column.name) for column in shape.columns}
    wanted: dict[str, IcebergType] = {COLUMN: VARIANT if conversion.nested_type == "variant" else _TEXT}
    if conversion.metadata is not None:
        form = form_of(conversion)
        wanted[form.column] = form.created_type(conversion)
    return SchemaChange(add={name: kind for name, kind in wanted.items() if folded(name) not in names})


def unsupported(columns: Iterable[Column], conversion: Conversion) -> str | None:
    """Why whole records cannot go to a table of these columns, if they cannot."""
    form = form_of(conversion)
    for column in columns:
        if is_content(column) and column.type not in (VARIANT, _TEXT):
            return f"its column {column.name} is of type {column.type}, not VARIANT or STRING"
        if column.required and column.default is None and not form.is_column(column):
            return f"its column {column.name} must not be NULL, and whole records have no value for it"
    return None


class ContentPipe:
    """See `frazil.pipes.base.Pipe`."""

    def __init__(self, columns: tuple[Column, ...], conversion: Conversion) -> None:
        """Project to a table of these columns, one of which is RECORD_CONTENT."""
        self.columns = columns
        self._coercion = Coercion(conversion)
        self._form = form_of(conversion)
        self._content = next(column for column in columns if is_content(column))
        self._longest = LONGEST["string"] if self._content.length is None else self._content.length

    @property
    def inputs(self) -> tuple[str, ...]:
        """The value, and what the metadata is made of."""
        return (VALUE, *self._form.inputs) if any(map(self._form.is_column, self.columns)) else (VALUE,)

    def statements(self, chunk: Chunk) -> Iterator[str]:
        """One: before it, whatever it would not read as it is meant is written anew or rejected."""
        refused = [row for row, value in enumerate(chunk.texts()) if value is not None and not self._is_read(value)]
        rewritten: dict[int, str | None] = {}
        unfit: dict[int, RejectReason] = {}
        for row, text in chunk.select(refused):
            found = self._validated(text)
            if isinstance(found, RejectReason):
                unfit[row] = found
            else:
                rewritten[row] = found
        chunk.rewrite(rewritten)
        chunk.reject(unfit)
        values = (f"{self._expression(column)} AS {ident(file_name(column))}" for column in self.columns)
        yield f"SELECT {', '.join(values)} FROM {CHUNK}"

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:
        """Why one record does not fit, by exact validation."""
        found = self._validated(record[VALUE])
        return found if isinstance(found, RejectReason) else None

    def _is_read(self, value: bytes) -> bool:
        """Whether the statement reads a value as it is meant."""
        if len(value) > SHALLOW and is_too_deep(value):
            return False
        if self._content.type == _TEXT and len(value) > self._longest:
            return False
        if self._content.type == VARIANT and value[:1] in (b"{", b"["):
            return becomes_variant(Raw(value))
        try:
            raw = _RAW(value)
        except REFUSED:
            return False
        return self._content.type == _TEXT or becomes_variant(raw)

    def _validated(self, text: str | None) -> str | RejectReason | None:
        """The value in the form that the statement reads exactly, or why there is none."""
        if text is None:
            return None
        try:
            if self._content.type == _TEXT:
                self._require_length(text)
            parsed = parse(text)
            return text if self._content.type == _TEXT else self._coercion.text(VARIANT, parsed, COLUMN)
        except RecursionError:
            return RejectReason(TOO_DEEP)
        except CoercionError as error:
            return RejectReason(str(error), self._content.name)

    def _require_length(self, text: str) -> None:
        in_bytes = self._content.length is None
        count = len(text.encode()) if in_bytes else len(text)
        if count > self._longest:
            unit = "bytes" if in_bytes else "characters"
            raise CoercionError(f"the value has {count} {unit}, and the column takes {self._longest}")

    def _expression(self, column: Column) -> str:
        if self._form.is_column(column):
            return self._form.expression(column)
        if column != self._content:
            return constant(column, None if column.default is None else self._coercion.default(column))
        return ident(VALUE) if column.type == _TEXT else cast(f"CAST({ident(VALUE)} AS JSON)", VARIANT)
