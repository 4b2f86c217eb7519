"""`frazil dlq waiting`, `deliver` and `drop`: rejects that have not come to where they go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_catalog
from frazil.cli.console import people
from frazil.cli.dlq import moment_of, wide, write_json
from frazil.cli.visible import cell
from frazil.connector.registry import Registry
from frazil.connector.rejected.waiting import Delivered, Waiting, WaitingRejects


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decides about rejects that wait."""

    table: str
    reason: str | None
    is_sure: bool
    """Whether it is to be done, and not only shown."""

    even_if_owned: bool


def list_waiting(home: Path, worker: Path | None, table: str | None, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print what waits."""
    with _open(home, worker, to_write=False) as waiting:
        found = waiting.all(table)
    if format == "json":
        write_json([_document(each) for each in found])
        return 0
    _print(found)
    return 0


def deliver_waiting(home: Path, worker: Path | None, decided: Decided) -> int:
    """Append what waits to the error table and print what came of it; exit code 3 where something is still damaged."""
    with _open(home, worker, to_write=decided.is_sure) as waiting:
        done = waiting.deliver(decided.table, decided.reason, dry=not decided.is_sure, force=decided.even_if_owned)
    output = _print([each.waiting for each in done])
    for each in done:
        for line in _outcome(each) if decided.is_sure else ():
            output.print(cell(line))
    if not decided.is_sure:
        output.print("Nothing was changed. Give --yes to append these rejects to the table's error table.")
        return 0
    return 3 if any(each.damaged for each in done) else 0


def drop_waiting(home: Path, worker: Path | None, decided: Decided) -> int:
    """Forget what waits, and print what that was."""
    with _open(home, worker, to_write=decided.is_sure) as waiting:
        done = waiting.drop(decided.table, decided.reason, dry=not decided.is_sure, force=decided.even_if_owned)
    output = _print(done)
    output.print(
        "Dropped. The reject files stay where they are."
        if decided.is_sure
        else "Nothing was changed. Give --yes to forget these rejects. `frazil dlq deliver` appends them to a table."
    )
    return 0


@contextmanager
def _open(home: Path, worker: Path | None, *, to_write: bool) -> Iterator[WaitingRejects]:
    console = people()
    with open_catalog(home, worker, console, to_write=to_write) as catalog, console.status("Reading the tables …"):
        yield WaitingRejects(catalog, Registry(home).connectors())


def _print(found: Sequence[Waiting]) -> Console:
    output = wide()
    if not found:
        output.print("No rejected records wait.")
        return output
    table = RichTable("table", "connector", "reject lists", "since", "set aside", "not taken")
    for each in found:
        refused = ", ".join(f"{place} {count:,}" for place, count in each.refused.items()) or "–"
        texts = (
            each.table,
            each.connector,
            f"{each.lists:,}",
            moment_of(each.since) or "–",
            str(len(each.set_aside)),
            refused,
        )
        table.add_row(*map(cell, texts))
    output.print(table)
    for path in (path for each in found for path in each.set_aside):
        output.print(cell(f"Set aside, for it is damaged: {path}"))
    return output


def _outcome(done: Delivered) -> Iterator[str]:
    yield f"{done.rows:,} rejected records were appended for {done.waiting.connector}."
    for path in done.damaged:
        yield f"Still damaged, and set aside: {path}"


def _document(waiting: Waiting) -> dict[str, object]:
    return {**asdict(waiting), "since": moment_of(waiting.since)}
