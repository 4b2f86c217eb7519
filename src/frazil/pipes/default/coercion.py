"""What fits which type: the exact tier's rules for one value (spec 4.3).

A value that fits is returned as JSON text in the one form that the fast statement reads exactly.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final
from zoneinfo import ZoneInfo

from frazil.model import LONGEST, Column, Conversion, IcebergType, ListType, MapType, Primitive, StructType
from frazil.pipes.default import numbers, times
from frazil.pipes.default.exact_json import (
    CoercionError,
    Number,
    Object,
    Twice,
    is_text,
    parse,
    raw,
    shown,
    string,
    unique,
    wrong_kind,
)
from frazil.pipes.naming import folded
from frazil.pipes.types import fixed_length
from frazil.records.text import java_trim
from frazil.records.variant import MARK, is_kept_from_json, kept, marked

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_HEXADECIMAL: Final = re.compile(r"([0-9a-fA-F]{2})*")


class Coercion:
    """The rules as one connector has configured them."""

    def __init__(self, conversion: Conversion, *, writes_base64: bool = False) -> None:
        """Take values as `conversion` says.

        Args:
            conversion: the connector's.
            writes_base64: whether the statement that reads what comes of it takes bytes in base64, rather than in
                hexadecimal digits.
        """
        self._rounds = conversion.numbers == "round"
        self._zone = ZoneInfo(conversion.time_zone)
        self._opens_texts = conversion.validation == "client_side"
        self._is_base64 = conversion.binary == "base64"
        self._writes_base64 = writes_base64
        # Iceberg writes bytes in hexadecimal digits, whatever records do.
        of_table = replace(conversion, binary="hex")
        self._of_table = Coercion(of_table, writes_base64=writes_base64) if self._is_base64 else self
        self.strays: list[tuple[str, Any]] = []
        """Values of keys within structs that no field has, by dotted path; cleared for each record."""

    def text(self, kind: IcebergType, value: Any, path: str) -> str:
        """The value as JSON text that the fast statement reads exactly as `kind`; `path` is for people.

        Raises:
            CoercionError: it does not fit; the message says why.
        """
        if value is None:
            return "null"
        match kind:
            case Primitive():
                return self._scalar(kind, value)
            case StructType(fields=fields):
                return self._struct(fields, value, path)
            case ListType():
                return self._list(kind, value, path)
            case MapType():
                return self._map(kind, value, path)

    def column(self, kind: IcebergType, value: Any, path: str) -> str:
        """The same for the value of a column itself, whose texts may stand for JSON (spec 4.3).

        Raises:
            CoercionError: it does not fit; the message says why.
        """
        return self.text(kind, opened(kind, value) if self._opens_texts else value, path)

    def default(self, column: Column) -> str:
        """The text of a column's or field's default, which fills a key that is absent; `null` without one."""
        return self._of_table.text(column.type, parse(column.default or "null"), column.name)

    def _scalar(self, kind: Primitive, value: Any) -> str:
        match kind.name:
            case "string":
                return _text(value)
            case "int" | "long":
                return numbers.whole(kind.name, value, rounds=self._rounds)
            case "float" | "double":
                return numbers.floating(kind.name, value)
            case "decimal":
                return numbers.decimal(kind, value, rounds=self._rounds)
            case "boolean":
                return numbers.boolean(value)
            case "date" | "time" | "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
                return string(self._time(kind.name, value))
            case "uuid":
                return _uuid(value)
            case "binary":
                return self._binary(value)
            case "variant":
                return _variant(value)
            case _ if (length := fixed_length(kind)) is not None:
                return self._fixed(value, length)
            case _:
                raise CoercionError(f"columns of type {kind} cannot be written")

    def _binary(self, value: Any) -> str:
        return self._written(self._bytes(value))

    def _fixed(self, value: Any, length: int) -> str:
        found = self._bytes(value)
        if len(found) != length:
            form = f"in base64, of {length} bytes" if self._is_base64 else f"of {2 * length} hexadecimal digits"
            raise CoercionError(f"{shown(value)} is not text {form}")
        return self._written(found)

    def _bytes(self, value: Any) -> bytes:
        return _from_base64(value) if self._is_base64 else _from_hexadecimal(value)

    def _written(self, value: bytes) -> str:
        return f'"{base64.b64encode(value).decode() if self._writes_base64 else value.hex()}"'

    def _time(self, name: times.TimeType, value: Any) -> str:
        try:
            if isinstance(value, Number):
                if not value.lstrip("-").isdigit():
                    raise CoercionError("a number with a fraction is not a moment")
                return times.of_number(name, int(value[:40]), rounds=self._rounds)
            if is_text(value):
                return times.canonical(name, value, self._zone, rounds=self._rounds)
        except CoercionError as error:
            raise CoercionError(f"{shown(value)} does not fit a column of type {name}: {error}") from error
        raise wrong_kind(value, name)

    def _struct(self, fields: Sequence[Column], value: Any, path: str) -> str:
        if not isinstance(value, Object):
            raise wrong_kind(value, "struct")
        names = {folded(field.name): field for field in fields}
        members: dict[str, str] = {}
        for key, member in _unique_members(self._known(names, value, path)):
            field = next((each for each in fields if each.name == key), names[folded(key)])
            if members.get(field.name, "null") != "null" and member is not None:
                raise CoercionError(f"two keys equal to {field.name} ignoring case both have a value")
            if field.name not in members or member is not None:
                members[field.name] = self._within(field.name, field.type, member, f"{path}.{field.name}")
        for field in fields:
            members.setdefault(field.name, self.default(field))
            if field.required and members[field.name] == "null":
                raise CoercionError(f"the field {field.name} must not be NULL")
        # Every field is written, so that the record has the form the strict reader asks for.
        return "{" + ", ".join(f"{string(field.name)}: {members[field.name]}" for field in fields) + "}"

    def _known(self, names: dict[str, Column], value: Object, path: str) -> Object:
        known = Object()
        for key, member in value:
            if folded(key) in names:
                known.append((key, member))
            else:
                self.strays.append((f"{path}.{key}", member))
        return known

    def _list(self, kind: ListType, value: Any, path: str) -> str:
        if isinstance(value, Object) or not isinstance(value, list):
            raise wrong_kind(value, "list")
        if kind.element_required and any(item is None for item in value):
            raise CoercionError("an element of the list is null and must not be")
        items = (self._within(f"[{index}]", kind.element, item, path) for index, item in enumerate(value))
        return "[" + ", ".join(items) + "]"

    def _map(self, kind: MapType, value: Any, path: str) -> str:
        members: dict[str, str] = {}
        for key, member in _pairs(value):
            if key is None:
                raise CoercionError("a key of the map is null")
            if member is None and kind.value_required:
                raise CoercionError(f"the value of {shown(key)} is null and must not be")
            name = _key(kind.key, self._within(f"the key {shown(key)}", kind.key, key, path))
            if name in members:
                raise CoercionError(f"the key {shown(key)} appears twice")
            members[name] = self._within(f"[{shown(key)}]", kind.value, member, path)
        return "{" + ", ".join(f"{key}: {text}" for key, text in members.items()) + "}"

    def _within(self, where: str, kind: IcebergType, value: Any, path: str) -> str:
        try:
            return self.text(kind, value, path)
        except CoercionError as error:
            raise CoercionError(f"{where}: {error}") from error


def _text(value: Any) -> str:
    if isinstance(value, Number):
        return string(numbers.plain(value))
    if isinstance(value, str):
        return string(value)
    if isinstance(value, bool):
        return '"true"' if value else '"false"'
    return string(raw(value))


def _uuid(value: Any) -> str:
    if not is_text(value) or not _UUID.fullmatch(value):
        raise wrong_kind(value, "uuid")
    return f'"{uuid.UUID(value)}"'


def _from_hexadecimal(value: Any) -> bytes:
    text = java_trim(value) if is_text(value) else None
    if text is None or not _HEXADECIMAL.fullmatch(text):
        raise CoercionError(f"{shown(value)} is not text of pairs of hexadecimal digits")
    return bytes.fromhex(text)


def _from_base64(value: Any) -> bytes:
    """Only the one text that base64 has for some bytes is taken."""
    try:
        found = base64.b64decode(value, validate=True) if is_text(value) else None
    except ValueError:
        found = None
    if found is None or base64.b64encode(found).decode() != value:
        raise CoercionError(f"{shown(value)} is not text in base64")
    return found


def _variant(value: Any) -> str:
    text = raw(value)
    by_bytes = is_text(value) and value.startswith(MARK)
    for each in _scalars_and_objects(value):
        if isinstance(each, Number) and not is_kept_from_json(each):
            if kept(each) is None:
                raise CoercionError(f"the number {shown(each)} is more than a VARIANT keeps exactly")
            by_bytes = True
        if isinstance(each, Object) and len({key for key, _ in each}) < len(each):
            raise CoercionError("an object within the VARIANT has a key twice")
    return marked(text) if by_bytes else text


def _scalars_and_objects(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        match found:
            case Object():
                yield found
                waiting.extend(member for _, member in found)
            case list():
                waiting.extend(found)
            case _:
                yield found


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    """The entries of a map: an object's members, or an array of pairs (spec 4.1)."""
    if isinstance(value, Object):
        return list(value)
    if isinstance(value, list) and all(_is_pair(entry) for entry in value):
        return [(key, member) for key, member in value]
    raise wrong_kind(value, "map")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, Object) and len(value) == 2


