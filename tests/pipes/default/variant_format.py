"""VARIANTs read by the letter of Parquet's specification, which is stricter than readers are, and by pyspark's reader."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, localcontext
from itertools import pairwise
from struct import unpack
from typing import Any

from pyspark.sql.variant_utils import VariantUtils


def decoded(metadata: bytes, value: bytes) -> Any:
    """What a VARIANT holds.

    Raises:
        AssertionError: it is not as the specification wants it, or pyspark reads something else.
    """
    with _room_for_many_levels(), localcontext(Context(prec=100)):
        found = _Document(metadata, value).read()
        assert VariantUtils.to_python(value, metadata) == found
    return found


class _Document:
    """One VARIANT."""

    def __init__(self, metadata: bytes, value: bytes) -> None:
        self._value = value
        assert metadata[0] & 0b111111 in (1, 0b010001), "version 1, perhaps sorted"
        size = (metadata[0] >> 6) + 1
        count = _number(metadata, 1, size)
        ends = _numbers(metadata, 1 + size, size, count + 1)
        names = metadata[1 + size * (count + 2) :]
        assert ends[0] == 0
        assert ends == sorted(ends)
        assert ends[-1] == len(names)
        self._names = [names[start:end] for start, end in pairwise(ends)]
        if metadata[0] & 0b010000:
            assert self._names == sorted(set(self._names))

    def read(self) -> Any:
        """The value, which ends where its bytes end."""
        found, end = self._at(0)
        assert end == len(self._value)
        return found

    def _at(self, start: int) -> tuple[Any, int]:
        kind, rest = self._value[start] & 0b11, self._value[start] >> 2
        match kind:
            case 0:
                return self._primitive(rest, start + 1)
            case 1:
                return self._text(start + 1, rest)
        assert not rest >> (5 if kind == 2 else 3), "unused bits are zero"
        is_large = rest >> (4 if kind == 2 else 2) & 1
        offset_size, id_size = (rest & 0b11) + 1, (rest >> 2 & 0b11) + 1
        count = _number(self._value, start + 1, 4 if is_large else 1)
        assert is_large == (count > 255)
        at = start + (5 if is_large else 2)
        names: list[bytes] = []
        if kind == 2:
            names = [self._names[number] for number in _numbers(self._value, at, id_size, count)]
            assert all(name < other for name, other in pairwise(names)), "names in the order of their bytes, each once"
            at += count * id_size
        offsets = _numbers(self._value, at, offset_size, count + 1)
        at += (count + 1) * offset_size
        found = []
        for offset, end in pairwise(offsets):
            member, ended = self._at(at + offset)
            assert ended == at + end, "values in the order of the names, and nothing between them"
            found.append(member)
        return (
            {name.decode(): each for name, each in zip(names, found, strict=True)} if kind == 2 else found,
            at + offsets[-1],
        )

    def _primitive(self, kind: int, at: int) -> tuple[Any, int]:
        match kind:
            case 0 | 1 | 2:
                return (None, True, False)[kind], at
            case 3 | 4 | 5 | 6:
                size = 2 ** (kind - 3)
                return int.from_bytes(self._value[at : at + size], "little", signed=True), at + size
            case 7:
                return unpack("<d", self._value[at : at + 8])[0], at + 8
            case 8 | 9 | 10:
                return self._decimal(at, size=2 ** (kind - 6), most={8: 9, 9: 18, 10: 38}[kind])
            case 16:
                return self._text(at + 4, _number(self._value, at, 4))
        raise AssertionError(f"JSON has nothing that is of type {kind}")

    def _decimal(self, at: int, size: int, most: int) -> tuple[Decimal, int]:
        scale, unscaled = self._value[at], int.from_bytes(self._value[at + 1 : at + 1 + size], "little", signed=True)
        assert scale <= most
        assert abs(unscaled) < 10**most
        return Decimal(unscaled).scaleb(-scale), at + 1 + size

    def _text(self, at: int, length: int) -> tuple[str, int]:
        found = self._value[at : at + length]
        assert len(found) == length
        return found.decode(), at + length


def _number(data: bytes, at: int, size: int) -> int:
    found = data[at : at + size]
    assert len(found) == size
    return int.from_bytes(found, "little")


def _numbers(data: bytes, at: int, size: int, count: int) -> list[int]:
    return [_number(data, at + size * each, size) for each in range(count)]


@contextmanager
def _room_for_many_levels() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
