"""What ALTER TABLE changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.snowflake.definitions.columns import read_column
from frazil.snowflake.definitions.layout import read_keys
from frazil.snowflake.definitions.options import read_option, unset_option
from frazil.snowflake.definitions.types import read_sized_type
from frazil.snowflake.definitions.values import (
    AddColumns,
    AlterColumn,
    Change,
    DropColumns,
    NewColumn,
    RenameColumn,
    SetOrder,
    SetPartition,
    SetProperties,
)
from frazil.snowflake.words import Words

_COLUMN: Final = "the name of a column"
_THERE_ARE: Final = (
    "ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER COLUMN, SET, UNSET, CLUSTER BY, DROP CLUSTERING KEY or PARTITION BY"
)
_OF_COLUMN: Final = "SET DATA TYPE, DROP NOT NULL, COMMENT 'text' or UNSET COMMENT"

_Item = TypeVar("_Item")


def read_change(w: Words) -> Change:
    """Read what comes after the table's name.

    Raises:
        InvalidQuery: it is no change that is supported.
    """
    if w.take("DROP", "CLUSTERING", "KEY"):
        return SetOrder(())
    if w.take("CLUSTER BY"):
        return SetOrder(read_keys(w, "CLUSTER BY"))
    if w.take("PARTITION BY"):
        return SetPartition(read_keys(w, "PARTITION BY"))
    if w.take("ADD"):
        w.take("COLUMN")
        return AddColumns(_listed(w, _added))
    if w.take("DROP"):
        w.need("COLUMN")
        if_there = w.take("IF", "EXISTS")
        return DropColumns(_listed(w, _name), if_there)
    if w.take("RENAME"):
        if w.comes("TO"):
            raise InvalidQuery("RENAME TO is not supported: connectors know their tables by name", w.pointed_next())
        w.need("COLUMN")
        name = w.name(_COLUMN)
        w.need("TO")
        return RenameColumn(name, w.name(_COLUMN))
    if w.take("ALTER") or w.take("MODIFY"):
        return _columns(w)
    if w.take("SET"):
        return _set(w)
    if w.take("UNSET"):
        gone: dict[str, None] = {}
        for each in _listed(w, unset_option):
            gone |= each
        return SetProperties(gone)
    place = w.pointed_next()
    found = "nothing" if w.is_at_end else w.word("a change")[:40]
    raise InvalidQuery(f"ALTER TABLE has {_THERE_ARE}, not {found}", place)


def _set(w: Words) -> SetProperties:
    properties: dict[str, str | None] = {}
    no_effect: list[tuple[str, str]] = []
    while True:
        option = read_option(w)
        properties |= option.properties
        no_effect += option.no_effect
        w.take(",")
        if w.is_at_end:
            return SetProperties(properties, tuple(no_effect))


def _added(w: Words) -> NewColumn:
    w.take("COLUMN")
    if_missing = w.take("IF", "NOT", "EXISTS")
    return replace(read_column(w), if_missing=if_missing)


def _name(w: Words) -> exp.Identifier:
    w.take("COLUMN")
    return w.name(_COLUMN)


def _columns(w: Words) -> tuple[AlterColumn, ...]:
    if not w.comes("("):
        return _listed(w, _altered)
    inside = Words(w.text, w.parenthesised("the columns"))
    found = _listed(inside, _altered)
    inside.end()
    return found


def _altered(w: Words) -> AlterColumn:
    name = _name(w)
    place = w.pointed_next()
    if w.take("DROP", "NOT", "NULL"):
        return AlterColumn(name, relaxes=True)
    if w.take("SET", "NOT", "NULL"):
        raise InvalidQuery("SET NOT NULL is not supported: rows that are there may have NULL", place)
    if w.take("SET", "DEFAULT") or w.take("DROP", "DEFAULT"):
        raise InvalidQuery("the DEFAULT of a column that is there stays as it is; add another column with one", place)
    if w.take("COMMENT"):
        return AlterColumn(name, comment=w.string("the comment in quotes"))
    if w.take("UNSET", "COMMENT"):
        return AlterColumn(name, comment="")
    if w.take("SET", "DATA", "TYPE") or w.take("TYPE"):
        kind, length = read_sized_type(w)
        return AlterColumn(name, type=kind, length=length)
    raise InvalidQuery(f"ALTER COLUMN has {_OF_COLUMN}", place)


def _listed(w: Words, read: Callable[[Words], _Item]) -> tuple[_Item, ...]:
    found = [read(w)]
    while w.take(","):
        found.append(read(w))
    return tuple(found)
