"""Tables that whole records go to have RECORD_CONTENT and RECORD_METADATA; those that lack one get it."""

from __future__ import annotations

import structlog

from frazil.errors import TableWithoutContent
from frazil.model import Conversion, SchemaChange
from frazil.pipes import content
from frazil.pipes.evolution import conversion_for
from frazil.tables.base import WritableTable

_log = structlog.get_logger(__name__)


def prepare(table: WritableTable, conversion: Conversion) -> None:
    """Add what a table lacks for whole records, if that is what records become.

    Raises:
        TableWithoutContent: it cannot take them.
        CatalogUnavailable: it could not be changed.
    """
    if not conversion.whole_records:
        return
    shape = table.shape()
    if reason := content.unsupported(shape.columns, conversion):
        raise TableWithoutContent(str(table.name), reason)
    change = content.missing(shape, conversion_for(conversion, shape))
    if change != SchemaChange():
        table.evolve(change)
        _log.info("added columns for whole records", table=str(table.name), columns=[*change.add])
