"""What the footers of Parquet files say that Iceberg's metadata does not: their columns, and whether these have ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from frazil.sql import literals

_MOST: Final = 20_000
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of a file."""

    ids: frozenset[int]
    """Those of its fields at any depth; none if it has no ids at all."""

    names: frozenset[str]
    """Of the columns, in lower case: DuckDB finds them in any case."""


class Footers:
    """Footers that were read; a file never changes, so another statement need not read it again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Footer] = OrderedDict()

    def of(self, files: Mapping[str, str], connection: duckdb.DuckDBPyConnection) -> dict[str, Footer]:
        """The footers of files by their locations.

        Args:
            files: what the connection calls a file, by location.
            connection: reads them.
        """
        missing = [location for location in files if location not in self._kept]
        for start in range(0, len(missing), _AT_ONCE):
            chunk = missing[start : start + _AT_ONCE]
            found = dict(_read([files[each] for each in chunk], connection))
            self._kept |= {each: found[files[each]] for each in chunk}
        answer = {location: self._kept[location] for location in files}
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return answer


def _read(names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, Footer]]:
    rows = connection.execute(
        "SELECT file_name, list({name: name, id: field_id, below: num_children} ORDER BY column_id) "
        f"FROM parquet_schema({literals(names)}) GROUP BY file_name"
    ).fetchall()
    for file, elements in rows:
        ids = frozenset(each["id"] for each in elements if each["id"] is not None)
        yield file, Footer(ids, frozenset(_columns(elements)))


def _columns(elements: Sequence[dict[str, object]]) -> Iterator[str]:
    """The names right below the root, of a tree that is listed depth first."""
    below = 0
    for element in elements[1:]:
        if not below:
            yield str(element["name"]).lower()
            below = 1
        children = element["below"]
        below += (children if isinstance(children, int) else 0) - 1
