"""JSON Schemas as Connect's, by the rules of Confluent's JsonSchemaData, and what reads values that those would cut.

A field that is not required may be absent; Confluent's converter refuses such a record unless told otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from frazil.records.connect.data import DATE, DECIMAL, SCALE, TIME, TIMESTAMP, Field, Number, Schema, Type
from frazil.records.connect.json_schema_references import Documents, Place
from frazil.records.connect.json_values import Read, reader
from frazil.records.connect.unreadable import Unfit, Unreadable, shown

_TYPES: Final = {
    "boolean": Type.BOOLEAN,
    "integer": Type.INT64,
    "number": Type.FLOAT64,
    "string": Type.STRING,
    "array": Type.ARRAY,
    "object": Type.STRUCT,
}
_LOGICAL: Final = {DECIMAL: Type.BYTES, DATE: Type.INT32, TIME: Type.INT32, TIMESTAMP: Type.INT64}
_CHOICES: Final = ("oneOf", "anyOf", "allOf")
_INEXPRESSIBLE: Final = ("patternProperties", "if", "not")
_CONTAINERS: Final = (Type.STRUCT, Type.ARRAY, Type.MAP)
_ONE_KIND: Final[dict[str, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, Number) and _is_whole(value),
    "number": lambda value: isinstance(value, Number) or value in ("NaN", "Infinity", "-Infinity"),
    "string": lambda value: isinstance(value, str) and not isinstance(value, Number),
    "null": lambda value: value is None,
}


class Inexpressible(Exception):
    """Connect has no schema for this."""


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """One JSON Schema with those it refers to."""

    documents: Documents
    nulls_stay: bool = False
    """Whether what is null stays null though it has a default (`ignore.default.for.nullables`)."""

    plain: dict[Place, Read] = field(default_factory=dict)
    """What reads the values of schemas that have been referred to."""

    targets: dict[Place, Schema] = field(default_factory=dict)
    """Connect's schemas of what has been referred to: others may refer to it again and again."""

    def schema(self) -> Schema | None:
        """Connect's schema of the same values; None if it has none, as for what is in itself."""
        try:
            return self._schema(self.documents.root, ())
        except Inexpressible:
            return None

    def reader(self) -> Read:
        """What reads values without a schema of Connect's, and loses nothing of them."""
        return self._plain(self.documents.root)

    def _schema(self, place: Place, around: tuple[Place, ...]) -> Schema:
        written = self.documents.at(place)
        if not isinstance(written, Mapping) or any(name in written for name in _INEXPRESSIBLE):
            raise Inexpressible
        if "$ref" in written:
            target = self.documents.target(place)
            if target in around or target == place:
                raise Inexpressible
            if target not in self.targets:
                self.targets[target] = self._schema(target, (*around, place, target))
            return self.targets[target]
        if (choice := next((name for name in _CHOICES if name in written), None)) is not None:
            return self._optional((*place, choice), written[choice], around)
        if isinstance(written.get("type"), list):
            return self._of_kinds(place, written, around)
        return self._with_default(self._of_kind(place, written, written.get("type"), around), written)

    def _optional(self, place: Place, types: Any, around: tuple[Place, ...]) -> Schema:
        """A type or null; other choices Connect has no schema for."""
        present = [at for at, each in enumerate(types) if not _is_null(each)] if isinstance(types, list) else []
        if len(present) != 1 or (place[-1] == "allOf" and len(types) > 1):
            raise Inexpressible
        found = self._schema((*place, str(present[0])), around)
        return found.as_optional() if len(types) > 1 else found

    def _of_kinds(self, place: Place, written: Mapping[str, Any], around: tuple[Place, ...]) -> Schema:
        kinds = [each for each in written["type"] if each != "null"]
        if len(kinds) != 1:
            raise Inexpressible
        found = self._of_kind(place, written, kinds[0], around)
        found = found.as_optional() if len(written["type"]) > 1 else found
        return self._with_default(found, written)

    def _of_kind(self, place: Place, written: Mapping[str, Any], kind: Any, around: tuple[Place, ...]) -> Schema:
        schema = _described(written, kind)
        match schema.type:
            case Type.ARRAY:
                return replace(schema, value=self._schema((*place, "items"), around))
            case Type.MAP if kind == "array":
                key, value = (self._schema((*place, "items", "properties", name), around) for name in ("key", "value"))
                return replace(schema, key=key, value=value)
            case Type.MAP:
                value = self._schema((*place, "additionalProperties"), around)
                return replace(schema, key=Schema(Type.STRING), value=value)
            case Type.STRUCT:
                return replace(schema, fields=self._fields(place, written, around))
            case _:
                return schema

    def _fields(self, place: Place, written: Mapping[str, Any], around: tuple[Place, ...]) -> tuple[Field, ...]:
        properties = _properties(written)
        if not properties:
            raise Inexpressible
        names = sorted(properties, key=lambda name: _index(properties[name]))
        schemas = [(name, self._schema((*place, "properties", name), around)) for name in names]
        required = _required(written)
        return tuple(
            Field(name, each if name in required or each.default is not None else each.as_optional())
            for name, each in schemas
        )

    def _with_default(self, schema: Schema, written: Mapping[str, Any]) -> Schema:
        default = written.get("default")
        if default is None or (self.nulls_stay and schema.optional):
            return schema
        try:
            return replace(schema, default=reader(schema)(default))
        except Unfit as error:
            raise Unreadable(f"has a JSON Schema with a default that does not fit: {shown(default)}") from error

    def _plain(self, place: Place) -> Read:
        if place in self.plain:
            return lambda value: self.plain[place](value)
        self.plain[place] = _same  # until it is known
        self.plain[place] = self._reader(place)
        return self.plain[place]

    def _reader(self, place: Place) -> Read:
        written = self.documents.at(place)
        if not isinstance(written, Mapping):
            return _same
        if "$ref" in written:
            target = self.documents.target(place)
            return _same if target == place else self._plain(target)
        for choice in _CHOICES:
            types = written.get(choice)
            if isinstance(types, list):
                present = [at for at, each in enumerate(types) if not _is_null(each)]
                if len(present) != 1 or (choice == "allOf" and len(types) > 1):
                    return _same
                content = self._plain((*place, choice, str(present[0])))
                return _or_null(content) if len(types) > 1 else content
        kinds = written.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        present = [each for each in kinds if each != "null"]
        if len(present) != 1:
            return _same
        found = self._of_one_kind(place, written, present[0])
        return _or_null(found) if len(kinds) > 1 else found

    def _of_one_kind(self, place: Place, written: Mapping[str, Any], kind: Any) -> Read:
        try:
            schema = _described(written, kind)
        except Inexpressible:
            return _same
        match schema.type:
            case Type.MAP if kind == "array":
                return self._plain_entries(place)
            case Type.ARRAY:
                content = self._plain((*place, "items")) if "items" in written else _same
                return lambda value: [content(each) for each in _expected(value, list, schema)]
            case Type.STRUCT | Type.MAP:
                return self._plain_object(place, written, schema)
            case _ if "connect.type" in written or schema.name in _LOGICAL:
                return reader(schema)
            case _:
                fits = _ONE_KIND.get(str(kind), _ONE_KIND["string"])
                return lambda value: value if fits(value) else _expected(value, (), schema)

    def _plain_entries(self, place: Place) -> Read:
        key, content = (self._plain((*place, "items", "properties", name)) for name in ("key", "value"))
        entry = Schema(Type.MAP)

        def read(value: Any) -> Any:
            pairs = [_expected(each, Mapping, entry) for each in _expected(value, list, entry)]
            return [(key(each.get("key")), content(each.get("value"))) for each in pairs]

        return read

    def _plain_object(self, place: Place, written: Mapping[str, Any], schema: Schema) -> Read:
        members = {name: self._plain((*place, "properties", name)) for name in _properties(written)}
        required = _required(written) - {name for name, each in _properties(written).items() if _default(each)}
        defaults = {name: found for name, each in _properties(written).items() if (found := _default(each))}
        others = (
            self._plain((*place, "additionalProperties"))
            if isinstance(written.get("additionalProperties"), Mapping)
            else _same
        )

        def read(value: Any) -> Any:
            found = {}
            for name, each in {**defaults, **_expected(value, Mapping, schema)}.items():
                try:
                    # What is not required may be null, too, as in Connect's schema.
                    is_absent = each is None and name not in required
                    found[name] = None if is_absent else members.get(name, others)(each)
                except Unfit as error:
                    raise error.inside(name) from None
            if absent := required - found.keys():
                raise Unfit(f"no {min(absent)!r}, which its schema requires")
            return found

        return read


