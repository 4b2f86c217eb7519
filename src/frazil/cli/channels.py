"""`frazil channels`: every channel of every connector, from the tables themselves."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import orjson
import structlog
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.connector.brokers import source_of
from frazil.connector.channels import channels_of
from frazil.connector.holdings import Holding, holdings
from frazil.connector.registry import Registered, Registry
from frazil.cycle import sharing
from frazil.errors import FrazilError
from frazil.model import ChannelStatus, SourcePartition
from frazil.tables.tokens import Tokens

_log = structlog.get_logger(__name__)


def show_channels(home: Path, worker: Path | None, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print the channels of all connectors that ever committed to the catalog."""
    console = people()
    with open_catalog(home, worker, console) as (_, catalog), console.status("Reading the tables …"):
        registered = Registry(home).connectors()
        held = list(holdings(catalog))
        found = [
            each
            for connector, mine in _by_connector(held).items()
            for each in _channels_of(connector, mine, registered.get(connector))
        ]
    if format == "json":
        document = orjson.dumps([asdict(each) for each in found], option=orjson.OPT_INDENT_2).decode()
        sys.stdout.write(visible_json(document) + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 200).print(
            _table(found) if found else "No connector has opened a table yet."
        )
    _tell_of_sharing(held)
    return 0


def _channels_of(connector: str, held: Sequence[Holding], known: Registered | None) -> list[ChannelStatus]:
    """The channels of one connector; its brokers are asked once for all of them."""
    tables = [(each.table.name, each.tokens) for each in held]
    topics = {
        topic: max(len(tokens.topics[topic].channels) for _, tokens in tables if topic in tokens.topics)
        for topic in sorted(set[str]().union(*(tokens.topics for _, tokens in tables)))
    }
    partitions = [SourcePartition(topic, number) for topic, count in topics.items() for number in range(count)]
    state = known.current_state() if known else "STOPPED"
    if known is None:
        return channels_of(connector, tables, {}, state, None)
    try:
        source = source_of(known.client(), tuple(topics), known.isolation_level)
    except FrazilError as error:
        _log.warning("the broker cannot be asked", connector=known.name, cause=error.message)
        return channels_of(connector, tables, {}, state, None)
    try:
        return channels_of(connector, tables, source.latest(partitions), state, source)
    except FrazilError as error:
        _log.warning("the broker did not answer", connector=known.name, cause=error.message)
        return channels_of(connector, tables, {}, state, None)
    finally:
        source.close()


def _by_connector(held: Sequence[Holding]) -> dict[str, list[Holding]]:
    found: dict[str, list[Holding]] = {}
    for each in held:
        found.setdefault(each.connector, []).append(each)
    return found


def _tell_of_sharing(held: Sequence[Holding]) -> None:
    tables: dict[str, dict[str, Tokens]] = {}
    for each in held:
        tables.setdefault(str(each.table.name), {})[each.connector] = each.tokens
    for table, by_connector in tables.items():
        for found in sharing.shared(by_connector):
            sharing.tell(table, found)


def _table(found: Sequence[ChannelStatus]) -> RichTable:
    table = RichTable(
        "connector",
        "topic",
        "partition",
        "table",
        "token",
        "latest",
        "lag",
        "lag s",
        "rows",
        "rejected",
        "lost",
        "state",
        "last commit",
        "last error",
    )
    for each in found:
        texts = (
            each.connector,
            each.topic,
            str(each.partition),
            each.table,
            _shown(each.offset_token),
            _shown(each.latest_offset),
            _shown(each.lag_records),
            _shown(each.lag_seconds),
            f"{each.rows_inserted:,}",
            f"{each.rows_error:,}",
            f"{each.records_lost:,}",
            each.state,
            _shown(each.last_commit_time),
            _shown(each.last_error),
        )
        table.add_row(*map(cell, texts))
    return table


def _shown(value: object) -> str:
    return "–" if value is None else str(value)
