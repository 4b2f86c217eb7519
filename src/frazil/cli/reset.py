"""`frazil channels reset`: set channels to other offsets, or show what that would do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.config import values
from frazil.connector.brokers import Brokers
from frazil.connector.registry import Registry
from frazil.connector.resetting import Reset, Resetter, Wanted, Where
from frazil.errors import InvalidConfiguration


def reset_channels(
    home: Path,
    brokers: Brokers,
    worker: Path | None,
    wanted: Wanted,
    where: Where,
    reason: str | None,
    *,
    dry: bool,
    force: bool,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Reset channels and print what was done, or what would be."""
    console = people()
    with open_catalog(home, worker, console) as catalog, console.status("Reading the tables …"):
        done = Resetter(catalog, Registry(home), brokers).reset(wanted, where, reason, dry=dry, force=force)
    if format == "json":
        rows = [row for each in done for row in _rows(each)]
        sys.stdout.write(visible_json(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()) + "\n")
        return 0
    output = Console(width=None if sys.stdout.isatty() else 200)
    output.print(_table(done))
    for each in done:
        for topic in each.absent:
            output.print(cell(f"The topic {topic} does not exist; its tokens stay as they are."))
    for sign in sorted({f"Owner of {each.holding.table.name}: {each.owner}." for each in done}):
        output.print(cell(sign))
    output.print("Nothing was changed: this was a dry run." if dry else "Done. Start the connector to go on there.")
    return 0


def where_of(*, earliest: bool, latest: bool, offset: int | None, time: str | None) -> Where:
    """Where channels are to go on.

    Raises:
        InvalidConfiguration: not exactly one place is given, or the time is none.
    """
    given = [earliest, latest, offset is not None, time is not None]
    if sum(given) != 1:
        raise InvalidConfiguration.single(
            "the command line", "--to-…", "give exactly one of --to-earliest, --to-latest, --to-offset and --to-time"
        )
    if earliest or latest:
        return Where(place="earliest" if earliest else "latest")
    return Where(offset=offset) if time is None else Where(moment=_moment(time))


def _moment(text: str) -> int:
    """A moment in ms since the epoch; one that names no zone is UTC."""
    try:
        return values.moment_ms(text)
    except ValueError as error:
        raise InvalidConfiguration.single("the command line", "--to-time", str(error)) from error


def _rows(done: Reset) -> Iterator[dict[str, Any]]:
    holding = done.holding
    for move in done.moves:
        partition = move.partition
        yield {
            "connector": holding.connector,
            "channel": f"{holding.connector}_{partition.topic}_{partition.partition}",
            "topic": partition.topic,
            "partition": partition.partition,
            "table": str(holding.table.name),
            "offset_token_before": holding.tokens.channel(partition).token,
            "offset_token": str(move.after.last),
            "other_topic": move.before is None,
            "offsets_again": move.again,
            "offsets_skipped": move.skipped,
        }


def _table(done: Sequence[Reset]) -> RichTable:
    table = RichTable("connector", "topic", "partition", "table", "read next", "from now on", "what it means")
    for each in done:
        for move in each.moves:
            texts = (
                each.holding.connector,
                move.partition.topic,
                str(move.partition.partition),
                str(each.holding.table.name),
                "–" if move.before is None else str(move.before.first),
                str(move.after.first),
                move.meaning,
            )
            table.add_row(*map(cell, texts))
    return table
