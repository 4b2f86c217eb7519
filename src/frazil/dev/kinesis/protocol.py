"""JSON 1.1 as AWS speaks it: which operation a request asks for, and how answers and errors are written."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Final

import orjson

from frazil.dev.kinesis import shapes
from frazil.dev.kinesis.failures import Refused

CONTENT_TYPE: Final = "application/x-amz-json-1.1"

_TARGET: Final = "Kinesis_20131202."

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for."""

    operation: str
    input: dict[str, Any]
    """Read by the API's model."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client is told."""

    status: int
    headers: Headers
    body: bytes


def read(headers: Mapping[bytes, bytes], body: bytes) -> Request:
    """Read a request.

    Raises:
        Refused: it is none, or none that this service carries out.
    """
    target = headers.get(b"x-amz-target", b"").decode("latin-1")
    if headers.get(b"content-type", b"").split(b";")[0].strip() != CONTENT_TYPE.encode():
        raise Refused(
            "UnknownOperationException",
            f"Only {CONTENT_TYPE} is spoken here; clients in Java speak CBOR unless CBOR_ENABLED=false is in their "
            "environment.",
            404,
        )
    operation = target.removeprefix(_TARGET)
    if operation == target or operation not in shapes.model().operation_names:
        raise Refused("UnknownOperationException", f"{target or 'A request without X-Amz-Target'} is no operation.")
    try:
        document = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise Refused("SerializationException", str(error)) from None
    return Request(operation, shapes.request(shapes.model().operation_model(operation), document))


def answer(result: Mapping[str, Any] | None, now: float) -> Answer:
    """An operation's result."""
    body = b"" if result is None else orjson.dumps(result)
    return Answer(200, headers(now, CONTENT_TYPE, length=len(body)), body)


def error(refused: Refused, now: float) -> Answer:
    """An error, named in a header and in the body."""
    body = orjson.dumps({"__type": refused.code, "message": refused.message})
    named = (b"x-amzn-errortype", refused.code.encode())
    return Answer(refused.status, [*headers(now, CONTENT_TYPE, length=len(body)), named], body)


def headers(now: float, content_type: str, length: int | None = None) -> Headers:
    """What every answer begins with; `now` is the engine's time, which clients pin positions to."""
    given = [
        (b"x-amzn-requestid", str(uuid.uuid4()).encode()),
        (b"date", formatdate(now, usegmt=True).encode()),
        (b"content-type", content_type.encode()),
    ]
    return given if length is None else [*given, (b"content-length", str(length).encode())]
