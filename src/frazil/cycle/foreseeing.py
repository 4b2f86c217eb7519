"""What would stop a connector when it opens its tables, as far as the catalog tells."""

from __future__ import annotations

from frazil.config import ConnectorSettings
from frazil.cycle.destinations import Destinations, destinations
from frazil.cycle.table_policy import TablePolicy
from frazil.cycle.targets import require_free, require_target
from frazil.errors import FrazilError, TableMissing, TableNotCreated
from frazil.model import TableName
from frazil.sources.base import TopicFacts
from frazil.tables.base import TableCatalog, WritableTable


def obstacles(settings: ConnectorSettings, catalog: TableCatalog) -> list[FrazilError]:
    """Every obstacle there is; nothing is created or changed. Missing tables with confusing names are logged.

    Topics that the configuration names by a pattern are known to the broker only, and their tables are not looked at.
    """
    # Their ids and partitions would be the broker's to tell.
    found = destinations(settings, catalog, [TopicFacts(topic, "", "", ()) for topic in settings.source.topics])
    found.warn(settings.name)
    obstacles = (found.errors.get(name) or _obstacle(settings, catalog, name, found) for name in found.topics)
    return [each for each in obstacles if each is not None]


def _obstacle(
    settings: ConnectorSettings, catalog: TableCatalog, name: TableName, found: Destinations
) -> FrazilError | None:
    try:
        table = _existing(settings, catalog, name)
        if table is not None:
            require_target(table.state(), name)
            TablePolicy(settings).known(table.state(), str(name))
        elif settings.autocreate == "none":
            return TableNotCreated(str(name), [each.topic for each in found.topics[name]])
        else:
            require_free(settings, catalog, name, found.topics)
    except FrazilError as error:
        return error
    return None


def _existing(settings: ConnectorSettings, catalog: TableCatalog, name: TableName) -> WritableTable | None:
    try:
        return catalog.open(name, None, settings.conversion)
    except TableMissing:
        return None
