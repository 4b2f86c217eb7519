"""The value of one field of a record, found without decoding the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

_REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for a text it does not accept."""


class NoValue(Exception):
    """A record has no value that it could be routed by; says why."""


class Field:
    """A field of JSON objects, perhaps one of objects within them."""

    def __init__(self, path: Sequence[str]) -> None:
        """Look for the field that the keys of `path` lead to, the outermost first; their spelling counts."""
        self.name = ".".join(path)
        self._path = tuple(path)
        self._decoder = msgspec.json.Decoder(_shape(self._path))

    def spelled(self, text: bytes) -> bytes:
        """The field's value in a JSON document, as it is written there.

        Raises:
            NoValue: there is none.
        """
        try:
            found = self._decoder.decode(text)
        except msgspec.ValidationError:
            # One of the objects on the way is something else.
            raise self._missing(text) from None
        except _REFUSED as error:
            raise NoValue(f"the value is not valid JSON: {error}") from None
        for _ in self._path:
            found = found.within
            if found is UNSET:
                raise self._absent()
        return bytes(found)

    def text(self, spelled: bytes) -> str:
        """What a value is called: a text itself, any other scalar as it is written.

        Raises:
            NoValue: it is null, empty, an object or an array.
        """
        if spelled[:1] in (b"{", b"["):
            kind = "an object" if spelled[:1] == b"{" else "an array"
            raise NoValue(f"its field {self.name} is {kind}, by which nothing is routed")
        if spelled == b"null":
            raise NoValue(f"its field {self.name} is null")
        if spelled[:1] != b'"':
            return spelled.decode()
        try:
            text = msgspec.json.decode(spelled, type=str)
        except _REFUSED as error:
            raise NoValue(f"its field {self.name} is not valid JSON: {error}") from None
        if not text:
            raise NoValue(f"its field {self.name} is an empty text")
        return text

    def _absent(self) -> NoValue:
        return NoValue(f"it has no field {self.name}")

    def _missing(self, text: bytes) -> NoValue:
        return self._absent() if text.lstrip()[:1] == b"{" else NoValue("the value is not a JSON object")


def _shape(path: Sequence[str]) -> Any:
    """A type that has the value at `path`, each level as `within`, and passes over everything else."""
    kind: Any = Raw
    for key in reversed(path):
        kind = msgspec.defstruct("Level", [("within", kind | UnsetType, UNSET)], rename={"within": key})
    return kind
