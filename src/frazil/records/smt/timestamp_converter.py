"""TimestampConverter: moments as texts, as numbers, or as Connect's dates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from frazil.records.connect.data import DATE, TIME, TIMESTAMP, Moment, Schema, SchemaAndValue, Type
from frazil.records.smt.date_format import DAY, DateFormat
from frazil.records.smt.kinds import described, type_of
from frazil.records.smt.kinds import plain as plain_number
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform
from frazil.records.smt.schemas import (
    DATE_SCHEMA,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Remembered,
    contents,
    struct,
    struct_schema,
    with_default,
)
from frazil.records.smt.transformation import OfPartAlone, Part, plain

_TARGETS: Final = {
    "string": STRING,
    "unix": INT64,
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_OPTIONAL: Final = {name: schema.as_optional() for name, schema in _TARGETS.items()}
_LOGICAL: Final[dict[tuple[str | None, Type], str]] = {
    (DATE, Type.INT32): "Date",
    (TIME, Type.INT32): "Time",
    (TIMESTAMP, Type.INT64): "Timestamp",
}
_NAMES: Final = (DATE, TIME, TIMESTAMP)
_TO_MILLIS: Final = {
    "seconds": (1000, 1),
    "milliseconds": (1, 1),
    "microseconds": (1, 1000),
    "nanoseconds": (1, 1_000_000),
}
_LAST: Final = 2**63 - 1


class TimestampConverter(OfPartAlone):
    """Converts one field, or the whole value."""

    purpose = "converting timestamp formats"

    def __init__(self, part: Part, options: Options) -> None:
        """Read `field`, `target.type`, `format`, `unix.precision` and `replace.null.with.default`."""
        super().__init__(part)
        self._field = options.text("field", "")
        self._target = options.one_of("target.type", _TARGETS)
        self._precision = options.one_of("unix.precision", _TO_MILLIS, "milliseconds")
        self._default = options.replaces_null()
        pattern = options.text("format", "")
        self._format = options.read("format", pattern, DateFormat.read, None) if pattern.strip() else None
        if self._target == "string" and not pattern.strip():
            options.refuse("format", "is missing, and texts need one. Write a pattern such as yyyy-MM-dd.")
        self._schemas = Remembered(self._changed)

    def _plain(self, before: SchemaAndValue) -> SchemaAndValue:
        if before.value is None or not self._field:
            return plain(self._inferred(before.value))
        value = self._map(before.value)
        return plain({**value, self._field: self._inferred(value.get(self._field))})

    def _with_schema(self, schema: Schema, value: Any) -> SchemaAndValue:
        if not self._field:
            source = _source(schema)
            done = None if value is None else self._converted(source, value)
            return SchemaAndValue(self._schema(schema), done)
        found = None if value is None else self._struct(value)
        changed = self._schemas.of(schema)
        return SchemaAndValue(changed, None if found is None else struct(changed, self._values(found)))

    def _values(self, value: Any) -> list[tuple[str, Any]]:
        values = []
        for field, inner in contents(value, default=self._default):
            if field.name == self._field:
                source = _source(field.schema)
                inner = None if inner is None else self._converted(source, inner)
            values.append((field.name, inner))
        return values

    def _schema(self, schema: Schema) -> Schema:
        return _OPTIONAL[self._target] if schema.optional else _TARGETS[self._target]

    def _changed(self, schema: Schema) -> Schema:
        if schema.type is not Type.STRUCT:
            raise CannotTransform(f"{self.purpose} takes structs only, and the schema is one of {schema.type}")
        fields = (
            (each.name, self._schema(each.schema) if each.name == self._field else each.schema)
            for each in schema.fields
        )
        done = replace(struct_schema(fields, schema), optional=schema.optional)
        return done if schema.default is None else with_default(done, struct(done, self._values(schema.default)))

    def _inferred(self, value: Any) -> Any:
        """What becomes of a value without a schema."""
        value = plain_number(value)
        if value is None:
            return None
        kind = "Timestamp" if isinstance(value, Moment) else _SOURCES.get(type_of(value))
        if kind is None:
            raise CannotTransform(f"{described(value)} is not a timestamp")
        return self._converted(kind, value)

    def _converted(self, source: str, value: Any) -> Any:
        return _MAKE[self._target](self, self._read(source, value))

    def _read(self, source: str, value: Any) -> int:
        """A value in ms since the epoch."""
        if source == "unix":
            times, divided = _TO_MILLIS[self._precision]
            return _saturated(_quotient(value * times, divided))
        if source != "string":
            return int(value.millis)
        if self._format is None:
            raise CannotTransform("a text cannot be read as a timestamp without the option format")
        try:
            return self._format.millis(value)
        except ValueError as error:
            raise CannotTransform(f"{value!r} does not match the format: {error}") from error

    def _text(self, millis: int) -> str:
        if self._format is None:
            raise CannotTransform("a timestamp cannot be written as a text without the option format")
        return self._format.text(millis)

    def _unix(self, millis: int) -> int:
        divided, times = _TO_MILLIS[self._precision]
        return _saturated(_quotient(millis, divided) * times)


_SOURCES: Final[dict[Type | None, str]] = {Type.INT64: "unix", Type.STRING: "string"}
_MAKE: Final[dict[str, Callable[[TimestampConverter, int], Any]]] = {
    "string": TimestampConverter._text,  # noqa: SLF001 (its own)
    "unix": TimestampConverter._unix,  # noqa: SLF001 (its own)
    "Date": lambda _, millis: Moment(millis - millis % DAY),
    "Time": lambda _, millis: Moment(millis % DAY),
    "Timestamp": lambda _, millis: Moment(millis),
}


def _source(schema: Schema) -> str:
    """What a schema says of a timestamp.

    Raises:
        CannotTransform: no timestamps are of it.
    """
    is_logical = schema.name in _NAMES
    found = _LOGICAL.get((schema.name, schema.type)) if is_logical else _SOURCES.get(schema.type)
    if found is None:
        name = f" with the name {schema.name!r}" if schema.name else ""
        raise CannotTransform(f"a value of type {schema.type}{name} is not a timestamp")
    return found


def _quotient(number: int, divided: int) -> int:
    """Rounded towards zero."""
    return number // divided if number >= 0 else -(-number // divided)


def _saturated(number: int) -> int:
    return max(-_LAST - 1, min(_LAST, number))
