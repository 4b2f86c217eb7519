"""`frazil channels adopt`: let a table take over the tokens of another one, or show what that would do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import orjson
from rich.console import Console

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.connector.adopting import AdoptedTable, Adopter, Adoption
from frazil.connector.registry import Registry


def adopt_table(
    home: Path,
    worker: Path | None,
    table: str,
    source: AdoptedTable,
    connector: str | None,
    *,
    dry: bool,
    force: bool,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Adopt a table and print what was done, or what would be."""
    console = people()
    with open_catalog(home, worker, console) as catalog, console.status("Reading the tables …"):
        done = Adopter(catalog, Registry(home)).adopt(table, source, connector, dry=dry, force=force)
    if format == "json":
        sys.stdout.write(visible_json(orjson.dumps(_document(done), option=orjson.OPT_INDENT_2).decode()) + "\n")
        return 0
    output = Console(width=None if sys.stdout.isatty() else 200)
    verb = "would take over" if dry else "took over"
    output.print(cell(f"{done.table.name} {verb} the tokens of {done.connector} from {done.taken_from}:"))
    for topic, found in done.tokens.topics.items():
        output.print(cell(f"  {topic}: {', '.join(token or '–' for token in found.tokens())}"))
    for sign in done.owners:
        output.print(cell(f"Owner: {sign}."))
    if done.takes_place_of is None:
        output.print("The connector goes on there once its file says:")
        output.print(cell(f"  snowflake.topic2table.map={done.entries}"), soft_wrap=True)
    elif done.takes_place_of != done.table.name.name:
        said = f"The connector goes on there once it is called {done.takes_place_of}, as the table of this value is."
        output.print(cell(said))
    if dry:
        output.print("Nothing was changed: this was a dry run.")
    return 0


def _document(done: Adoption) -> dict[str, Any]:
    return {
        "connector": done.connector,
        "table": str(done.table.name),
        "taken_from": done.taken_from,
        "offset_tokens": {topic: found.tokens() for topic, found in done.tokens.topics.items()},
        "topic2table": done.entries,
        "takes_place_of": done.takes_place_of,
    }
