"""Queries without tables, answered by a DuckDB that has nothing."""

from __future__ import annotations

import functools
from typing import Any

from tests.snowflake.lakes import Lake


@functools.cache
def _lake() -> Lake:
    return Lake()


def text_of(query: str) -> str:
    """The query as DuckDB gets it."""
    return _lake().compiled(query).text


def rows(query: str) -> list[list[Any]]:
    """What the query gives."""
    return _lake().rows(query)


def value(expression: str) -> Any:
    """What one expression gives."""
    ((found,),) = rows(f"select {expression}")
    return found
