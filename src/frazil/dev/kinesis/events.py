"""Messages of AWS's event streams: a prelude with lengths, headers, a payload, and checksums of prelude and message."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from frazil.dev.kinesis.failures import Refused
from frazil.dev.kinesis.protocol import CONTENT_TYPE

STREAM_TYPE: Final = "application/vnd.amazon.eventstream"

_STRING: Final = 7
"""The type of a header's value."""


def initial_response() -> bytes:
    """The message that every answer begins with; clients wait for it."""
    return _message({":message-type": "event", ":event-type": "initial-response", ":content-type": CONTENT_TYPE}, {})


def event(kind: str, members: Mapping[str, Any]) -> bytes:
    """An event of the answer."""
    return _message({":message-type": "event", ":event-type": kind, ":content-type": CONTENT_TYPE}, members)


def exception(refused: Refused) -> bytes:
    """An error that ends the stream of events."""
    headers = {":message-type": "exception", ":exception-type": refused.code, ":content-type": CONTENT_TYPE}
    return _message(headers, {"message": refused.message})


def _message(headers: Mapping[str, str], members: Mapping[str, Any]) -> bytes:
    head = b"".join(_header(name, value) for name, value in headers.items())
    payload = orjson.dumps(members)
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    written, text = name.encode(), value.encode()
    return struct.pack(">B", len(written)) + written + struct.pack(">BH", _STRING, len(text)) + text
