"""Records as no client writes them: straight into the broker, in Kafka's own protocol (a produce request, version 3)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Sequence

Header = tuple[bytes, bytes | None]


def produce_raw(
    bootstrap: str, topic: str, records: Sequence[tuple[bytes | None, bytes | None, Sequence[Header]]], timestamp: int
) -> None:
    """Append records, each a key, a value and headers, to partition 0."""
    data = _batch([_record(number, *each) for number, each in enumerate(records)], timestamp)
    body = struct.pack(">hhii", -1, -1, 10_000, 1) + _text(topic) + struct.pack(">iii", 1, 0, len(data)) + data
    request = struct.pack(">hhi", 0, 3, 1) + _text("raw") + body
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = answers.read(struct.unpack(">i", answers.read(4))[0])
    (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(topic) + 4 + 4)
    assert error == 0, f"the broker refuses the records: error {error}"


def _batch(records: Sequence[bytes], timestamp: int) -> bytes:
    fixed = struct.pack(">hiqqqhii", 0, len(records) - 1, timestamp, timestamp, -1, -1, -1, len(records))
    rest = fixed + b"".join(records)
    summed = struct.pack(">ibI", -1, 2, _crc32c(rest)) + rest
    return struct.pack(">qi", 0, len(summed)) + summed


def _record(number: int, key: bytes | None, value: bytes | None, headers: Iterable[Header]) -> bytes:
    named = [_counted(name) + _counted(given) for name, given in headers]
    body = (
        b"\0" + _varint(0) + _varint(number) + _counted(key) + _counted(value) + _varint(len(named)) + b"".join(named)
    )
    return _varint(len(body)) + body


def _counted(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*written, rest])


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _crc32c(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF
