"""What `$ref` in JSON Schemas refers to: parts of the same document, and documents that the registry knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from frazil.records.connect.unreadable import Unreadable

Place: TypeAlias = tuple[str, ...]
"""A document's name, and the steps from its root to a schema in it."""

_NONE: Final = object()


@dataclass(frozen=True, slots=True)
class Documents:
    """JSON Schemas by name; the one without a name is the one that values are of."""

    named: Mapping[str, Any]

    @property
    def root(self) -> Place:
        """The schema that values are of."""
        return ("",)

    def at(self, place: Place) -> Any:
        """The schema at a place.

        Raises:
            Unreadable: there is none.
        """
        found = self.named.get(place[0], _NONE)
        for step in place[1:]:
            found = _inside(found, step)
        if found is _NONE:
            raise Unreadable(
                f"has a JSON Schema that refers to {'/'.join(place[1:]) or 'the whole'!r} of {place[0]!r}, where "
                "nothing is"
            )
        return found

    def target(self, place: Place) -> Place:
        """What the `$ref` of the schema at a place refers to.

        Raises:
            Unreadable: it is no text, or nothing is there.
        """
        reference = self.at(place)["$ref"]
        if not isinstance(reference, str):
            raise Unreadable("has a JSON Schema with a $ref that is no text")
        name, fragment = urldefrag(reference)
        document = self._document(name, place[0]) if name else place[0]
        if fragment and not fragment.startswith("/"):
            return self._anchor(document, fragment)
        steps = [unquote(each).replace("~1", "/").replace("~0", "~") for each in fragment.split("/")[1:]]
        found = (document, *steps)
        self.at(found)
        return found

    def _document(self, name: str, inside: str) -> str:
        """A document is named by the reference that the registry has, or by its own `$id`."""
        here = self.named[inside]
        base = here.get("$id") if isinstance(here, Mapping) else None
        whole = urljoin(base, name) if isinstance(base, str) else name
        for wanted in (name, whole):
            if wanted in self.named:
                return wanted
            for known, written in self.named.items():
                if isinstance(written, Mapping) and written.get("$id") == wanted:
                    return known
        raise Unreadable(f"has a JSON Schema that refers to {name!r}, and none of its references has that name")

    def _anchor(self, document: str, name: str) -> Place:
        written = self.named[document]
        for group in ("definitions", "$defs"):
            parts = written.get(group) if isinstance(written, Mapping) else None
            for step, each in (parts if isinstance(parts, Mapping) else {}).items():
                if isinstance(each, Mapping) and (each.get("$anchor") == name or each.get("$id") == f"#{name}"):
                    return (document, group, step)
        raise Unreadable(f"has a JSON Schema that refers to the anchor {name!r}, which is not in its definitions")


def _inside(found: Any, step: str) -> Any:
    if isinstance(found, Mapping):
        return found.get(step, _NONE)
    if isinstance(found, list) and step.isdecimal() and len(step) < 10 and int(step) < len(found):
        return found[int(step)]
    return _NONE
