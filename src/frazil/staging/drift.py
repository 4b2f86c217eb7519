"""What a task sees in keys that have no column: the shapes of their values, from which columns can be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from frazil.model import NOTHING_SEEN, Seen
from frazil.staging.decoder import REFUSED

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_ITEMS: Final = msgspec.json.Decoder(list[Raw])
_DEEPEST: Final = 50
"""Levels below which a value counts as nested, whatever is in it."""

_SCALARS: Final = {ord("n"): "null", ord("t"): "boolean", ord("f"): "boolean", ord('"'): "string"}


def members(value: bytes | str | Raw) -> Mapping[str, Raw]:
    """The members of a JSON object, unparsed; of a key given twice the last.

    Raises:
        msgspec.DecodeError: the text is no JSON object.
    """
    found: Mapping[str, Raw] = _MEMBERS.decode(value)
    return found


def keys_of(value: bytes | str) -> Mapping[str, Raw]:
    """The members of a record; a record that is no JSON object has none."""
    try:
        return members(value)
    except REFUSED:
        return {}


def seen_in(value: bytes | str, known: Callable[[str], bool], *, deep: bool) -> Mapping[str, Seen]:
    """What the values of a record's keys look like that are not known; `deep` for what is within objects and arrays."""
    return {key: _seen(raw, _DEEPEST if deep else 0) for key, raw in keys_of(value).items() if not known(key)}


def _seen(raw: Raw, levels: int) -> Seen:
    text = bytes(raw).strip()
    if text[:1] == b"{":
        found: Mapping[str, Any] = members(raw) if levels else {}
        return Seen(fields=tuple((key, _seen(member, levels - 1)) for key, member in found.items()))
    if text[:1] == b"[":
        element = NOTHING_SEEN
        for item in _ITEMS.decode(raw) if levels else ():
            element = element.merged_with(_seen(item, levels - 1))
        return Seen(element=element)
    return Seen(frozenset({_scalar(text)}))


def _scalar(text: bytes) -> str:
    kind = _SCALARS.get(text[0])
    if kind is not None:
        return kind
    if not text.lstrip(b"-").isdigit():
        return "double"
    return "long" if len(text) < 21 and -(2**63) <= int(text) < 2**63 else "huge"
