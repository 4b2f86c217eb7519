"""Which records a transform is for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from frazil.java_regex import compiled
from frazil.records.connect.data import Record
from frazil.records.smt.options import Options


class Predicate(Protocol):
    """Says of records whether something is true."""

    def test(self, record: Record) -> bool:
        """Whether it is true of the record."""


class HasHeaderKey:
    """True of records that have a header of a name."""

    def __init__(self, options: Options) -> None:
        """Read `name`."""
        self.name = options.text("name", filled=True)

    def test(self, record: Record) -> bool:
        """Whether it has."""
        return any(each.name == self.name for each in record.headers)


class RecordIsTombstone:
    """True of records without a value."""

    def __init__(self, options: Options) -> None:
        """There is nothing to read."""

    def test(self, record: Record) -> bool:
        """Whether it has none."""
        return record.value.value is None


class TopicNameMatches:
    """True of records whose topic's whole name a regular expression of Java's matches."""

    def __init__(self, options: Options) -> None:
        """Read `pattern`."""
        self.pattern = options.read("pattern", options.text("pattern", filled=True), compiled, re.compile(""))

    def test(self, record: Record) -> bool:
        """Whether it does."""
        return self.pattern.fullmatch(record.topic) is not None


PACKAGE: Final = "org.apache.kafka.connect.transforms.predicates."
PREDICATES: Final[Mapping[str, Callable[[Options], Predicate]]] = {
    each.__name__: each for each in (HasHeaderKey, RecordIsTombstone, TopicNameMatches)
}
"""By their names without the package."""
