"""Protobuf's messages as Connect's schemas, by the rules of Confluent's ProtobufData.

Where those would change a value, it stays what it is: a field with presence that is not set is null rather than zero,
and an unsigned number of 64 bits is not negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final, TypeAlias

from confluent_kafka.schema_registry.confluent import meta_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    PRECISION,
    SCALE,
    TIME,
    TIMESTAMP,
    UNSIGNED,
    Field,
    Moment,
    Schema,
    Struct,
    Type,
)
from frazil.records.connect.json_values import from_unscaled
from frazil.records.connect.moments import DAY
from frazil.records.connect.unreadable import Unfit, shown

Convert: TypeAlias = Callable[[Any], Any]

_SCALARS: Final = {
    FieldDescriptor.CPPTYPE_INT32: Type.INT32,
    FieldDescriptor.CPPTYPE_INT64: Type.INT64,
    FieldDescriptor.CPPTYPE_UINT32: Type.INT64,
    FieldDescriptor.CPPTYPE_FLOAT: Type.FLOAT32,
    FieldDescriptor.CPPTYPE_DOUBLE: Type.FLOAT64,
    FieldDescriptor.CPPTYPE_BOOL: Type.BOOLEAN,
    FieldDescriptor.CPPTYPE_ENUM: Type.STRING,
}
_EPOCH: Final = date(1970, 1, 1).toordinal()


@dataclass(slots=True)
class MessageTranslation:
    """The schemas of messages, also of those that are in themselves."""

    flat_oneofs: bool = False
    """Whether the members of a oneof are fields of their message (`flatten.unions`)."""

    indexed_oneofs: bool = True
    """Whether the field of a oneof has its index in its name (`generate.index.for.unions`)."""

    bare_wrappers: bool = False
    """Whether a wrapper is what it wraps (`wrapper.for.nullables`)."""

    done: dict[str, tuple[Schema, Convert]] = field(default_factory=dict)

    def message(self, descriptor: Descriptor) -> tuple[Schema, Convert]:
        """The schema of a message, and what turns it into a value of that schema."""
        if descriptor.full_name in self.done:
            return self.done[descriptor.full_name]
        if (known := _logical(descriptor)) is not None:
            return known
        if self.bare_wrappers and _is_wrapper(descriptor):
            schema, convert = self.single(descriptor.fields[0])
            return schema, lambda value: convert(value.value)
        schema = Schema(Type.STRUCT, optional=True, name=descriptor.full_name)
        parts: list[tuple[str, Convert]] = []
        self.done[descriptor.full_name] = (
            schema,
            lambda value: Struct(schema, {name: part(value) for name, part in parts}),
        )
        fields = []
        for name, inner, convert in self._parts(descriptor):
            fields.append(Field(name, inner))
            parts.append((name, convert))
        object.__setattr__(schema, "fields", tuple(fields))  # a schema that is in itself has no other way
        return self.done[descriptor.full_name]

    def _parts(self, descriptor: Descriptor) -> list[tuple[str, Schema, Convert]]:
        """The fields and oneofs, each with what reads it from the message."""
        found = [self._field(each) for each in self.fields(descriptor)]
        return found + [self._oneof(each) for each in self.oneofs(descriptor)]

    def fields(self, descriptor: Descriptor) -> list[FieldDescriptor]:
        """The fields of a message that are fields of its schema, too."""
        members = {member.name for each in self.oneofs(descriptor) for member in each.fields}
        return [each for each in descriptor.fields if each.name not in members]

    def oneofs(self, descriptor: Descriptor) -> list[Any]:
        """The oneofs of a message that are structs of its schema."""
        return [] if self.flat_oneofs else [each for each in descriptor.oneofs if not _is_synthetic(each)]

    def name_of(self, oneof: Any) -> str:
        """The field of a oneof."""
        return f"{oneof.name}_{oneof.index}" if self.indexed_oneofs else str(oneof.name)

    def is_struct(self, descriptor: Descriptor) -> bool:
        """Whether the values of a message are structs, of its fields and oneofs."""
        return _logical(descriptor) is None and not (self.bare_wrappers and _is_wrapper(descriptor))

    def _oneof(self, oneof: Any) -> tuple[str, Schema, Convert]:
        members = {each.name: self.single(each) for each in oneof.fields}
        fields = tuple(Field(name, schema.as_optional()) for name, (schema, _) in members.items())
        schema = Schema(Type.STRUCT, optional=True, name=oneof.name, fields=fields)

        def convert(message: Any) -> Struct | None:
            name = message.WhichOneof(oneof.name)
            return None if name is None else Struct(schema, {name: members[name][1](getattr(message, name))})

        return self.name_of(oneof), schema, convert

    def _field(self, described: FieldDescriptor) -> tuple[str, Schema, Convert]:
        name = described.name
        if described.is_repeated:
            schema, convert = self.repeated(described)
            return name, schema, lambda message: convert(getattr(message, name))
        schema, convert = self.single(described)
        if not described.has_presence:
            return name, schema, lambda message: convert(getattr(message, name))
        if not described.is_required and not schema.optional:
            schema = replace(schema, optional=True)
        return name, schema, lambda message: convert(getattr(message, name)) if message.HasField(name) else None

    def repeated(self, described: FieldDescriptor) -> tuple[Schema, Convert]:
        """The schema of a repeated field, and what turns its values into one of that."""
        entry = described.message_type
        if entry is None or not entry.GetOptions().map_entry:
            element, convert = self.single(described)
            return Schema(Type.ARRAY, value=element), lambda values: [convert(each) for each in values]
        key, content = self.single(entry.fields_by_name["key"]), self.single(entry.fields_by_name["value"])
        schema = Schema(Type.MAP, key=key[0], value=content[0])
        if key[0].type is Type.STRING:
            return schema, lambda values: {name: content[1](values[name]) for name in values}
        return schema, lambda values: [(each, content[1](values[each])) for each in values]

    def single(self, described: FieldDescriptor) -> tuple[Schema, Convert]:
        """The schema of one value of a field, be it repeated or not, and what turns it into a value of that."""
        if described.message_type is not None:
            schema, convert = self.message(described.message_type)
            return (_with_digits(schema, described), convert) if schema.name == DECIMAL else (schema, convert)
        if described.enum_type is not None:
            enum = described.enum_type
            names = {number: each.name for number, each in enum.values_by_number.items()}
            return Schema(Type.STRING), lambda number: names.get(number, f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}")
        if described.type == FieldDescriptor.TYPE_BYTES:
            return Schema(Type.BYTES), _same
        if described.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
            return Schema(Type.INT64, name=UNSIGNED), _same
        return Schema(_SCALARS.get(described.cpp_type, Type.STRING)), _same


def _same(value: Any) -> Any:
    return value


def _is_synthetic(oneof: Any) -> bool:
    """What the compiler makes of a field that is optional in proto3."""
    return bool(len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}")


def _is_wrapper(descriptor: Descriptor) -> bool:
    return bool(descriptor.file.name == "google/protobuf/wrappers.proto")


def _logical(descriptor: Descriptor) -> tuple[Schema, Convert] | None:
    """Messages that stand for Connect's logical types."""
    return _LOGICAL.get(descriptor.full_name)