def _key(kind: IcebergType, text: str) -> str:
    """A key of a map as a JSON string, the same one for all equal keys."""
    bare = text if text.startswith('"') else f'"{text}"'
    return f'"{numbers.shortest(str(kind), bare[1:-1])}"' if str(kind) in ("float", "double") else bare


def _unique_members(value: Object) -> list[tuple[str, Any]]:
    try:
        return unique(value)
    except Twice as twice:
        raise CoercionError(f"{twice.key}: {twice}") from twice


def opened(kind: IcebergType, value: Any) -> Any:
    """The value that a column's text stands for as JSON, where its type asks for some; other values as they are.

    A list takes anything: what is none becomes its only element.

    Raises:
        CoercionError: the text is not JSON, or that of something that the type does not take.
    """
    match kind:
        case Primitive(name="variant"):
            return _parsed(value, "variant") if is_text(value) else value
        case ListType():
            found = _parsed(value, "list") if is_text(value) else value
            if value is None or (isinstance(found, list) and not isinstance(found, Object)):
                return found
            return [found]
        case StructType() | MapType() if is_text(value):
            found = _parsed(value, "struct" if isinstance(kind, StructType) else "map")
            if not isinstance(found, Object):
                raise CoercionError(f"{shown(value)} is not the text of an object, which a column of that type takes")
            return found
        case _:
            return value


