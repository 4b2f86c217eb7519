"""`frazil channels release`: deregister the consumers of a connector that is stopped for good."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import orjson
from rich.console import Console

from frazil.cli.catalogs import open_desk
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.config import load
from frazil.config.kinesis import CLASS, KinesisSettings
from frazil.connector.registry import Registry
from frazil.connector.releasing import release
from frazil.errors import InvalidConfiguration
from frazil.tables.jvm.asked import Asked


def release_consumers(
    file: Path,
    worker: Path | None,
    home: Path | None,
    *,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Deregister consumers and print of which streams.

    Raises:
        InvalidConfiguration: the file is wrong, or no connector's for Kinesis.
        ConsumersInUse: the connector runs.
    """
    settings = load(file, worker, {"frazil.home": str(home)} if home else None)
    own = settings.source
    if not isinstance(own, KinesisSettings):
        raise InvalidConfiguration.single(
            f"the connector file {file}", "connector.class", f"is none for Kinesis. Give the file of a {CLASS}."
        )
    console = people()
    registered = Registry(Path(settings.home)).connectors().get(settings.key)
    wanted = Asked(Path(settings.home), settings.spark, settings.catalog, settings.database)
    with open_desk(wanted, console) as desk:
        # Opening the embedded catalog would make it.
        is_there = bool(settings.spark) or (Path(settings.home) / "catalog.db").exists()
        catalog = desk.catalog(to_write=False) if is_there else None
        with console.status("Looking at the streams …"):
            done = release(settings, own, catalog, registered)
    if format == "json":
        rows = [{"stream": stream, "consumer": own.application_name, "released": was} for stream, was in done.items()]
        sys.stdout.write(visible_json(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode()) + "\n")
        return 0
    output = Console(width=None if sys.stdout.isatty() else 200)
    for stream, was in done.items():
        said = f"is deregistered from {stream}" if was else f"was not registered with {stream}"
        output.print(cell(f"The consumer {own.application_name} {said}."))
    output.print("Done. A connector that is started again registers it again." if any(done.values()) else "Done.")
    return 0