def keeps_all(schema: Schema, value: Any) -> bool:
    """Whether nothing of a value is lost with Connect's schema: a field that it does not name, digits, an exponent."""
    match schema.type:
        case Type.STRUCT if isinstance(value, Mapping):
            fields = {each.name: each.schema for each in schema.fields}
            return all(name in fields and keeps_all(fields[name], each) for name, each in value.items())
        case Type.ARRAY if isinstance(value, list):
            return schema.value is not None and all(keeps_all(schema.value, each) for each in value)
        case Type.MAP if schema.value is not None and schema.key is not None:
            each = schema.value
            if isinstance(value, Mapping):
                return all(keeps_all(each, content) for content in value.values())
            pairs = value if isinstance(value, list) else []
            return all(keeps_all(each, pair.get("value")) for pair in pairs if isinstance(pair, Mapping))
        case Type.INT64 if isinstance(value, Number):
            return not _is_whole(value) or -(2**63) <= Decimal(value) < 2**63
        case Type.FLOAT64 if isinstance(value, Number):
            return not math.isinf(float(value))
        case _:
            return True


def _described(written: Mapping[str, Any], kind: Any) -> Schema:
    """The type with its properties, without what is in it."""
    if kind is None and _is_of_texts(written.get("enum")):
        kind = "string"
    connect = written.get("connect.type")
    if kind not in _TYPES if isinstance(kind, str) else True:
        raise Inexpressible
    if connect is not None and connect not in list(Type):
        raise Inexpressible
    type_ = _TYPES[kind] if connect is None else Type(connect)
    if type_ in _CONTAINERS and kind not in ("object", "array"):
        raise Inexpressible
    name = _text(written, "title")
    if name in _LOGICAL and _LOGICAL[name] is not type_:
        name = None
    found = written.get("connect.parameters")
    parameters = {str(key): str(each) for key, each in found.items()} if isinstance(found, Mapping) else {}
    if name == DECIMAL and not _is_scale(parameters.get(SCALE)):
        raise Inexpressible
    version = written.get("connect.version")
    return Schema(
        type_,
        name=name,
        version=version if isinstance(version, int) else None,
        doc=_text(written, "description"),
        parameters=parameters,
    )


