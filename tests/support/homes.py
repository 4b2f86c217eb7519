"""A home with a table in its catalog, made in the small JVM."""

from __future__ import annotations

from pathlib import Path

from frazil.model import Conversion, TableName
from frazil.tables.jvm.asked import Asked
from frazil.tables.jvm.opening import begin_prepared, opened

ORDERS = TableName(("public",), "ORDERS")


def home_with_orders(home: Path) -> Path:
    """A home whose catalog has the table ORDERS, as frazil creates it: RECORD_METADATA, and no row."""
    opening = begin_prepared(Asked(home, {}, None))
    try:
        opened(opening, to_write=True).open(ORDERS, {}, Conversion())
    finally:
        opening.end()
    return home
