"""Two connectors that land one topic in one table: allowed, and hardly ever meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import PREFIX, Tokens, decode

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Shared:
    """A topic that several connectors have landed in one table."""

    topic: str
    connectors: tuple[str, ...]
    """Their names as written."""

    keys: tuple[str, ...]


def shared(by_connector: Mapping[str, Tokens]) -> list[Shared]:
    """The topics of one table that are shared; a topic made again under its name is another one.

    Args:
        by_connector: the tokens that each connector has in the table, by its key.
    """
    readers: dict[tuple[str, str, str], list[str]] = {}
    for key, tokens in sorted(by_connector.items()):
        for topic, found in tokens.topics.items():
            readers.setdefault((topic, found.cluster, found.id), []).append(key)
    return [
        Shared(topic, tuple(by_connector[key].name for key in keys), tuple(keys))
        for (topic, _, _), keys in readers.items()
        if len(keys) > 1
    ]


def warn(table: str, state: TableState, connector: str) -> None:
    """Say so if another connector has landed a topic of the connector `connector` (its key) in the same table."""
    found = {}
    for key, text in state.properties_under(PREFIX).items():
        try:
            found[key] = decode(text)
        except ValueError:
            continue
    for each in shared(found):
        if connector in each.keys:
            tell(table, each)


def tell(table: str, found: Shared) -> None:
    """The warning itself."""
    _log.warning(
        "connectors of different names land one topic in one table: each lands every record of it",
        table=table,
        topic=found.topic,
        connectors=", ".join(found.connectors),
    )
