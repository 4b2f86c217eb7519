"""Read requests by botocore's model of the API: types, and the constraints of each member.

Each shape is turned once into a function that reads values of it: PutRecords has hundreds of them in a request.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from frazil.dev.kinesis.failures import Refused, validation

Read = Callable[[Any, str, list[str]], Any]
"""Gives a value as Python has it; takes the value in JSON, where it is, and the list that broken constraints go to."""


@cache
def model() -> ServiceModel:
    """The API as botocore has it."""
    return ServiceModel(Loader().load_service_model("kinesis", "service-2"))


def request(operation: OperationModel, document: Any) -> dict[str, Any]:
    """Read a request: blobs become bytes, timestamps seconds; members the model does not have are left out.

    Raises:
        Refused: it is not of the model's types, or breaks its constraints.
    """
    if operation.input_shape is None:
        return {}
    problems: list[str] = []
    read: dict[str, Any] = _reader(operation.name)(document, "", problems)
    if problems:
        raise validation(*problems)
    return read


@cache
def _reader(operation: str) -> Read:
    return _of(model().operation_model(operation).input_shape)


def _of(shape: Shape | None) -> Read:
    match shape:
        case StructureShape():
            return _structure(shape)
        case ListShape():
            return _list(shape)
        case MapShape():
            return _map(shape)
        case None:
            raise AssertionError
        case _:
            return _SCALARS[shape.type_name](shape)


def _structure(shape: StructureShape) -> Read:
    members = [(name, _of(member), name in shape.required_members) for name, member in shape.members.items()]

    def read(value: Any, path: str, problems: list[str]) -> dict[str, Any]:
        if type(value) is not dict:
            raise _unreadable(value, path)
        found = {}
        for name, member, required in members:
            given = value.get(name)
            if given is not None:
                found[name] = member(given, f"{path}.{name}" if path else name, problems)
            elif required:
                problems.append(_problem("null", f"{path}.{name}" if path else name, "Member must not be null"))
        return found

    return read


def _list(shape: ListShape) -> Read:
    member = _of(shape.member)
    within = _length(shape)

    def read(value: Any, path: str, problems: list[str]) -> list[Any]:
        if type(value) is not list:
            raise _unreadable(value, path)
        within(value, path, problems)
        return [member(each, f"{path}.{index}.member", problems) for index, each in enumerate(value, 1)]

    return read


def _map(shape: MapShape) -> Read:
    key, member = _of(shape.key), _of(shape.value)
    within = _length(shape)

    def read(value: Any, path: str, problems: list[str]) -> dict[str, Any]:
        if type(value) is not dict:
            raise _unreadable(value, path)
        within(value, path, problems)
        return {
            key(name, path, problems): member(each, f"{path}.{name}.member", problems) for name, each in value.items()
        }

    return read


def _string(shape: Shape) -> Read:
    within = _length(shape)
    pattern = re.compile(shape.metadata["pattern"]) if "pattern" in shape.metadata else None
    allowed = shape.metadata.get("enum")

    def read(value: Any, path: str, problems: list[str]) -> str:
        if type(value) is not str:
            raise _unreadable(value, path)
        within(value, path, problems)
        if pattern is not None and not pattern.fullmatch(value):
            problems.append(_problem(value, path, f"Member must satisfy regular expression pattern: {pattern.pattern}"))
        if allowed and value not in allowed:
            problems.append(_problem(value, path, f"Member must satisfy enum value set: [{', '.join(allowed)}]"))
        return value

    return read


def _blob(shape: Shape) -> Read:
    within = _length(shape)

    def read(value: Any, path: str, problems: list[str]) -> bytes:
        try:
            read = binascii.a2b_base64(value, strict_mode=True)
        except (binascii.Error, TypeError, ValueError):
            raise _unreadable("a blob that is not base64", path) from None
        within(read, path, problems)
        return read

    return read


def _integer(shape: Shape) -> Read:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")

    def read(value: Any, path: str, problems: list[str]) -> int:
        if type(value) is not int:
            raise _unreadable(value, path)
        if least is not None and value < least:
            problems.append(_problem(value, path, f"Member must have value greater than or equal to {least}"))
        if most is not None and value > most:
            problems.append(_problem(value, path, f"Member must have value less than or equal to {most}"))
        return value

    return read


def _timestamp(_: Shape) -> Read:
    def read(value: Any, path: str, _: list[str]) -> float:
        if type(value) not in (int, float):
            raise _unreadable(value, path)
        return float(value)

    return read


def _boolean(_: Shape) -> Read:
    def read(value: Any, path: str, _: list[str]) -> bool:
        if type(value) is not bool:
            raise _unreadable(value, path)
        return value

    return read


_SCALARS: Final[dict[str, Callable[[Shape], Read]]] = {
    "string": _string,
    "blob": _blob,
    "integer": _integer,
    "long": _integer,
    "timestamp": _timestamp,
    "boolean": _boolean,
}


def _length(shape: Shape) -> Callable[[Any, str, list[str]], None]:
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max")

    def within(value: Any, path: str, problems: list[str]) -> None:
        if len(value) < least:
            problems.append(_problem(value, path, f"Member must have length greater than or equal to {least}"))
        if most is not None and len(value) > most:
            problems.append(_problem(value, path, f"Member must have length less than or equal to {most}"))

    return within


def _problem(value: Any, path: str, constraint: str) -> str:
    shown = repr(value) if len(value if isinstance(value, (str, bytes, list, dict)) else "") <= 100 else "…"
    return f"Value {shown} at '{path}' failed to satisfy constraint: {constraint}"


def _unreadable(value: Any, path: str) -> Refused:
    return Refused("SerializationException", f"{path or 'The request'} cannot be read from {str(value)[:100]!r}")
