"""What would stop a connector when it opens its tables, as far as the catalog tells."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.config import ConnectorSettings
from frazil.cycle.destinations import destinations
from frazil.cycle.table_policy import TablePolicy
from frazil.errors import FrazilError, TableMissing, TableNotCreated
from frazil.model import TableName
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog


def obstacles(settings: ConnectorSettings, catalog: TableCatalog) -> list[FrazilError]:
    """Every obstacle there is; nothing is created or changed. Missing tables with confusing names are logged.

    Topics that the configuration names by a pattern are known to the broker only, and their tables are not looked at.
    """
    # Their ids and partitions would be the broker's to tell.
    found = destinations(settings, catalog, [TopicFacts(topic, "", "", ()) for topic in settings.source.topics])
    found.warn(settings.name)
    obstacles = (
        found.errors.get(name) or _obstacle(settings, catalog, name, [each.topic for each in topics])
        for name, topics in found.topics.items()
    )
    return [each for each in obstacles if each is not None]


def _obstacle(
    settings: ConnectorSettings, catalog: TableCatalog, name: TableName, topics: Sequence[str]
) -> FrazilError | None:
    try:
        table = catalog.open(name, None, settings.conversion)
        TablePolicy(settings).known(table.state(), str(name))
    except TableMissing:
        return TableNotCreated(str(name), topics) if settings.autocreate == "none" else None
    except FrazilError as error:
        return error
    return None
