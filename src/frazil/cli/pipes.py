"""`frazil pipes` and `frazil explain`: which pipes there are, and what one does to records."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal

import orjson
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.connector.explaining import Explainer, Explanation
from frazil.connector.pipe_listing import ListedPipe, pipes_in
from frazil.connector.registry import Registry
from frazil.connector.trying import Trial

_WIDE: Final = 200
"""Characters of a line where there is no terminal."""

_LONGEST: Final = 300
"""Characters of a record that are shown to people."""


def show_pipes(home: Path, worker: Path | None, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print the pipes of the catalog."""
    console = people()
    with open_catalog(home, worker, console, to_write=False) as catalog, console.status("Reading the tables …"):
        found = pipes_in(catalog, Registry(home).connectors())
    if format == "json":
        _write([{**asdict(each), "created": _time(each.created)} for each in found])
    else:
        _console().print(_listed(found) if found else "There is no pipe yet.")
    return 0


def explain_pipe(
    name: str,
    sample: Path | None,
    records: int,
    home: Path,
    worker: Path | None,
    format: Literal["table", "json"],  # noqa: A002 (the option's name)
) -> int:
    """Print what a pipe does, and what it makes of the records of a file, or of the last ones of its topics."""
    console = people()
    with open_catalog(home, worker, console, to_write=False) as catalog, console.status("Reading records …"):
        explainer = Explainer(catalog, Registry(home))
        found = explainer.of_file(name, sample) if sample else explainer.of_last_records(name, records)
    if format == "json":
        _write({**asdict(found), "trials": [_trial(each) for each in found.trials]})
    else:
        _print(found, _console())
    return 0


def _print(found: Explanation, output: Console) -> None:
    kind = "default pipe" if found.sql is None else "pipe"
    output.print(cell(f"The {kind} {found.pipe} of the table {found.table}"))
    columns = RichTable("column", "type", "takes")
    for column in found.columns:
        columns.add_row(cell(column.name), cell(column.type), cell(column.takes or "–"))
    output.print(columns)
    if found.condition:
        output.print(cell(f"WHERE {found.condition}"))
    for warning in found.warnings:
        output.print(cell(f"Note: {warning}."))
    output.print("\nDuckDB runs:")
    output.print(cell(found.statement), soft_wrap=True)
    output.print()
    if found.trials:
        output.print(_tried(found.trials))
    else:
        output.print("There are no records to try.")


def _tried(trials: Sequence[Trial]) -> RichTable:
    table = RichTable("topic", "partition", "offset", "record", "becomes")
    for each in trials:
        record = "no value" if each.value is None else _cut(each.value)
        table.add_row(*map(cell, (each.topic, str(each.partition), str(each.offset), record, _becomes(each))))
    return table


def _becomes(trial: Trial) -> str:
    if trial.reject is not None:
        place = f"column {trial.reject.column}: " if trial.reject.column else ""
        return f"reject: {place}{trial.reject.reason}"
    if trial.row is None:
        return "left out"
    row = "\n".join(f"{name} = {_cut(value)}" for name, value in trial.row.items())
    return row + (f"\n(no column: {', '.join(trial.dropped)})" if trial.dropped else "")


def _trial(trial: Trial) -> Mapping[str, Any]:
    reject = trial.reject
    return {
        "topic": trial.topic,
        "partition": trial.partition,
        "offset": trial.offset,
        "value": trial.value,
        "becomes": trial.fate,
        "row": None if trial.row is None else {name: orjson.Fragment(text) for name, text in trial.row.items()},
        "column": reject.column if reject else None,
        "reason": reject.reason if reject else None,
        "dropped": trial.dropped,
    }


def _listed(found: Sequence[ListedPipe]) -> RichTable:
    table = RichTable("pipe", "table", "kind", "topics", "created", "by", "comment")
    for each in found:
        texts = (
            each.pipe,
            each.table,
            each.kind,
            ", ".join(each.topics) or "–",
            _time(each.created) or "–",
            each.creator or "–",
            each.comment or "–",
        )
        table.add_row(*map(cell, texts))
    return table


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="seconds")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _write(document: Any) -> None:
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    sys.stdout.write(visible_json(text) + "\n")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _WIDE)
