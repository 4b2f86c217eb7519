"""Avro's schemas as Connect's, by the rules of Confluent's AvroData, and what turns Avro's values into Connect's.

fastavro reads by a schema of its own kind that the same bytes fit: without logical types, so that numbers come as they
are written, and with each branch of a union in a record of one field, which has no bytes of its own, so that its name
tells which branch a value is of.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from frazil.records.connect import moments
from frazil.records.connect.avro_plain import (
    Plain,
    alternative_plain,
    array_plain,
    field_plain,
    map_plain,
    plain_of,
    record_plain,
    unless_null,
)
from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    FINE_TIME,
    FINE_TIMESTAMP,
    PRECISION,
    SCALE,
    TIME,
    TIMESTAMP,
    Field,
    Moment,
    Schema,
    Struct,
    Type,
)
from frazil.records.connect.json_text import shortest
from frazil.records.connect.json_values import from_unscaled
from frazil.records.connect.unreadable import Unreadable, shown

Convert: TypeAlias = Callable[[Any], Any]
"""Turns a value of fastavro's into one of Connect's."""

UNION: Final = "io.confluent.connect.avro.Union"
ENUM: Final = "io.confluent.connect.avro.Enum"
_ENTRY: Final = "io.confluent.connect.avro.MapEntry"
_FIXED_SIZE: Final = "connect.fixed.size"
_PRIMITIVES: Final = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bytes": Type.BYTES,
    "string": Type.STRING,
}
_NAMED: Final = ("record", "error", "enum", "fixed")
_SMALL: Final = {"int8": Type.INT8, "int16": Type.INT16}
_UNITS: Final = {"millis": 3, "micros": 6, "nanos": 9}
"""Digits of a second's fraction."""

_UUID_BYTES: Final = 16
_DURATION_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class AvroType:
    """An Avro schema in its three forms."""

    wire: Any
    """For fastavro."""

    schema: Schema
    convert: Convert
    plain: Plain | None = None
    """Where values have parts, the way from fastavro's straight to JSON; see `avro_plain`."""


