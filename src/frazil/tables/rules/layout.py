"""Iceberg's JSON of partition specs and sort orders → our layout."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from frazil.model import Layout, LayoutTransform, PartitionField, SortField

_PARAMETRISED: Final = re.compile(r"(\w+)\[(\d+)\]")
_NOWHERE: Final = 0
"""The id of no field: transforms of several columns have no one source."""


def layout_from_json(spec: str, order: str) -> Layout:
    """The layout that a partition spec and a sort order ask for, as `toJson` of Iceberg's parsers writes them.

    Transforms that frazil does not know keep their names; `frazil.layout.sources.unwritable` finds them.
    """
    return Layout(
        tuple(
            PartitionField(each["name"], each.get("source-id", _NOWHERE), _transform(each["transform"]))
            for each in orjson.loads(spec)["fields"]
        ),
        tuple(
            SortField(
                each.get("source-id", _NOWHERE),
                _transform(each["transform"]),
                descending=each["direction"] == "desc",
                nulls_first=each["null-order"] == "nulls-first",
            )
            for each in orjson.loads(order)["fields"]
        ),
    )


def _transform(text: Any) -> LayoutTransform:
    found = _PARAMETRISED.fullmatch(str(text))
    return LayoutTransform(found[1], int(found[2])) if found else LayoutTransform(str(text))
