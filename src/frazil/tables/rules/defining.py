"""Tables as somebody defines them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from frazil.model import Column
from frazil.tables.rules.created_layout import ColumnKey
from frazil.tables.rules.schema import schema_to_json


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What a table is to be."""

    columns: tuple[Column, ...]
    """Their ids are given by the catalog."""

    comments: tuple[str | None, ...]
    """What is said of each of the columns."""

    partition: tuple[ColumnKey, ...] = ()
    order: tuple[ColumnKey, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> str:
        """As `SchemaParser.fromJson` reads it."""
        return schema_with_comments(self.columns, self.comments)


def schema_with_comments(columns: Sequence[Column], comments: Sequence[str | None]) -> str:
    """A schema as `SchemaParser.fromJson` reads it, with the columns' defaults and comments."""
    document: dict[str, Any] = orjson.loads(schema_to_json(columns))
    for said, column, comment in zip(document["fields"], columns, comments, strict=True):
        if column.default is not None:
            said["write-default"] = orjson.loads(column.default)
        if comment is not None:
            said["doc"] = comment
    return orjson.dumps(document).decode()
