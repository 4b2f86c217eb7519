"""Columns with their types, NOT NULL, DEFAULT and COMMENT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.snowflake.definitions.defaults import read_default
from frazil.snowflake.definitions.types import read_sized_type
from frazil.snowflake.definitions.values import NewColumn
from frazil.snowflake.words import Words

_KEYS: Final = "Iceberg enforces no keys"
_ONE_CONSTRAINT: Final = "Iceberg has no constraints but NOT NULL"
_OF_TABLES: Final = {
    "PRIMARY KEY": _KEYS,
    "FOREIGN KEY": _KEYS,
    "UNIQUE": _KEYS,
    "CONSTRAINT": _ONE_CONSTRAINT,
    "CHECK": _ONE_CONSTRAINT,
}
"""What may stand where a column could."""

_OF_COLUMNS: Final = _OF_TABLES | {
    "AUTOINCREMENT": "Iceberg's columns do not count by themselves",
    "IDENTITY": "Iceberg's columns do not count by themselves",
    "COLLATE": "texts are compared as they are",
    "REFERENCES": _KEYS,
    "MASKING": "there are no policies",
    "TAG": "there are no tags",
}


def read_columns(w: Words) -> tuple[NewColumn, ...]:
    """Read the columns of a table, in parentheses.

    Raises:
        InvalidQuery: there are none, or two of one name, or one is wrong.
    """
    place = w.pointed_next()
    words = w.parenthesised("the columns")
    if not words:
        raise InvalidQuery("a table has at least one column", place)
    inside = Words(w.text, words)
    found = [read_column(inside)]
    while inside.take(","):
        found.append(read_column(inside))
    inside.end()
    return tuple(found)


def read_column(w: Words) -> NewColumn:
    """Read one column.

    Raises:
        InvalidQuery: it is wrong, or has what no Iceberg column has.
    """
    _refuse(w, _OF_TABLES)
    name: exp.Identifier = w.name("the name of a column")
    kind, length = read_sized_type(w)
    required, default, comment = False, None, None
    while not w.is_at_end and not w.comes(","):
        place = w.pointed_next()
        _refuse(w, _OF_COLUMNS)
        if w.take("NOT", "NULL"):
            required = True
        elif w.take("NULL"):
            pass
        elif w.take("DEFAULT"):
            default = read_default(w, kind, required)
        elif w.take("COMMENT"):
            comment = w.string("the comment in quotes")
        else:
            raise InvalidQuery(f"{w.word('NOT NULL')[:40]} is not supported of a column", place)
    return NewColumn(name, kind, required, default, comment, length=length)


def _refuse(w: Words, refused: Mapping[str, str]) -> None:
    for word, reason in refused.items():
        if w.comes(word):
            raise InvalidQuery(f"{word} is not supported: {reason}", w.pointed_next())
