"""Deregistering the consumers of a connector that is stopped for good."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from frazil.connector.amending import DESPITE
from frazil.connector.owners import life_of
from frazil.connector.registered import UNKNOWN, Registered
from frazil.connector.states import ENDED
from frazil.connector.token_scan import connector_tokens
from frazil.errors import ConsumersInUse
from frazil.sources.kinesis.source import open_source
from frazil.tables.iceberg.catalog import Catalog

if TYPE_CHECKING:
    from frazil.config import ConnectorSettings
    from frazil.config.kinesis import KinesisSettings

_AT_REST: Final = {*ENDED, UNKNOWN}
"""States of which the tables may say more."""


def release(
    settings: ConnectorSettings, own: KinesisSettings, catalog: Catalog | None, registered: Registered | None
) -> dict[str, bool]:
    """Deregister the consumers of all streams that a connector reads; whether there was one, by stream.

    Args:
        settings: the connector's.
        own: of them, what is read.
        catalog: where its tables are; None if there is none yet.
        registered: what the home knows of its last run.

    Raises:
        ConsumersInUse: it runs.
        StreamUnavailable, StreamRefused: the service does not answer, or does not allow it.
    """
    require_at_rest(settings.key, catalog, registered)
    source = open_source(settings, own)
    try:
        return source.release()
    finally:
        source.close()


def require_at_rest(connector: str, catalog: Catalog | None, registered: Registered | None) -> None:
    """Refuse where a connector runs, by what it says itself or by its tables.

    Raises:
        ConsumersInUse: it does.
    """
    if registered is not None and (state := registered.current_state()) not in _AT_REST:
        raise ConsumersInUse(connector, f"process {registered.pid} says that it is {state}")
    for holding in connector_tokens(catalog, DESPITE) if catalog else ():
        if holding.connector != connector:
            continue
        life = life_of(holding.table.state(), holding.tokens, registered, time.time())
        if life.runs:
            raise ConsumersInUse(connector, life.sign)
