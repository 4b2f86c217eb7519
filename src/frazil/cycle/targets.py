"""Which tables topics and values may land in: all but error tables, which take rejected records only."""

from __future__ import annotations

from collections.abc import Collection

from frazil.config import ConnectorSettings
from frazil.errors import TableMissing, TableOfRejects, Terminal
from frazil.model import ERROR_LOGGING, TableName
from frazil.tables.base import TableCatalog
from frazil.tables.rules.error_tables import is_marked, name_of_source
from frazil.tables.rules.state import TableState


def require_target(state: TableState, name: TableName) -> None:
    """Refuse an existing table that is an error table.

    Raises:
        TableOfRejects: it is.
    """
    if is_marked(state):
        source = name_of_source(name)
        raise TableOfRejects(str(name), str(source) if source else None)


def require_free(
    settings: ConnectorSettings, catalog: TableCatalog, name: TableName, opening: Collection[TableName]
) -> None:
    """Refuse a missing table that would take the place of another table's error table.

    Args:
        settings: the connector's.
        catalog: where its tables are.
        name: the missing table.
        opening: the tables that the connector has or is about to create.

    Raises:
        TableOfRejects: it would.
        CatalogUnavailable: the catalog did not answer.
    """
    source = name_of_source(name)
    if source is not None and _has_error_table(settings, catalog, source, opening):
        raise TableOfRejects(str(name), str(source))


def _has_error_table(
    settings: ConnectorSettings, catalog: TableCatalog, source: TableName, opening: Collection[TableName]
) -> bool:
    """Whether the rejects of a table go, or will go, to an error table."""
    try:
        logs = catalog.open(source, None, settings.conversion).state().property(ERROR_LOGGING)
    except TableMissing:
        if source not in opening:
            return False
        logs = settings.table_options.properties.get(ERROR_LOGGING)
    except Terminal:
        logs = None  # frazil cannot write to it, but its name tells what its error table is called
    return settings.errors_table or logs == "true"