@dataclass(slots=True)
class Translation:
    """One schema's translation."""

    definitions: Mapping[str, Any] = field(default_factory=dict)
    """Types of other schemas that this one may name, by full name."""

    nulls_stay: bool = False
    """Whether a null is null though its field has a default (`ignore.default.for.nullables`)."""

    plain: bool = False
    """Whether values are those of JSON without a schema: records are dicts, and unions have no sign of their branch."""

    done: dict[str, AvroType] = field(default_factory=dict)
    open: dict[str, list[Schema]] = field(default_factory=dict)
    """Records whose fields are not known yet, and every schema that waits for them."""

    branches: int = 0

    def translate(self, written: Any, namespace: str | None = None) -> AvroType:
        """Translate a schema inside a namespace.

        Raises:
            Unreadable: it is none of Avro's.
        """
        match written:
            case list():
                return self._union(written, namespace)
            case str():
                return self._by_name(written, namespace)
            case {"type": dict() | list() as inner} if set(written) == {"type"}:
                return self._with_properties(self.translate(inner, namespace), written)
            case {"type": str() as kind}:
                return self._described(kind, written, namespace)
            case {"type": inner}:
                return self._with_properties(self.translate(inner, namespace), written)
            case _:
                raise refused(f"{shown(written)} is no schema")

    def _by_name(self, name: str, namespace: str | None) -> AvroType:
        if name == "null":
            return AvroType("null", Schema(Type.STRING, optional=True), _same)
        if name in _PRIMITIVES:
            convert = shortest if self.plain and name == "float" else _same
            return AvroType(name, Schema(_PRIMITIVES[name]), convert)
        for full in dict.fromkeys((_full(name, namespace), name)):
            if full in self.done:
                return replace(self.done[full], wire=full)
            if full in self.open:
                return self._later(full)
            if full in self.definitions:
                return self.translate(self.definitions[full], full.rpartition(".")[0] or None)
        raise refused(f"nothing says what {shown(name)} is")

    def _described(self, kind: str, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        match kind:
            case "record" | "error":
                return self._record(written, namespace)
            case "enum":
                return self._enum(written, namespace)
            case "fixed":
                return self._fixed(written, namespace)
            case "array":
                return self._array(written, namespace)
            case "map":
                return self._map(written, namespace)
            case _:
                found = self._with_properties(self._by_name(kind, namespace), written)
                return _logical(found, written, found.schema.type)

    def _record(self, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        full, inner = _names(written, namespace)
        self.open[full] = []
        schema = _with_properties(Schema(Type.STRUCT, name=full, doc=_doc(written)), written)
        base = replace(schema)
        self.open[full] += [schema, base]
        fields = [(_text(each, "name"), self._field(each, inner)) for each in _list(written, "fields")]
        connect = tuple(Field(name, found.schema) for name, found in fields)
        for waiting in self.open.pop(full):
            object.__setattr__(waiting, "fields", connect)  # a schema that is in itself has no other way
        converts = [(name, found.convert) for name, found in fields]

        def convert(value: Any) -> Any:
            values = {name: each(value[name]) for name, each in converts}
            return values if self.plain else Struct(base, values)

        wire = {"type": "record", "name": full, "fields": [{"name": name, "type": each.wire} for name, each in fields]}
        plains = {name: field_plain(found) for name, found in fields}
        self.done[full] = AvroType(wire, schema, convert, record_plain(plains))
        return self.done[full]

    def _field(self, written: Any, namespace: str | None) -> AvroType:
        found = self.translate(written.get("type"), namespace)
        schema = found.schema
        default = written.get("default")
        if default is not None and not (self.nulls_stay and schema.optional):
            schema = self._changed(schema, default=_default(found, default, written["type"]))
        if written.get("doc") and schema.doc is None:
            schema = self._changed(schema, doc=str(written["doc"]))
        return replace(found, schema=schema)

    def _enum(self, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        full, _ = _names(written, namespace)
        symbols = _list(written, "symbols")
        parameters = {ENUM: full, **{f"{ENUM}.{symbol}": str(symbol) for symbol in symbols}}
        schema = Schema(Type.STRING, name=full, doc=_doc(written), parameters=parameters)
        wire = {"type": "enum", "name": full, "symbols": symbols}
        self.done[full] = AvroType(wire, _with_properties(schema, written), _same)
        return self.done[full]

    def _fixed(self, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        full, _ = _names(written, namespace)
        size = written.get("size")
        if not isinstance(size, int) or size < 0:
            raise refused(f"the fixed {full} has no size")
        schema = Schema(Type.BYTES, name=full, doc=_doc(written), parameters={_FIXED_SIZE: str(size)})
        found = AvroType({"type": "fixed", "name": full, "size": size}, _with_properties(schema, written), _same)
        self.done[full] = _logical(found, written, Type.BYTES, size)
        return self.done[full]

    def _array(self, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        item = self.translate(written.get("items"), namespace)
        wire = {"type": "array", "items": item.wire}
        names = [each.name for each in item.schema.fields]
        if item.schema.name == _ENTRY or (_internal(written) == "MapEntry" and names == ["key", "value"]):
            return self._with_properties(_entries(wire, item), written)
        schema = Schema(Type.ARRAY, value=item.schema)
        return self._with_properties(
            AvroType(wire, schema, lambda value: [item.convert(each) for each in value], array_plain(plain_of(item))),
            written,
        )

    def _map(self, written: Mapping[str, Any], namespace: str | None) -> AvroType:
        content = self.translate(written.get("values"), namespace)
        schema = Schema(Type.MAP, key=Schema(Type.STRING), value=content.schema)

        def convert(value: Any) -> Any:
            return {key: content.convert(each) for key, each in value.items()}

        wire = {"type": "map", "values": content.wire}
        return self._with_properties(AvroType(wire, schema, convert, map_plain(plain_of(content))), written)

    def _union(self, written: list[Any], namespace: str | None) -> AvroType:
        """A type or null is an optional type; more are a struct of which one field has a value."""
        types = [(each == "null" or each == {"type": "null"}, self.translate(each, namespace)) for each in written]
        present = [found for is_null, found in types if not is_null]
        optional = len(present) < len(types)
        if len(present) == 1:
            (only,) = present
            schema = self._changed(only.schema, optional=True) if optional else only.schema
            wire = [each.wire for _, each in types]
            return AvroType(wire, schema, _unless_null(only.convert), unless_null(plain_of(only)))
        if not present:
            return AvroType([each.wire for _, each in types], Schema(Type.STRING, optional=True), _same)
        return self._alternatives(types, optional)

    def _alternatives(self, types: list[tuple[bool, AvroType]], optional: bool) -> AvroType:
        wire: list[Any] = []
        named: dict[str, tuple[str, Convert]] = {}
        translated: dict[str, tuple[str, AvroType]] = {}
        fields: list[Field] = []
        for is_null, found in types:
            if is_null:
                wire.append(found.wire)
                continue
            self.branches += 1
            record, name = f"frazil_branch_{self.branches}", _branch(found)
            if any(name == each.name for each in fields):
                name = found.schema.name or name
            wire.append({"type": "record", "name": record, "fields": [{"name": "value", "type": found.wire}]})
            named[record] = (name, found.convert)
            translated[record] = (name, found)
            fields.append(Field(name, self._changed(found.schema, optional=True)))
        schema = Schema(Type.STRUCT, optional=optional, name=UNION, fields=tuple(fields))

        def convert(value: Any) -> Any:
            if value is None:
                return None
            record, content = value
            name, each = named[record]
            found = each(content["value"])
            return found if self.plain else Struct(schema, {name: found})

        nothing = dict.fromkeys(each.name for each in fields)
        plains = {record: (name, plain_of(found)) for record, (name, found) in translated.items()}
        return AvroType(wire, schema, convert, alternative_plain(plains, nothing))

    def _with_properties(self, found: AvroType, written: Mapping[str, Any]) -> AvroType:
        return replace(found, schema=_with_properties(found.schema, written))

    def _changed(self, schema: Schema, **changes: Any) -> Schema:
        """The schema with another property; it gets its fields, too, once they are known."""
        changed = replace(schema, **changes)
        for waiting in self.open.values():
            if any(each is schema for each in waiting):
                waiting.append(changed)
        return changed

    def _later(self, full: str) -> AvroType:
        """A record inside itself."""
        schema = Schema(Type.STRUCT, name=self.open[full][0].name)
        self.open[full].append(schema)
        return AvroType(
            full, schema, lambda value: self.done[full].convert(value), lambda value: _plain(self.done[full], value)
        )


def definitions(written: Any, namespace: str | None = None) -> dict[str, Any]:
    """The named types in a schema, by full name."""
    if isinstance(written, list):
        return {name: each for part in written for name, each in definitions(part, namespace).items()}
    if not isinstance(written, Mapping):
        return {}
    found = {}
    inner = namespace
    if written.get("type") in _NAMED:
        full, inner = _names(written, namespace)
        found[full] = written
    parts = [written.get(name) for name in ("type", "items", "values")]
    parts += [each.get("type") for each in written.get("fields") or () if isinstance(each, Mapping)]
    for part in parts:
        found |= definitions(part, inner)
    return found


def refused(why: str) -> Unreadable:
    """An Avro schema that is none."""
    return Unreadable(f"has an Avro schema that cannot be read: {why}")


def _same(value: Any) -> Any:
    return value


def _plain(found: AvroType, value: Any) -> Any:
    assert found.plain is not None  # noqa: S101 (a record has parts)
    return found.plain(value)


def _unless_null(convert: Convert) -> Convert:
    return convert if convert is _same else lambda value: None if value is None else convert(value)


def _entries(wire: Any, item: AvroType) -> AvroType:
    """A map whose keys are no texts: Connect writes it as an array of records."""
    key, value = (item.schema.field(name) for name in ("key", "value"))
    if key is None or value is None:
        raise refused("a map's entry has no key or value")

    def convert(found: Any) -> Any:
        entries = [item.convert(each) for each in found]
        values = [each.values if isinstance(each, Struct) else each for each in entries]
        return [(each["key"], each["value"]) for each in values]

    return AvroType(wire, Schema(Type.MAP, key=key.schema, value=value.schema), convert)


def _logical(found: AvroType, written: Mapping[str, Any], type_: Type, size: int | None = None) -> AvroType:
    """The type with its logical type; one that does not fit is passed over, as Avro demands."""
    match written.get("logicalType"), type_:
        case "decimal", Type.BYTES:
            return _decimal(found, written)
        case "date", Type.INT32:
            return _as(found, Type.INT32, DATE, lambda value: Moment(value * moments.DAY))
        case "time-millis", Type.INT32:
            return _as(found, Type.INT32, TIME, Moment)
        case "timestamp-millis", Type.INT64:
            return _as(found, Type.INT64, TIMESTAMP, Moment)
        case str(logical), Type.INT64 if (unit := _UNITS.get(logical.rpartition("-")[2])) is not None:
            return _precise(found, logical.rpartition("-")[0], unit)
        case "uuid", Type.BYTES if size == _UUID_BYTES:
            return _as(found, Type.STRING, None, lambda value: str(uuid.UUID(bytes=value)))
        case "duration", Type.BYTES if size == _DURATION_BYTES:
            return _as(found, Type.STRING, None, _duration)
        case _:
            return found


def _precise(found: AvroType, kind: str, unit: int) -> AvroType:
    """Finer units than Connect's types have are texts with all digits, and so are times without a zone.

    Nanoseconds have no name: columns of microseconds have no room for them.
    """
    names = (FINE_TIME, FINE_TIMESTAMP) if unit <= _UNITS["micros"] else (None, None)
    match kind:
        case "time":
            return _as(found, Type.STRING, names[0], lambda value: moments.fine_time(value, unit))
        case "timestamp":
            return _as(found, Type.STRING, names[1], lambda value: f"{moments.fine_timestamp(value, unit)}Z")
        case "local-timestamp":
            return _as(found, Type.STRING, names[1], lambda value: moments.fine_timestamp(value, unit))
        case _:
            return found


def _as(found: AvroType, type_: Type, name: str | None, convert: Convert) -> AvroType:
    return AvroType(found.wire, replace(found.schema, type=type_, name=name), convert)


def _decimal(found: AvroType, written: Mapping[str, Any]) -> AvroType:
    scale, precision = written.get("scale", 0), written.get("precision")
    if not isinstance(scale, int):
        raise refused(f"a decimal's scale is {shown(scale)}")
    parameters = {**found.schema.parameters, SCALE: str(scale)}
    if precision is not None:
        parameters[PRECISION] = str(precision)
    schema = replace(found.schema, name=DECIMAL, version=1, parameters=parameters)
    return AvroType(found.wire, schema, lambda value: from_unscaled(value, scale))


def _duration(value: bytes) -> str:
    months, days, millis = (int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8))
    return f"P{months}M{days}DT{millis // 1000}.{millis % 1000:03}S"


def _with_properties(schema: Schema, written: Mapping[str, Any]) -> Schema:
    """What Connect has written beside Avro's own."""
    parameters = written.get("connect.parameters")
    version = written.get("connect.version")
    return replace(
        schema,
        type=_SMALL.get(str(written.get("connect.type")), schema.type) if schema.type is Type.INT32 else schema.type,
        name=written.get("connect.name", schema.name),
        version=version if isinstance(version, int) else schema.version,
        doc=written.get("connect.doc", schema.doc),
        parameters={**schema.parameters, **(parameters if isinstance(parameters, Mapping) else {})},
    )


def _default(found: AvroType, default: Any, written: Any) -> Any:
    """A default of Avro's is one of the first type of a union."""
    try:
        if found.schema.name == UNION:
            first = found.schema.fields[0]
            return Struct(found.schema, {first.name: _from_json(found.wire[0]["fields"][0]["type"], default)})
        raw = (
            _from_json(next((each for each in found.wire if each != "null"), "null"), default)
            if isinstance(found.wire, list)
            else _from_json(found.wire, default)
        )
        return found.convert(raw)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise refused(f"{shown(default)} is no default of {shown(written)}") from error


def _from_json(wire: Any, value: Any) -> Any:
    """A default as fastavro would have read it."""
    match wire:
        case "bytes" | {"type": "fixed"}:
            return value.encode("latin-1")
        case {"type": "array", "items": items}:
            return [_from_json(items, each) for each in value]
        case {"type": "map", "values": values}:
            return {key: _from_json(values, each) for key, each in value.items()}
        case {"type": "record", "fields": fields}:
            return {each["name"]: _from_json(each["type"], value.get(each["name"])) for each in fields}
        case [first, *_] if value is not None and first != "null":
            return _from_json(first, value)
        case _:
            return value


def _branch(found: AvroType) -> str:
    """The name of the field that stands for a type of a union: its own, if it has one."""
    match found.wire:
        case {"type": "record" | "enum" | "fixed", "name": name}:
            return str(name).rpartition(".")[2]
        case {"type": kind}:
            return str(kind)
        case _:
            return str(found.wire).rpartition(".")[2]


def _names(written: Mapping[str, Any], namespace: str | None) -> tuple[str, str | None]:
    """The full name of a named type, and the namespace of what is in it."""
    full = _full(_text(written, "name"), written.get("namespace", namespace))
    return full, full.rpartition(".")[0] or None


def _full(name: str, namespace: str | None) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _text(written: Any, name: str) -> str:
    found = written.get(name) if isinstance(written, Mapping) else None
    if not isinstance(found, str):
        raise refused(f"{shown(written)} has no {name}")
    return found


def _list(written: Mapping[str, Any], name: str) -> list[Any]:
    found = written.get(name)
    if not isinstance(found, list):
        raise refused(f"{shown(written.get('name'))} has no {name}")
    return found


def _doc(written: Mapping[str, Any]) -> str | None:
    doc = written.get("doc")
    return doc if isinstance(doc, str) else None


def _internal(written: Mapping[str, Any]) -> Any:
    return written.get("connect.internal.type")