def _is_scale(text: str | None) -> bool:
    return text is not None and text.removeprefix("-").isdecimal() and len(text) < 10


def _is_whole(value: str) -> bool:
    try:
        number = Decimal(value)
    except InvalidOperation:  # an exponent without end
        return False
    return number.as_tuple().exponent >= 0 or (number.adjusted() < 40 and number == number.to_integral_value())  # type: ignore[operator]


def _is_of_texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(each, str) for each in values)


def _is_null(written: Any) -> bool:
    return isinstance(written, Mapping) and written.get("type") == "null"


def _properties(written: Mapping[str, Any]) -> Mapping[str, Any]:
    found = written.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(written: Mapping[str, Any]) -> set[str]:
    found = written.get("required")
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()


def _default(written: Any) -> Any:
    return written.get("default") if isinstance(written, Mapping) else None


def _index(written: Any) -> int:
    index = written.get("connect.index", 0) if isinstance(written, Mapping) else 0
    return int(index) if isinstance(index, Number) and index.isdecimal() else 0


def _text(written: Mapping[str, Any], name: str) -> str | None:
    found = written.get(name)
    return found if isinstance(found, str) else None


def _same(value: Any) -> Any:
    return value


def _or_null(read: Read) -> Read:
    return read if read is _same else lambda value: None if value is None else read(value)


def _expected(value: Any, kinds: Any, schema: Schema) -> Any:
    if isinstance(value, kinds):
        return value
    raise Unfit(f"a value that is no {schema.name or str(schema.type)!r}, as its schema says: {shown(value)}")
