"""`frazil channels import`: show what taking over checkpoints would do, and do it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import orjson
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_desk
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.config import ConnectorSettings, load
from frazil.config.kinesis import CLASS, KinesisSettings
from frazil.connector.importing import Import, Importer
from frazil.connector.registry import Registry
from frazil.connector.taking_over import Checkpoints, Consent, Taken
from frazil.cycle.identity import require_topics
from frazil.errors import InvalidConfiguration
from frazil.sources import kinds
from frazil.sources.kinesis.checkpoint_tables import read
from frazil.sources.kinesis.checkpointed import look_up
from frazil.sources.kinesis.checkpoints import Keeper
from frazil.tables.jvm.asked import Asked


def import_checkpoints(
    file: Path,
    worker: Path | None,
    home: Path | None,
    keeper: Keeper,
    table: str,
    stream: str | None,
    reason: str | None,
    consent: Consent,
    *,
    writes: bool,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Take over checkpoints for a connector, or only print what that would do.

    Args:
        file: the connector's.
        worker: the worker's file.
        home: the home, where that is not the one its file says.
        keeper: whose the checkpoints are.
        table: the table of DynamoDB's that has them.
        stream: which stream they are of, where the table does not say.
        reason: for the audit.
        consent: what may be lost or fenced.
        writes: whether tokens are to be written.
        format: for people or for programs.

    Raises:
        InvalidConfiguration: the file is wrong, or no connector's for Kinesis.
    """
    settings = load(file, worker, {"frazil.home": str(home)} if home else None)
    if not isinstance(settings.source, KinesisSettings):
        raise InvalidConfiguration.single(
            f"the connector file {file}", "connector.class", f"is none for Kinesis. Give the file of a {CLASS}."
        )
    console = people()
    with console.status("Reading the checkpoints …"):
        checkpoints = Checkpoints(keeper, table, read(settings.source.client, table, keeper))
    plans = _imported(settings, checkpoints, stream, reason, consent, console, writes=writes)
    if format == "json":
        rows = [row for each in plans for row in _rows(settings, each)]
        sys.stdout.write(visible_json(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()) + "\n")
    else:
        _print(plans, checkpoints, writes=writes)
    return 0


def which(from_kcl: str | None, from_openflow: str | None) -> tuple[Keeper, str]:
    """Whose checkpoints, and in which table.

    Raises:
        InvalidConfiguration: not exactly one table is given.
    """
    if from_kcl and not from_openflow:
        return "kcl", from_kcl
    if from_openflow and not from_kcl:
        return "openflow", from_openflow
    raise InvalidConfiguration.single(
        "the command line", "--from-…", "give exactly one of --from-kcl and --from-openflow, with a table of DynamoDB's"
    )


def _imported(
    settings: ConnectorSettings,
    checkpoints: Checkpoints,
    stream: str | None,
    reason: str | None,
    consent: Consent,
    console: Console,
    *,
    writes: bool,
) -> list[Import]:
    source = kinds.open_source(settings)
    try:
        with console.status("Looking at the streams …"):
            facts = source.discover()
    finally:
        source.close()
    require_topics(settings, facts)
    registered = Registry(Path(settings.home)).connectors().get(settings.key)
    wanted = Asked(Path(settings.home), settings.spark, settings.catalog, settings.database)
    with open_desk(wanted, console) as desk:
        # Opening the embedded catalog would make it.
        is_there = writes or bool(settings.spark) or (Path(settings.home) / "catalog.db").exists()
        catalog = desk.catalog(to_write=writes) if is_there else None
        importer = Importer(settings, catalog, registered, facts, partial(look_up, settings.source.client))
        with console.status("Reading the tables …"):
            plans = importer.plan(checkpoints, stream, consent)
        for each in plans if writes else ():
            importer.write(each, checkpoints, reason, consent)
    return plans


def _rows(settings: ConnectorSettings, done: Import) -> Iterator[dict[str, Any]]:
    for each in done.taken:
        yield {
            "connector": settings.key,
            "channel": f"{settings.key}_{each.partition.topic}_{each.partition.partition}",
            "stream": each.partition.topic,
            "shard": each.partition.partition,
            "table": str(done.name),
            "checkpoint": each.checkpoint.written if each.checkpoint else None,
            "offset_token_before": _token(each),
            "offset_token": str(each.target.last),
        }


def _print(plans: Sequence[Import], checkpoints: Checkpoints, *, writes: bool) -> None:
    output = Console(width=None if sys.stdout.isatty() else 200)
    table = RichTable()
    for name in ("stream", "shard", "table", "checkpoint", "the channel has", "it gets", "what it means"):
        table.add_column(name, overflow="fold")  # a part of a sequence number tells nothing
    for plan in plans:
        for each in plan.taken:
            texts = (
                each.partition.topic,
                str(each.partition.partition),
                str(plan.name),
                each.checkpoint.written if each.checkpoint else "–",
                _token(each) or "–",
                str(each.target.last),
                each.meaning,
            )
            table.add_row(*map(cell, texts))
    output.print(table)
    streams = {each.partition.topic for plan in plans for each in plan.taken}
    others = sum(each.stream is not None and each.stream not in streams for each in checkpoints.found)
    if others:
        output.print(cell(f"Checkpoints of other streams, which are left alone: {others}."))
    for plan in plans:
        output.print(cell(f"{plan.name}: {'it is made' if plan.table is None else f'owner: {plan.owner}'}."))
    if writes:
        output.print("Done. Start the connector to go on there.")
    else:
        output.print(
            "Nothing was changed: this was a dry run. Stop whoever keeps these checkpoints, and give --yes: what they "
            "read after that would land twice."
        )


def _token(taken: Taken) -> str | None:
    return None if taken.held is None else str(taken.held.last)
