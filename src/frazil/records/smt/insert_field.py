"""InsertField: adds where a record comes from, or a fixed text, as fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from frazil.records.connect.data import Moment, Record, Schema, SchemaAndValue
from frazil.records.smt.kinds import Int32
from frazil.records.smt.options import Options
from frazil.records.smt.schemas import (
    INT32,
    INT64,
    STRING,
    TIMESTAMP_SCHEMA,
    Remembered,
    contents,
    struct,
    struct_schema,
)
from frazil.records.smt.transformation import OfPart, Part, plain

_SCHEMAS: Final = {
    "topic.field": STRING,
    "partition.field": INT32,
    "offset.field": INT64,
    "timestamp.field": TIMESTAMP_SCHEMA,
    "static.field": STRING,
}

_PLACES: Final = ("partition.field", "offset.field")


@dataclass(frozen=True, slots=True)
class _Inserted:
    """A field to insert."""

    option: str
    name: str
    schema: Schema


class InsertField(OfPart):
    """Adds fields; `!` behind a name makes it required, `?` optional."""

    purpose = "inserting fields"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `topic.field` and the others, `static.value`, and `replace.null.with.default`."""
        super().__init__(part)
        self._inserted = tuple(_inserted(options))
        self.static = options.maybe("static.value")
        """The text of `static.value`."""
        self._default = options.replaces_null()
        self._schemas = Remembered(partial(self._changed, self._inserted))
        self._of_texts = Remembered(partial(self._changed, tuple(map(_as_text, self._inserted))))
        if not self._inserted:
            options.refuse("type", f"inserts no field. Write one of {', '.join(_SCHEMAS)}.")
        if options.maybe("static.field") is not None and self.static is None:
            options.refuse("static.value", "is missing beside static.field. Write the text to insert.")

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """What is inserted, as its option, such as `topic.field`, and the name of its field."""
        return tuple((each.option, each.name) for each in self._inserted)

    @property
    def names_differ(self) -> bool:
        """Whether each field is inserted once."""
        return len({each.name for each in self._inserted}) == len(self._inserted)

    def _after(self, before: SchemaAndValue, record: Record) -> SchemaAndValue:
        if before.schema is None:
            return self._plain(before, record)
        return self._with_schema(before.schema, before.value, record)

    def _plain(self, before: SchemaAndValue, record: Record) -> SchemaAndValue:
        if before.value is None:
            return before
        value = self._map(before.value)
        found = ((each.name, self._value(each.option, record)) for each in self._inserted)
        return plain({**value, **{name: inserted for name, inserted in found if inserted is not None}})

    def _with_schema(self, schema: Schema, value: Any, record: Record) -> SchemaAndValue:
        if value is None:
            return SchemaAndValue(schema, value)
        found = self._struct(value)
        schemas = self._of_texts if isinstance(record.partition, str) else self._schemas
        changed = schemas.of(found.schema)
        values = [(field.name, each) for field, each in contents(found, default=self._default)]
        for each in self._inserted:
            inserted = self._value(each.option, record)
            if inserted is not None:
                values.append((each.name, _typed(each.option, inserted)))
        return SchemaAndValue(changed, struct(changed, values))

    def _changed(self, inserted: Iterable[_Inserted], schema: Schema) -> Schema:
        fields = [(each.name, each.schema) for each in schema.fields]
        return struct_schema([*fields, *((each.name, each.schema) for each in inserted)], schema)

    def _value(self, option: str, record: Record) -> Any:
        match option:
            case "topic.field":
                return record.topic
            case "partition.field":
                return Int32(record.partition) if isinstance(record.partition, int) else record.partition
            case "offset.field":
                return record.offset
            case "timestamp.field":
                return record.timestamp
        return self.static


def _inserted(options: Options) -> Iterator[_Inserted]:
    for option, schema in _SCHEMAS.items():
        name = options.maybe(option)
        if name is not None:
            required = name.endswith("!")
            short = name[:-1] if name.endswith(("!", "?")) else name
            yield _Inserted(option, short, schema if required else schema.as_optional())


def _as_text(inserted: _Inserted) -> _Inserted:
    """The same field, where partitions and offsets are texts, as those of streams."""
    if inserted.option not in _PLACES:
        return inserted
    return replace(inserted, schema=STRING.as_optional() if inserted.schema.optional else STRING)


def _typed(option: str, value: Any) -> Any:
    if option == "timestamp.field":
        return Moment(value)
    return int(value) if isinstance(value, int) else value