def _parsed(text: str, name: str) -> Any:
    """What a text says as JSON; a blank one says nothing."""
    trimmed = java_trim(text)
    if not trimmed:
        return None
    try:
        return parse(trimmed)
    except CoercionError as error:
        raise CoercionError(
            f"{shown(text)} is not valid JSON, which snowflake.validation=client_side asks of texts in a column of "
            f"type {name}"
        ) from error


def within_length(text: str, column: Column, *, in_base64: bool) -> str:
    """A column's value as it was coerced, with its bytes in base64 or not, if it is no longer than the column allows.

    Raises:
        CoercionError: it is longer.
    """
    longest = LONGEST.get(str(column.type), 0) if column.length is None else column.length
    # A character of JSON text stands for four bytes at most, and is never less than one of the value.
    if not longest or text == "null" or 4 * len(text) <= longest:
        return text
    value: str = json.loads(text)
    if column.type != Primitive("string"):
        count, unit = len(base64.b64decode(value) if in_base64 else value) // (1 if in_base64 else 2), "bytes"
    elif column.length is None:
        count, unit = len(value.encode()), "bytes"
    else:
        count, unit = len(value), "characters"
    if count > longest:
        raise CoercionError(f"{shown(value)} has {count} {unit}, and the column takes {longest}")
    return text
