"""`frazil channels`: every channel of every connector, from the tables themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import orjson
import structlog
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.connector.channels import channels_of
from frazil.connector.registry import Registered, Registry
from frazil.errors import FrazilError
from frazil.model import ChannelStatus, SourcePartition
from frazil.sources.kafka.admin import KafkaSource
from frazil.tables.catalog import Catalog
from frazil.tables.table import Table
from frazil.tables.tokens import PREFIX, Tokens, read

_log = structlog.get_logger(__name__)


def show_channels(home: Path, worker: Path | None, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print the channels of all connectors that ever committed to the catalog."""
    console = people()
    with open_catalog(home, worker, console) as (_, catalog), console.status("Reading the tables …"):
        found = list(_channels(catalog, Registry(home)))
    if format == "json":
        sys.stdout.write(orjson.dumps([asdict(each) for each in found], option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 200).print(
            _table(found) if found else "No connector has opened a table yet."
        )
    return 0


def _channels(catalog: Catalog, registry: Registry) -> Iterator[ChannelStatus]:
    registered = registry.connectors()
    for namespace in catalog.namespaces():
        for name in catalog.tables(namespace):
            table = Table(catalog.jvm, name, catalog.load(name))
            state = table.state()
            for connector in sorted(state.properties_under(PREFIX)):
                try:
                    tokens = read(state, str(name), connector)
                except FrazilError as error:
                    _log.error("the tokens of a connector cannot be read", connector=connector, cause=str(error))
                    continue
                if tokens is not None:
                    yield from _of_table(table, connector, tokens, registered.get(connector))


def _of_table(table: Table, connector: str, tokens: Tokens, known: Registered | None) -> list[ChannelStatus]:
    partitions = [
        SourcePartition(topic, number)
        for topic, found in tokens.topics.items()
        for number in range(len(found.channels))
    ]
    state = known.current_state() if known else "STOPPED"
    full, alone = str(table.name), table.name.name
    if known is None:
        return channels_of(connector, full, alone, tokens, {}, state, None)
    try:
        source = _source(known, tokens)
    except FrazilError as error:
        _log.warning("the broker cannot be asked", connector=known.name, cause=error.message)
        return channels_of(connector, full, alone, tokens, {}, state, None)
    try:
        return channels_of(connector, full, alone, tokens, source.latest(partitions), state, source)
    except FrazilError as error:
        _log.warning("the broker did not answer", connector=known.name, cause=error.message)
        return channels_of(connector, full, alone, tokens, {}, state, None)
    finally:
        source.close()


def _source(known: Registered, tokens: Tokens) -> KafkaSource:
    isolation: Literal["read_uncommitted", "read_committed"] = (
        "read_committed" if known.isolation_level == "read_committed" else "read_uncommitted"
    )
    return KafkaSource(known.client(), "frazil-channels", tuple(tokens.topics), None, "earliest", isolation)


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
        "state",
        "last commit",
        "last error",
    )
    for each in found:
        table.add_row(
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
            each.state,
            _shown(each.last_commit_time),
            _shown(each.last_error),
        )
    return table


def _shown(value: object) -> str:
    return "–" if value is None else str(value)
