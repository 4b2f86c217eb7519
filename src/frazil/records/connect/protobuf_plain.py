"""From Protobuf's messages straight to what JSON is written of: the same as by way of Connect's values, in less time.

What a message has in any case comes out of it in one step; only what may be absent, or is not what JSON is written of,
is looked at field by field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from frazil.records.connect.data import Schema
from frazil.records.connect.json_text import plain_of
from frazil.records.connect.protobuf_schema import MessageTranslation

Plain: TypeAlias = Callable[[Any], Any]
"""Turns a field's value, or a message, into what the encoder writes; None stands for nothing to do."""

_NATURAL: Final = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
        FieldDescriptor.CPPTYPE_BOOL,
    }
)


@dataclass(frozen=True, slots=True)
class PlainField:
    """How a field of a message, or a oneof, comes to JSON."""

    name: str
    """Among the fields of the message's schema."""

    plain: Plain | None = None
    """What is done to its value."""

    of_message: Plain | None = None
    """What makes it of the whole message, where that takes more than to take the value."""


@dataclass(slots=True)
class PlainMessages:
    """The ways of messages, also of those that are in themselves."""

    translation: MessageTranslation
    done: dict[str, Plain] = field(default_factory=dict)

    def message(self, descriptor: Descriptor) -> Plain:
        """The way of a message whose values are structs."""
        name = descriptor.full_name
        if name in self.done:
            return lambda message: self.done[name](message)
        self.done[name] = list  # until it is known
        fields = [self._field(each) for each in self.translation.fields(descriptor)]
        self.done[name] = _message(fields + [self._oneof(each) for each in self.translation.oneofs(descriptor)])
        return self.done[name]

    def _field(self, described: FieldDescriptor) -> PlainField:
        name = described.name
        if described.is_repeated:
            return PlainField(name, self._repeated(described))
        if not described.has_presence:
            return PlainField(name, self._single(described))
        return PlainField(name, None, _if_present(name, self._single(described)))

    def _repeated(self, described: FieldDescriptor) -> Plain:
        entry = described.message_type
        if entry is None or not entry.GetOptions().map_entry:
            return _array(self._single(described))
        if entry.fields_by_name["key"].type == FieldDescriptor.TYPE_STRING and _texts_are_checked(described):
            return _map(self._single(entry.fields_by_name["value"]))
        schema, convert = self.translation.repeated(described)
        return _by_way_of(schema, convert)

    def _oneof(self, oneof: Any) -> PlainField:
        members = {each.name: self._single(each) for each in oneof.fields}
        return PlainField(self.translation.name_of(oneof), None, _one_of(oneof.name, members))

    def _single(self, described: FieldDescriptor) -> Plain | None:
        message = described.message_type
        if message is not None and self.translation.is_struct(message):
            return self.message(message)
        schema, convert = self.translation.single(described)
        if described.enum_type is not None:
            return convert
        if message is None and described.cpp_type in _NATURAL:
            return None
        if message is None and described.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
            return _finite
        if message is None and described.type == FieldDescriptor.TYPE_BYTES:
            return None
        if message is None and described.type == FieldDescriptor.TYPE_STRING and _texts_are_checked(described):
            return None
        return _by_way_of(schema, convert)


def _by_way_of(schema: Schema, convert: Plain) -> Plain:
    of_schema = plain_of(schema)
    return lambda value: of_schema(convert(value))


def _message(fields: Sequence[PlainField]) -> Plain:
    """The way of a message, given those of its fields, in the order of its schema."""
    there = [each for each in fields if each.of_message is None]
    taken = _taken([each.name for each in there])
    changing = [(each.name, each.plain) for each in there if each.plain is not None]
    looked_at = [(each.name, each.of_message) for each in fields if each.of_message is not None]
    names = tuple(each.name for each in there)
    # Keys stand in the order in which they are first put into a dict.
    empty = dict.fromkeys(each.name for each in fields)

    def change(message: Any) -> Any:
        row: dict[str, Any] = dict(empty)
        row.update(zip(names, taken(message), strict=True))
        for name, plain in changing:
            row[name] = plain(row[name])
        for name, of_message in looked_at:
            row[name] = of_message(message)
        return row

    return change


def _if_present(name: str, plain: Plain | None) -> Plain:
    """The way of a field that may be absent, of its whole message."""
    if plain is None:
        return lambda message: getattr(message, name) if message.HasField(name) else None
    return lambda message: plain(getattr(message, name)) if message.HasField(name) else None


def _array(plain: Plain | None) -> Plain:
    """The way of an array, given that of its elements."""
    return list if plain is None else lambda values: [plain(each) for each in values]


def _map(plain: Plain | None) -> Plain:
    """The way of a map whose keys are texts, given that of its values."""
    if plain is None:
        return lambda values: {name: values[name] for name in values}
    return lambda values: {name: plain(values[name]) for name in values}


def _one_of(oneof: str, members: Mapping[str, Plain | None]) -> Plain:
    """The way of a oneof, of its whole message: a struct of which one field has a value."""
    nothing = dict.fromkeys(members)

    def choose(message: Any) -> Any:
        name = message.WhichOneof(oneof)
        if name is None:
            return None
        plain, value = members[name], getattr(message, name)
        return {**nothing, name: value if plain is None else plain(value)}

    return choose


def _taken(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    match names:
        case []:
            return lambda _: ()
        case [only]:
            return lambda message: (getattr(message, only),)
        case _:
            return attrgetter(*names)


def _texts_are_checked(described: FieldDescriptor) -> bool:
    """Whether a text that is not UTF-8 is refused when its message is read; else its value is bytes."""
    owner: Descriptor | None = described.containing_type
    if owner is None:
        return False
    file = FileDescriptorProto()
    owner.file.CopyToProto(file)
    return bool(file.syntax == "proto3")


def _finite(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
