"""Records as the JSON that `Driver.java` reads and writes: schemas with all they say, values with the classes they are of."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from frazil.records.connect.data import Moment, Number, Record, Schema, SchemaAndValue, Struct, Type
from frazil.records.smt.kinds import BITS, INTEGERS, Float32, exact_single, plain, type_of

NAN: Final = "7ff8000000000000"
_FRACTION: Final = re.compile(r"-?[0-9]+\.[0-9]+(E-?[0-9]+)?")


def encoded(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": both(record.key),
        "value": both(record.value),
        "headers": [{"name": each.name, "content": both(each.content)} for each in record.headers],
    }


def both(content: SchemaAndValue) -> dict[str, Any]:
    return {"schema": schema(content.schema), "value": value(content.value, content.schema)}


def schema(given: Schema | None) -> dict[str, Any] | None:
    if given is None:
        return None
    return {
        "type": str(given.type),
        "optional": given.optional,
        "default": _default(given),
        "name": given.name,
        "version": given.version,
        "doc": given.doc,
        "parameters": dict(given.parameters),
        "fields": [{"name": each.name, "schema": schema(each.schema)} for each in given.fields],
        "key": schema(given.key),
        "value": schema(given.value),
    }


def _default(given: Schema) -> list[Any] | None:
    """A default; that of a struct goes without the schema it stands in."""
    done = value(given.default, given)
    return [done[0], None, *done[2:]] if done and given.type is Type.STRUCT else done


def value(given: Any, of: Schema | None) -> list[Any] | None:
    """A value with its class, which the schema says where the value does not."""
    match given:
        case None:
            return None
        case Moment():
            return ["date", str(given.millis)]
        case Decimal():
            sign, digits, exponent = given.as_tuple()
            assert isinstance(exponent, int)
            return ["decimal", f"{'-' if sign and any(digits) else ''}{int(''.join(map(str, digits)))}", -exponent]
        case Struct():
            fields = [[each.name, value(given.values.get(each.name), each.schema)] for each in given.schema.fields]
            return ["struct", schema(given.schema), fields]
        case Number():
            return value(plain(given), of)
        case dict():
            return ["map", [*_entries([*given.items()], of)]]
        case list() if (of and of.type is Type.MAP) or (given and isinstance(given[0], tuple)):
            return ["map", [*_entries(given, of)]]
        case list():
            return ["array", [value(each, None if of is None else of.value) for each in given]]
        case bytes():
            return ["bytes", base64.b64encode(given).decode()]
    return _scalar(given, of)


def _scalar(given: Any, of: Schema | None) -> list[Any]:
    if isinstance(given, bool):
        return ["boolean", str(given).lower()]
    if isinstance(given, float):
        kind = Type.FLOAT32 if isinstance(given, Float32) or (of and of.type is Type.FLOAT32) else Type.FLOAT64
        return [str(kind), NAN if given != given else struct.pack(">d", given).hex().lstrip("0") or "0"]
    if isinstance(given, int):
        is_marked = any(type(given) is made for kind, made in INTEGERS.items() if kind is not Type.INT64)
        return [str(of.type if of and of.type in BITS and not is_marked else type_of(given)), str(int(given))]
    return ["string", given]


def _entries(entries: list[tuple[Any, Any]], of: Schema | None) -> Iterator[list[Any]]:
    for key, each in entries:
        yield [value(key, of and of.key), value(each, of and of.value)]


def comparable(encoded: Any) -> Any:
    """The same with the entries of maps in one order, for Java's have none.

    Of a struct's own schema its default and whether it is optional do not count: a default is one of neither.
    """
    if isinstance(encoded, list):
        done = [comparable(each) for each in encoded]
        if len(done) == 2 and done[0] == "map" and isinstance(done[1], list):
            return ["map", sorted(done[1], key=json.dumps)]
        if done and done[0] == "struct" and isinstance(done[1], dict):
            return ["struct", {**done[1], "default": None, "optional": None}, *done[2:]]
        return done
    if isinstance(encoded, dict):
        return {key: comparable(each) for key, each in encoded.items()}
    return encoded


def loose(encoded: Any) -> Any:
    """The same without how many bits numbers have, and what is empty.

    Within arrays and maps of a literal not all values are what the schema says; then frazil's do not tell.
    """
    if isinstance(encoded, list):
        is_number = len(encoded) == 2 and encoded[0] in (*BITS, Type.FLOAT32, Type.FLOAT64)
        if encoded in (["array", []], ["map", []]):
            return ["empty"]
        return ["number", encoded[1]] if is_number else [loose(each) for each in encoded]
    if isinstance(encoded, dict):
        return {key: loose(each) for key, each in encoded.items()}
    return encoded


def alike(ours: Any, theirs: Any) -> bool:
    """Whether two are the same, but for digits that Java writes of a number before its version 19 and needs not."""
    if isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) == len(theirs) == 2 and ours[0] == theirs[0] == "string":
            return ours == theirs or shorter(ours[1], theirs[1])
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(alike(ours[key], theirs[key]) for key in ours)
    return bool(ours == theirs)


def shorter(text: str, than: str) -> bool:
    """Whether two texts are of one number, and the first is the shorter."""
    if not (_FRACTION.fullmatch(text) and _FRACTION.fullmatch(than)) or len(text) > len(than):
        return False
    return float(text) == float(than) or exact_single(text) == exact_single(than)
