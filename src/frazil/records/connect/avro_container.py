"""Avro's container files in memory: blocks of records, perhaps compressed, whose few bytes may not make gigabytes."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import fastavro
import pyarrow as pa

from frazil.records.connect.avro import MISREAD
from frazil.records.connect.unreadable import Unreadable, shown

MAGIC: Final = b"Obj\x01"
MOST_BYTES: Final = 64 << 20
"""That the blocks of one file may have when they are decompressed."""

_SYNC: Final = 16
_CHECKSUM: Final = 4
_STEP: Final = 1 << 20
_META: Final = fastavro.parse_schema({"type": "map", "values": "bytes"})
_LONG: Final = fastavro.parse_schema("long")


class Container(NamedTuple):
    """A container file, opened."""

    schema: str
    codec: str
    sync: bytes
    stream: io.BytesIO
    """Where its blocks begin."""


class Block(NamedTuple):
    """Some records, decompressed."""

    records: int
    data: bytes


def opened(data: bytes) -> Container:
    """The head of a container file.

    Raises:
        Unreadable: it is none.
    """
    if not data.startswith(MAGIC):
        raise Unreadable(f"is no Avro file, which begins with 'Obj' and the byte 01: {shown(data[:20])}")
    stream = io.BytesIO(data)
    stream.seek(len(MAGIC))
    meta = _next(stream, _META)
    sync = stream.read(_SYNC)
    try:
        schema, codec = meta["avro.schema"].decode(), meta.get("avro.codec", b"null").decode()
    except (KeyError, UnicodeDecodeError) as error:
        raise Unreadable("is an Avro file without a schema in its head") from error
    if len(sync) < _SYNC:
        raise Unreadable("is no Avro file: it is cut off")
    if codec not in _CODECS:
        raise Unreadable(f"is an Avro file that is compressed with {shown(codec)}, and not with {', '.join(_CODECS)}")
    return Container(schema, codec, sync, stream)


def blocks(container: Container) -> Iterator[Block]:
    """The blocks in their order.

    Raises:
        Unreadable: the file is damaged, or has more than its limits.
    """
    stream, left = container.stream, MOST_BYTES
    size = len(stream.getbuffer())
    while stream.tell() < size:
        count, length = _next(stream, _LONG), _next(stream, _LONG)
        if count < 0 or length < 0 or length > size - stream.tell():
            raise Unreadable("is no Avro file: it is cut off")
        data = _decompressed(container.codec, stream.read(length), left)
        left -= len(data)
        if stream.read(_SYNC) != container.sync:
            raise Unreadable("is an Avro file whose blocks do not end in its sync marker")
        yield Block(count, data)


def _next(stream: io.BytesIO, schema: Any) -> Any:
    try:
        return fastavro.schemaless_reader(stream, schema, None)
    except MISREAD as error:
        raise Unreadable(f"is no Avro file: {type(error).__name__}: {shown(str(error))}") from error


def _decompressed(codec: str, data: bytes, most: int) -> bytes:
    try:
        found = bytes(_CODECS[codec](data, most + 1))
    except Unreadable:
        raise
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise Unreadable(f"is an Avro file with a damaged block: {str(error)!r}") from error
    if len(found) > most:
        raise _too_big()
    return found


def _too_big() -> Unreadable:
    return Unreadable(f"is an Avro file of more than {MOST_BYTES} bytes when it is decompressed")


def _snappy(data: bytes, most: int) -> bytes:
    """The size stands in front, and a checksum behind."""
    size = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(_varint(data)))
    if size >= most:
        raise _too_big()
    found = bytes(pa.Codec("snappy").decompress(data[:-_CHECKSUM], decompressed_size=size, asbytes=True))
    if zlib.crc32(found).to_bytes(_CHECKSUM, "big") != data[-_CHECKSUM:]:
        raise ValueError("the checksum is another one")
    return found


def _varint(data: bytes) -> bytes:
    """The bytes of the number in front."""
    last = next((place for place, byte in enumerate(data[:5]) if byte < 0x80), 4)
    return data[: last + 1]


def _zstandard(data: bytes, most: int) -> bytes:
    found = bytearray()
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while len(found) < most and (more := stream.read(min(_STEP, most - len(found)))):
            found += more
    return bytes(found)


_CODECS: Final[dict[str, Any]] = {
    "null": lambda data, _: data,
    "deflate": lambda data, most: zlib.decompressobj(-15).decompress(data, most),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    "xz": lambda data, most: lzma.LZMADecompressor().decompress(data, most),
}
