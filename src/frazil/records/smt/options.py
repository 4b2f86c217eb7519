"""The options of a transform or a predicate, read as Kafka reads them; all that is wrong is found at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

from frazil.errors import Problem
from frazil.records.text import java_trim

REPLACE_NULL: Final = "replace.null.with.default"

_BETWEEN: Final = re.compile(r"\s*,\s*", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")

_T = TypeVar("_T")


class Options:
    """Reads options, and collects what is wrong with them.

    What is read of an option that is wrong is good for nothing but to go on: look at `problems` first.
    """

    def __init__(self, given: Mapping[str, str], prefix: str = "") -> None:
        """Read `given`; `prefix` is what stands before its keys in the configuration."""
        self.given = dict(given)
        self.prefix = prefix
        self.problems: list[Problem] = []

    def refuse(self, key: str, text: str) -> None:
        """Note that something is wrong with an option."""
        self.problems.append(Problem(f"{self.prefix}{key}", text))

    def maybe(self, key: str) -> str | None:
        """A text without the blanks around it; None where it is not given."""
        value = self.given.get(key)
        return None if value is None else java_trim(value)

    def text(self, key: str, default: str | None = None, *, filled: bool = False) -> str:
        """A text; without a default it has to be given, and with `filled` it has to be more than blanks."""
        value = self.maybe(key)
        if value is None and default is None:
            self.refuse(key, f"is missing, and has no default value. Write {self.prefix}{key}=<text>.")
        if value == "" and filled:
            self.refuse(key, "is empty. Write a text.")
        return (default or "") if value is None else value

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Texts separated by commas, with `required` at least one. They may be empty, or there twice, as in Kafka."""
        value = self.maybe(key)
        if value is None:
            if required:
                self.refuse(key, f"is missing, and has no default value. Write {self.prefix}{key}=<names>.")
            return ()
        found = tuple(_BETWEEN.split(value)) if value else ()
        if required and not found:
            self.refuse(key, "is an empty list. Write at least one name.")
        return found

    def distinct(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """The same without empty ones; one that is there twice counts once."""
        found = self.texts(key, required=required)
        if "" in found:
            self.refuse(key, f"{self.given[key]!r} has an empty entry. Remove the comma beside it.")
        return tuple(dict.fromkeys(found))

    def names(self, key: str) -> tuple[str, ...]:
        """Names separated by commas, none of them empty or twice."""
        found = self.distinct(key)
        if len(found) < len(self.texts(key)):
            self.refuse(key, f"{self.given[key]!r} names something twice. Keep one of them.")
        return found

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false, in any case."""
        value = (self.maybe(key) or "").lower() if key in self.given else str(default).lower()
        if value not in ("true", "false"):
            self.refuse(key, f"{self.given[key]!r} is neither true nor false. Write one of them.")
        return value == "true"

    def integer(self, key: str) -> int | None:
        """A number of 32 bits; None where it is not given."""
        value = self.maybe(key)
        if value is None:
            return None
        if not _INTEGER.fullmatch(value) or not -(2**31) <= int(value) < 2**31:
            self.refuse(key, f"{value!r} is not an integer of 32 bits. Write digits only.")
            return None
        return int(value)

    def one_of(self, key: str, known: Collection[str], default: str | None = None) -> str:
        """One of the texts that are known, in their case."""
        value = self.text(key, default)
        if (key in self.given or default is not None) and value not in known:
            self.refuse(key, f"{value!r} is none of {', '.join(known)}. Write one of them.")
        return value

    def read(self, key: str, value: str, reader: Callable[[str], _T], otherwise: _T) -> _T:
        """What `reader` makes of an option's value; its ValueError is what is wrong with it."""
        try:
            return reader(value)
        except ValueError as error:
            self.refuse(key, f"{error}")
            return otherwise

    def replaces_null(self) -> bool:
        """Whether a field that is null counts as its default."""
        return self.flag(REPLACE_NULL, default=True)
