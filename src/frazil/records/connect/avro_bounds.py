"""Bodies of Avro that must not be read: nested without end, or with millions of values that take no bytes.

fastavro reads nested levels by recursion in C, which would end the process. It would also read a list of a billion
elements that take no bytes, and a record that names another one twice, which does so again, at each of 30 levels. Few
schemas allow that, so few bodies are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from frazil.records.connect.unreadable import Unreadable

_MOST_LEVELS: Final = 500
_MOST_EMPTY: Final = 100_000
"""Values that take no bytes, in one body."""

_MANY_EMPTY: Final = 1_000
"""So many of them in one value are a reason to count them."""

_WIDTHS: Final = {"boolean": 1, "float": 4, "double": 8}


def bounds(wire: Any) -> Callable[[bytes], None] | None:
    """What raises `Unreadable` for such bodies; None for a schema that has none.

    Args:
        wire: a schema without logical types, whose named types are spelled out where they are first used.
    """
    named: dict[str, Any] = {}
    _name(wire, named)
    recursive = _is_recursive(wire, named, frozenset())
    sizes = _Sizes(named)
    empty = any(sizes.takes_nothing(each) for each in _elements(wire))
    empty = empty or any(sizes.empty_values(each) > _MANY_EMPTY for each in (wire, *named.values()))
    if not recursive and not empty:
        return None

    def check(body: bytes) -> None:
        # A level takes a byte at least.
        if empty or len(body) > _MOST_LEVELS:
            _Look(body, named).through(wire)

    return check


class _Look:
    """Passes over the values of a body."""

    def __init__(self, body: bytes, named: Mapping[str, Any]) -> None:
        self._body = body
        self._named = named
        self._at = 0

    def through(self, wire: Any) -> None:
        """Pass over a value of a schema; a body that ends early is for who reads it to refuse."""
        waiting: list[tuple[Any, int, int]] = [(wire, 1, 0)]
        empty = 0
        while waiting and self._at <= len(self._body):
            kind, count, level = waiting.pop()
            if level > _MOST_LEVELS:
                raise Unreadable(f"is nested deeper than {_MOST_LEVELS} levels")
            if count > 1:
                waiting.append((kind, count - 1, level))
            before = self._at
            inner = self._pass(kind, level)
            waiting += inner
            if not inner and before == self._at:
                empty += 1
                if empty > _MOST_EMPTY:
                    raise Unreadable(f"has more than {_MOST_EMPTY:,} values that take no bytes")

    def _pass(self, kind: Any, level: int) -> list[tuple[Any, int, int]]:
        """Pass over what has no parts; the parts of what has some, the last one first."""
        if isinstance(kind, list):
            branch = self._number()
            return [(kind[branch], 1, level)] if 0 <= branch < len(kind) else []
        name = kind if isinstance(kind, str) else kind["type"]
        match name:
            case "null":
                return []
            case "boolean" | "float" | "double":
                self._at += _WIDTHS[name]
            case "int" | "long" | "enum":
                self._number()
            case "bytes" | "string":
                self._at += max(0, self._number())
            case "fixed":
                self._at += kind["size"]
            case "record":
                return [(each["type"], 1, level + 1) for each in reversed(kind["fields"])]
            case "array" | "map":
                return self._block(kind, level)
            case _ if isinstance(kind, str):
                return [(self._named[kind], 1, level)]
            case _:
                return [(kind["type"], 1, level)]
        return []

    def _block(self, kind: Any, level: int) -> list[tuple[Any, int, int]]:
        count = self._number()
        if count < 0:
            count = -count
            self._number()
        if count == 0:
            return []
        pair = {"type": "record", "fields": [{"type": "string"}, {"type": kind.get("values")}]}
        return [(kind, 1, level), (kind["items"] if kind["type"] == "array" else pair, count, level + 1)]

    def _number(self) -> int:
        """A number in zigzag varints."""
        value = shift = 0
        while self._at < len(self._body):
            byte = self._body[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
            if shift > 63:
                break
        self._at = len(self._body) + 1
        return 0


def _name(wire: Any, named: dict[str, Any]) -> None:
    for each in _parts(wire):
        if isinstance(each, Mapping) and "name" in each:
            named[each["name"]] = each
        _name(each, named)
    if isinstance(wire, Mapping) and "name" in wire:
        named[wire["name"]] = wire


def _parts(wire: Any) -> list[Any]:
    if isinstance(wire, list):
        return wire
    if not isinstance(wire, Mapping):
        return []
    found = [wire[key] for key in ("items", "values") if key in wire]
    found += [each["type"] for each in wire.get("fields", ())]
    return found + ([wire["type"]] if not isinstance(wire["type"], str) else [])


def _elements(wire: Any) -> list[Any]:
    """What stands in arrays."""
    own = [wire["items"]] if isinstance(wire, Mapping) and "items" in wire else []
    return own + [each for part in _parts(wire) for each in _elements(part)]


def _is_recursive(wire: Any, named: Mapping[str, Any], around: frozenset[str]) -> bool:
    if isinstance(wire, str):
        return wire in around
    inside = around | {wire["name"]} if isinstance(wire, Mapping) and "name" in wire else around
    return any(_is_recursive(each, named, inside) for each in _parts(wire))


class _Sizes:
    """Which types take no bytes; types that others name again and again are looked at once."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._nothing: dict[str, bool] = {}
        self._empty: dict[str, int] = {}

    def takes_nothing(self, wire: Any) -> bool:
        """Whether a value has no bytes."""
        match wire:
            case list():
                return False
            case str() if wire in self._named:
                if wire not in self._nothing:
                    self._nothing[wire] = False  # inside itself it takes bytes, or has no end
                    self._nothing[wire] = self.takes_nothing(self._named[wire])
                return self._nothing[wire]
            case str():
                return wire == "null"
            case {"type": "record", "fields": fields}:
                return all(self.takes_nothing(each["type"]) for each in fields)
            case {"type": "fixed", "size": size}:
                return bool(size == 0)
            case {"type": "array" | "map" | "enum"}:
                return False
            case _:
                return self.takes_nothing(wire["type"])

    def empty_values(self, wire: Any) -> int:
        """How many values that take no bytes every value has."""
        match wire:
            case list():
                return 0
            case str() if wire in self._named:
                if wire not in self._empty:
                    self._empty[wire] = 0
                    self._empty[wire] = self.empty_values(self._named[wire])
                return self._empty[wire]
            case {"type": "record", "fields": fields}:
                return sum(self.empty_values(each["type"]) for each in fields) if fields else 1
            case str() | {"type": "fixed" | "array" | "map" | "enum"}:
                return int(self.takes_nothing(wire))
            case _:
                return self.empty_values(wire["type"])
