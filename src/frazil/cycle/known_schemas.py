"""Tables remember the schemas that their rows were read by, so that a registry that gives another one is found out.

What is remembered of a schema is a fingerprint, under its registry's address and its id, in a property of the table. It
is written before the rows are committed, in a commit of its own, when a table first gets records of a schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from frazil.cycle.open_tables import OpenTable
from frazil.errors import FrazilError, RegistryChanged
from frazil.model import Staged, TableName

PROPERTY: Final = "frazil.registry.schemas"

_MOST: Final = 1000
"""Schemas of one registry that a table remembers: those with the highest ids."""


def remember(staged: Iterable[Staged], tables: Mapping[TableName, OpenTable]) -> dict[TableName, FrazilError]:
    """Have tables remember the schemas that their records were read by; the tables whose registry gives others."""
    errors: dict[TableName, FrazilError] = {}
    for task in staged if tables else ():
        for part in task.tables if task.schemas else ():
            opened = tables.get(part.shape.table)
            if opened is not None and part.shape.table not in errors:
                try:
                    _remember(opened, task.schemas)
                except FrazilError as error:
                    errors[part.shape.table] = error
    return errors


def _remember(opened: OpenTable, schemas: Mapping[str, Mapping[int, str]]) -> None:
    """Write down what is new.

    Raises:
        RegistryChanged: a schema is another one than it was.
        CatalogUnavailable: it could not be written down.
    """
    while True:
        before = opened.table.state().property(PROPERTY)
        known = _read(before)
        for address, found in schemas.items():
            mine = known.setdefault(address, {})
            for number, fingerprint in found.items():
                if mine.setdefault(str(number), fingerprint) != fingerprint:
                    raise RegistryChanged(address, number, str(opened.table.name), PROPERTY)
            known[address] = dict(sorted(mine.items(), key=lambda each: int(each[0]))[-_MOST:])
        after = orjson.dumps(known, option=orjson.OPT_SORT_KEYS).decode()
        if after == before:
            return
        opened.table.replace_property(PROPERTY, before, after)


def _read(text: str | None) -> dict[str, dict[str, str]]:
    """What a table remembers; nothing where another writer wrote something else there."""
    try:
        found: Any = orjson.loads(text or "{}")
        return {
            address: {str(int(number)): str(fingerprint) for number, fingerprint in schemas.items()}
            for address, schemas in found.items()
        }
    except (ValueError, AttributeError):
        return {}
