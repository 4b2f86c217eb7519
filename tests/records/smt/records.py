"""Records for transforms, with a schema and without; and what a transform makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from frazil.records.connect.data import Field, Header, Record, Schema, SchemaAndValue, Struct, Type
from frazil.records.smt.chain import Chain, read
from frazil.records.smt.refusal import CannotTransform

STRING, BOOLEAN = Schema(Type.STRING), Schema(Type.BOOLEAN)
INT8, INT16, INT32, INT64 = (Schema(each) for each in (Type.INT8, Type.INT16, Type.INT32, Type.INT64))
FLOAT32, FLOAT64, BYTES = Schema(Type.FLOAT32), Schema(Type.FLOAT64), Schema(Type.BYTES)

NOTHING = SchemaAndValue(None, None)
WRITTEN = 1_700_000_000_123
"""When records were, in ms since the epoch."""


def plain(value: Any) -> SchemaAndValue:
    return SchemaAndValue(None, value)


def struct_schema(**fields: Schema) -> Schema:
    return Schema(Type.STRUCT, fields=tuple(Field(name, each) for name, each in fields.items()))


def struct(**fields: tuple[Schema, Any]) -> SchemaAndValue:
    """A struct: `struct(id=(INT32, 7))`."""
    schema = struct_schema(**{name: each for name, (each, _) in fields.items()})
    return of_struct(schema, **{name: value for name, (_, value) in fields.items()})


def of_struct(schema: Schema, **values: Any) -> SchemaAndValue:
    return SchemaAndValue(schema, Struct(schema, {name: each for name, each in values.items() if each is not None}))


def record(
    value: SchemaAndValue = NOTHING,
    key: SchemaAndValue = NOTHING,
    *,
    topic: str = "orders",
    timestamp: int | None = WRITTEN,
    headers: tuple[Header, ...] = (),
) -> Record:
    return Record(topic, 3, 42, timestamp, key, value, headers)


def header(name: str, value: Any = None, schema: Schema | None = None) -> Header:
    return Header(name, SchemaAndValue(schema, value))


def configured(kind: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """The keys of a chain with one transform, `it`."""
    below = {f"transforms.it.{key}": text for key, text in (options or {}).items()}
    return {"transforms": "it", "transforms.it.type": kind, **below}


def applied(kind: str, given: Record, options: Mapping[str, str] | None = None) -> Record | None:
    return Chain.of(configured(kind, options)).apply(given)


def valued(kind: str, value: SchemaAndValue, options: Mapping[str, str] | None = None) -> SchemaAndValue:
    """The value after a transform."""
    done = applied(kind, record(value), options)
    assert done is not None
    return done.value


def refused(kind: str, given: Record, options: Mapping[str, str] | None = None) -> str:
    """Why a transform cannot transform a record."""
    chain = Chain.of(configured(kind, options))
    with pytest.raises(CannotTransform) as caught:
        chain.apply(given)
    return str(caught.value)


def problems(kind: str, options: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with options: `<key> <text>`, the key without what stands before it."""
    _, found = read(configured(kind, options))
    return [f"{each.key.removeprefix('transforms.it.')} {each.text}" for each in found]
