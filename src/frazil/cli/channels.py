"""`frazil channels`: every channel of every connector, from the tables themselves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal

import orjson
import structlog
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.connector.overview import Overview
from frazil.connector.registry import Registry
from frazil.connector.states import State
from frazil.connector.token_scan import ConnectorTokens
from frazil.cycle import sharing
from frazil.errors import Transient
from frazil.model import ChannelStatus
from frazil.tables.rules.tokens import Tokens

_KEYS: Final = 20
"""Keys that a line names; JSON has them all."""

_UNSENT: Final = 60.0
"""Seconds for which accepted records may wait to be sent on before that is said."""

_CLOSE: Final = 0.5
"""How much of what its source retains a channel may be behind before that is said."""

_EVERY: Final = 2.0
"""Seconds between two looks."""

_log = structlog.get_logger(__name__)


def show_channels(home: Path, worker: Path | None, format: Literal["table", "json"], *, watch: bool = False) -> int:  # noqa: A002 (the option's name)
    """Print the channels of all connectors that ever committed to the catalog; with `watch`, again and again."""
    console = people()
    with closing(Overview(Registry(home))) as overview, open_catalog(home, worker, console, to_write=False) as catalog:
        if watch:
            _watch(lambda: overview.look(catalog)[0], format)
            return 0
        with console.status("Reading the tables …"):
            found, held = overview.look(catalog)
    if format == "json":
        document = orjson.dumps([asdict(each) for each in found], option=orjson.OPT_INDENT_2).decode()
        sys.stdout.write(visible_json(document) + "\n")
    else:
        Console(width=None if sys.stdout.isatty() else 200).print(_shown(found))
    _tell_of_sharing(held)
    return 0


def _watch(look: Callable[[], list[ChannelStatus]], format: Literal["table", "json"]) -> None:  # noqa: A002
    """Show what there is every few seconds until somebody ends it: in place where that can be done."""
    if format == "json":
        for found in _looks(look):
            sys.stdout.write(visible_json(orjson.dumps([asdict(each) for each in found]).decode()) + "\n")
            sys.stdout.flush()
    output = Console(width=None if sys.stdout.isatty() else 200)
    with Live(console=output, auto_refresh=False) if output.is_terminal else nullcontext() as live:
        for found in _looks(look):
            if live:
                live.update(_shown(found), refresh=True)
            else:
                output.print(_shown(found))


def _looks(look: Callable[[], list[ChannelStatus]]) -> Iterator[list[ChannelStatus]]:
    while True:
        try:
            yield look()
        except Transient as error:
            _log.warning("it cannot be said just now", cause=error.message)
        time.sleep(_EVERY)


def _tell_of_sharing(held: Sequence[ConnectorTokens]) -> None:
    tables: dict[str, dict[str, Tokens]] = {}
    for each in held:
        tables.setdefault(str(each.table.name), {})[each.connector] = each.tokens
    for table, by_connector in tables.items():
        for found in sharing.shared(by_connector):
            sharing.tell(table, found)


def _shown(found: Sequence[ChannelStatus]) -> Group | str:
    if not found:
        return "No connector has opened a table yet."
    return Group(_table(found), *_dropped(found), *_left_behind(found), *_unsent(found), *_expiring(found))


def _dropped(found: Sequence[ChannelStatus]) -> Iterator[Text]:
    """A line for each table that lacks columns for values of records."""
    by_table = {(each.connector, each.table): each.dropped for each in found if each.dropped}
    for (connector, table), dropped in by_table.items():
        most = sorted(dropped.items(), key=lambda each: (-each[1], each[0]))
        counts = ", ".join(f"{key} {count:,}" for key, count in most[:_KEYS])
        more = f" and {len(most) - _KEYS} more keys" if len(most) > _KEYS else ""
        yield cell(f"{connector} dropped values of keys without a column in {table}: {counts}{more}")


def _left_behind(found: Sequence[ChannelStatus]) -> Iterator[Text]:
    """Lines for each table that has damaged lists or files, or rejects that wait or that a place did not take."""
    for each in {(each.connector, each.table): each for each in found}.values():
        if each.rejects_wait and each.state != State.RUNNING:
            yield cell(f"Rejected records of {each.table} wait for {each.connector}: `frazil dlq waiting` shows them")
        for path in each.set_aside or ():
            yield cell(f"{each.connector} set aside a damaged file of {each.table}; see `frazil dlq waiting`: {path}")
        for place, count in (each.refused or {}).items():
            yield cell(f"The {place} of {each.connector} took {count:,} records of {each.table} in no form")


def _unsent(found: Sequence[ChannelStatus]) -> Iterator[Text]:
    """A line for each table whose accepted records have waited for a while."""
    for each in {(each.connector, each.table): each for each in found}.values():
        if each.output_seconds is not None and each.output_seconds >= _UNSENT:
            yield cell(
                f"{each.connector} has {each.output_files:,} files of accepted records of {each.table} to send on; the "
                f"oldest has waited for {each.output_seconds:,.0f} s"
            )


def _expiring(found: Sequence[ChannelStatus]) -> Iterator[Text]:
    """A line for each channel that retention comes close to."""
    for each in found:
        if each.retention_used is not None and each.retention_used >= _CLOSE:
            text = cell(
                f"{each.channel} is covered up to what had come by {each.read_through}: {each.retention_used:.0%} of "
                "the time for which its stream keeps records has passed since. Read on, or retain longer."
            )
            text.stylize("yellow")
            yield text


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
        "reason",
    )
    for each in found:
        texts = (
            each.connector,
            each.topic,
            str(each.partition),
            each.table,
            _text(each.offset_token),
            _text(each.latest_offset),
            _text(each.lag_records),
            _text(each.lag_seconds),
            f"{each.rows_inserted:,}",
            f"{each.rows_error:,}",
            f"{each.records_lost:,}",
            each.state,
            _text(each.last_commit_time),
            _text(each.last_error),
            _text(each.reason),
        )
        table.add_row(*map(cell, texts))
    return table


def _text(value: object) -> str:
    return "–" if value is None else str(value)