def _timestamp(value: Any) -> Moment:
    return Moment(value.seconds * 1000 + value.nanos // 1_000_000)


def _date(value: Any) -> Moment:
    try:
        return Moment((date(value.year, value.month, value.day).toordinal() - _EPOCH) * DAY)
    except ValueError as error:
        raise Unfit(f"a date that is none: {shown(f'{value.year}-{value.month}-{value.day}')}") from error


def _time(value: Any) -> Moment:
    return Moment(((value.hours * 60 + value.minutes) * 60 + value.seconds) * 1000 + value.nanos // 1_000_000)


def _decimal(value: Any) -> Any:
    return from_unscaled(value.value, value.scale)


def _with_digits(schema: Schema, described: FieldDescriptor) -> Schema:
    """The schema of a decimal with the precision and the scale that its field is annotated with; values have their own.

    Where the field says nothing of them, the schema has no scale.
    """
    params = described.GetOptions().Extensions[meta_pb2.field_meta].params
    digits = {ours: params[theirs] for ours, theirs in ((SCALE, "scale"), (PRECISION, "precision")) if theirs in params}
    return replace(schema, parameters=digits) if digits else schema


_DECIMAL: Final = (Schema(Type.BYTES, True, name=DECIMAL, version=1), _decimal)
_LOGICAL: Final[Mapping[str, tuple[Schema, Convert]]] = {
    "google.protobuf.Timestamp": (Schema(Type.INT64, True, name=TIMESTAMP, version=1), _timestamp),
    "google.type.Date": (Schema(Type.INT32, True, name=DATE, version=1), _date),
    "google.type.TimeOfDay": (Schema(Type.INT32, True, name=TIME, version=1), _time),
    "confluent.type.Decimal": _DECIMAL,
    "confluent.types.Decimal": _DECIMAL,
}
