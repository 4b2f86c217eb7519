"""What a query may ask of the tables it names before it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from frazil.model import Column, TableName


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the life of a table; without any of its parts it is now."""

    snapshot: int | None = None
    """The snapshot of that id."""

    timestamp: int | None = None
    """What was current then, in ms since the epoch."""

    before: bool = False
    """Whether what was there just before is meant."""


NOW = Moment()


class Lake(Protocol):
    """The tables of one catalog, as far as names and types go."""

    @property
    def name(self) -> str:
        """The catalog's name."""

    def namespaces(self) -> Sequence[tuple[str, ...]]:
        """The namespaces there are."""

    def tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:
        """The tables of a namespace; none if it does not exist."""

    def columns(self, table: TableName, moment: Moment = NOW) -> Sequence[Column]:
        """The columns of a table at a moment.

        Raises:
            InvalidQuery: it has nothing at that moment.
        """
