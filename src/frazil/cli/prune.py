"""`frazil channels prune`: drop the tokens of topics that are gone, or show which those are."""

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
from frazil.connector.brokers import Brokers
from frazil.connector.pruning import Pruned, Pruner
from frazil.connector.registry import Registry
from frazil.connector.resetting import Wanted


def prune_channels(
    home: Path,
    brokers: Brokers,
    worker: Path | None,
    wanted: Wanted,
    reason: str | None,
    *,
    dry: bool,
    force: bool,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Prune channels and print what was done, or what would be."""
    console = people()
    with open_catalog(home, worker, console) as catalog, console.status("Reading the tables …"):
        done = Pruner(catalog, Registry(home), brokers).prune(wanted, reason, dry=dry, force=force)
    if format == "json":
        rows = [row for each in done for row in _rows(each)]
        sys.stdout.write(visible_json(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()) + "\n")
        return 0
    output = Console(width=None if sys.stdout.isatty() else 200)
    output.print(_table(done))
    for line in sorted({line for each in done for line in _remarks(each)}):
        output.print(cell(line))
    if not any(each.topics for each in done):
        output.print("There is nothing to drop: no topic of the tokens is gone.")
    elif dry:
        output.print("Nothing was changed: this was a dry run.")
    else:
        output.print("Done. A topic that comes under one of these names is opened as a new one.")
    return 0


def _remarks(done: Pruned) -> Iterator[str]:
    for topic in done.elsewhere:
        yield f"The topic {topic} is of another cluster, which was not asked; its tokens stay."
    for topic in done.made_again:
        yield f"The topic {topic} was made again; its tokens stay, and `frazil channels reset` sets them."
    yield f"Owner of {done.holding.table.name}: {done.owner}."


def _rows(done: Pruned) -> Iterator[dict[str, Any]]:
    for name, topic in sorted(done.topics.items()):
        for number, token in zip(topic.channels, topic.tokens(), strict=True):
            yield {
                "connector": done.holding.connector,
                "channel": f"{done.holding.connector}_{name}_{number}",
                "topic": name,
                "partition": number,
                "table": str(done.holding.table.name),
                "offset_token_before": token,
            }


def _table(done: Sequence[Pruned]) -> RichTable:
    table = RichTable("connector", "topic", "table", "tokens that go")
    for each in done:
        for name, topic in sorted(each.topics.items()):
            tokens = ", ".join(token or "–" for token in topic.tokens())
            texts = (each.holding.connector, name, str(each.holding.table.name), tokens)
            table.add_row(*map(cell, texts))
    return table
