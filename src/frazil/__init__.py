"""Open streaming ingestion from Apache Kafka into Apache Iceberg, exactly once.

The page to read first is `frazil.cycle`; the public surface is what `__all__` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil.version import VERSION

if TYPE_CHECKING:
    from frazil.connector import Connector, Subscription
    from frazil.queries.library import Rows, query
    from frazil.tables.rules.history import Commit

__all__ = ["Commit", "Connector", "Rows", "Subscription", "__version__", "query"]
__version__ = VERSION


def __getattr__(name: str) -> Any:
    # Spark's Python workers import `frazil.staging` through this package; they must not pay for the driver's imports.
    if name in ("Connector", "Subscription"):
        from frazil import connector

        return getattr(connector, name)
    if name == "Commit":
        from frazil.tables.rules.history import Commit

        return Commit
    if name in ("Rows", "query"):
        from frazil.queries import library

        return getattr(library, name)
    raise AttributeError(f"module 'frazil' has no attribute {name!r}")
