"""Which groups of a Parquet file are VARIANTs, told in its footer, where Arrow does not tell it.

The footer is a Thrift struct in the compact protocol: its second field is the list of schema elements, and an element's
ninth field is the field id, its tenth the logical type. Nothing in a file points into its footer, so that what is put
there moves nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

_MAGIC: Final = b"PAR1"
_LENGTH: Final = 4
_SCHEMA: Final = 2
_FIELD_ID: Final = 9
_LOGICAL_TYPE: Final = 10

_VARIANT: Final = bytes([0x0C, 32, 0x13, 1, 0, 0])
"""A union whose member 16 is a struct, whose first field is the byte 1: the version of the VARIANT specification."""


class _Kind(IntEnum):
    """Types of values in the compact protocol, as far as schema elements have them."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    SHORT = 4
    INTEGER = 5
    LONG = 6
    TEXT = 8
    STRUCT = 12


_LONG_LIST: Final = 15
"""What stands for a length that does not fit in half a byte."""


def annotate_variants(path: Path, field_ids: AbstractSet[int]) -> None:
    """Have the footer of a file say that the groups with these field ids are VARIANTs.

    Raises:
        ValueError: the file has not a group without a logical type for each of them.
    """
    with path.open("r+b") as file:
        file.seek(-_LENGTH - len(_MAGIC), 2)
        length = int.from_bytes(file.read(_LENGTH), "little")
        start = file.seek(-_LENGTH - len(_MAGIC) - length, 2)
        footer = annotated(file.read(length), field_ids)
        file.seek(start)
        file.write(footer + len(footer).to_bytes(_LENGTH, "little") + _MAGIC)


def annotated(footer: bytes, field_ids: AbstractSet[int]) -> bytes:
    """A footer in which the elements with these field ids are VARIANTs.

    Raises:
        ValueError: it has not an element without a logical type for each of them.
    """
    reader = _Reader(footer)
    parts, done, missing = [], 0, set(field_ids)
    for element in reader.schema():
        if element.field_id in missing and element.last < _LOGICAL_TYPE:
            missing.remove(element.field_id)
            header = (_LOGICAL_TYPE - element.last) << 4 | _Kind.STRUCT
            parts += [footer[done : element.stop], bytes([header]), _VARIANT]
            done = element.stop
    if missing:
        raise ValueError(f"no group without a logical type has the field ids {sorted(missing)}")
    return b"".join([*parts, footer[done:]])


@dataclass(frozen=True, slots=True)
class _Element:
    field_id: int | None
    last: int
    """The number of its last field."""

    stop: int
    """Where its fields end."""


class _Reader:
    """A place in a footer."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def schema(self) -> Iterator[_Element]:
        """The elements of the schema, depth first."""
        for number, kind in self._fields():
            if number == _SCHEMA:
                break
            self._skip(kind)
        size = self._byte() >> 4
        for _ in range(self._whole() if size == _LONG_LIST else size):
            yield self._element()

    def _element(self) -> _Element:
        field_id, last = None, 0
        for number, kind in self._fields():
            last = number
            if number == _FIELD_ID:
                field_id = self._signed()
            else:
                self._skip(kind)
        return _Element(field_id, last, self._at - 1)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """The numbers and types of a struct's fields; whoever asks for the next has read or skipped the one before."""
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._signed()
            yield number, byte & 0xF

    def _skip(self, kind: int) -> None:
        match kind:
            case _Kind.TRUE | _Kind.FALSE:
                pass
            case _Kind.BYTE:
                self._byte()
            case _Kind.SHORT | _Kind.INTEGER | _Kind.LONG:
                self._whole()
            case _Kind.TEXT:
                # The length comes first, and is read before the place is.
                length = self._whole()
                self._at += length
            case _Kind.STRUCT:
                for _, inner in self._fields():
                    self._skip(inner)
            case _:
                raise ValueError(f"a schema element has a value of the type {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _whole(self) -> int:
        number, bits = 0, 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << bits
            bits += 7
        return number | byte << bits

    def _signed(self) -> int:
        number = self._whole()
        return number >> 1 ^ -(number & 1)
