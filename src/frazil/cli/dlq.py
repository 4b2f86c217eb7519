"""`frazil dlq list` and `show`: which records were rejected, and what they are."""

from __future__ import annotations

import base64
import datetime as dt
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import orjson
from rich.console import Console
from rich.table import Table as RichTable

from frazil.cli.catalogs import open_desk
from frazil.cli.console import people
from frazil.cli.visible import cell, visible_json
from frazil.config import load
from frazil.connector.registry import Registry
from frazil.connector.rejected.desk import Asked, RejectDesk
from frazil.connector.rejected.listing import Described, RejectGroup
from frazil.errors import InvalidConfiguration, Problem
from frazil.queries.engine import Engine
from frazil.tables.jvm.asked import asked as asked_catalog

_WIDE: Final = 200
"""Characters of a line where there is no terminal."""

_LONGEST: Final = 500
"""Characters of a key, a value or a header that are shown to people."""


@dataclass(frozen=True, slots=True)
class Given:
    """Where connectors are known, and which one is meant."""

    home: Path
    connector: Path | None
    worker: Path | None


@contextmanager
def open_rejects(given: Given, console: Console, *, to_write: bool) -> Iterator[RejectDesk]:
    """What answers questions about rejected records."""
    settings = load(given.connector, given.worker) if given.connector else None
    with (
        open_desk(asked_catalog(given.home, given.worker), console) as desk,
        Engine(catalog := desk.catalog(to_write=to_write), desk.spark) as engine,
    ):
        yield RejectDesk(catalog, engine, Registry(given.home), settings)


def require_sense(asked: Asked, *, one: bool = False, limit: int = 1) -> None:
    """Refuse options that do not go together; `one` where all tables are too many.

    Raises:
        InvalidConfiguration: they do not.
    """
    problems = []
    if asked.table is not None and asked.topic is not None:
        problems.append(Problem("--topic", "is given together with --table. Keep one of them."))
    if one and asked.table is None and asked.topic is None:
        problems.append(Problem("--table", "is missing. Name a table, or a dead-letter topic with --topic."))
    if limit < 1:
        problems.append(Problem("--limit", f"is {limit}. Write 1 or more."))
    if problems:
        raise InvalidConfiguration("the command line", problems)


def list_rejects(given: Given, asked: Asked, format: Literal["table", "json"]) -> int:  # noqa: A002 (the option's name)
    """Print the groups of rejected records."""
    require_sense(asked)
    console = people()
    with open_rejects(given, console, to_write=False) as desk, console.status("Reading rejected records …"):
        found = desk.groups(asked)
    if format == "json":
        write_json([_group(each) for each in found])
        return 0
    output = wide()
    if not found:
        output.print("There are no such records.")
        return 0
    output.print(_listed(found))
    left = sum(each.count - each.replayed for each in found)
    output.print(f"{left} of {sum(each.count for each in found)} are not replayed. `frazil dlq show` shows them.")
    return 0


def show_rejects(given: Given, asked: Asked, limit: int, format: Literal["table", "json"]) -> int:  # noqa: A002
    """Print rejected records one by one."""
    require_sense(asked, limit=limit)
    console = people()
    with open_rejects(given, console, to_write=False) as desk, console.status("Reading rejected records …"):
        found = [*desk.records(asked, limit)]
    if format == "json":
        write_json([document(each) for each in found])
        return 0
    output = wide()
    for each in found:
        output.print(shown(each))
    output.print("There are no such records." if not found else f"Shown: {len(found)}. --limit shows more.")
    return 0


def write_json(document: Any) -> None:
    """Print a document for programs."""
    sys.stdout.write(visible_json(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()) + "\n")


def wide() -> Console:
    """The console for results."""
    return Console(width=None if sys.stdout.isatty() else _WIDE)


def _group(group: RejectGroup) -> dict[str, Any]:
    return {**asdict(group), "first_time": moment_of(group.first_time), "last_time": moment_of(group.last_time)}


def _listed(found: Sequence[RejectGroup]) -> RichTable:
    table = RichTable(
        "table", "topic", "partition", "code", "column", "reason", "records", "replayed", "offsets", "when"
    )
    for each in found:
        offsets = _span(each.first_offset, each.last_offset)
        when = _span(moment_of(each.first_time), moment_of(each.last_time))
        texts = (each.table, each.topic, each.partition, each.code, each.column, each.reason)
        numbers = (str(each.count), str(each.replayed), offsets, when)
        table.add_row(*(cell("–" if text is None else str(text)) for text in (*texts, *numbers)))
    return table


def _span(first: object, last: object) -> str:
    return "–" if first is None else str(first) if first == last else f"{first} … {last}"


def document(reject: Described) -> dict[str, Any]:
    """A reject for programs."""
    row = reject.row
    return {
        "table": reject.table,
        **{name: row[name] for name in ("connector", "topic", "partition", "offset")},
        "timestamp": _moment(row["timestamp"]),
        "rejected_at": _moment(row["rejected_at"]),
        **{name: row[name] for name in ("stage", "code", "column", "message", "commit")},
        "replayed": reject.replayed,
        **_bytes("key", row["key"]),
        **_bytes("value", row["value"]),
        "headers": [{"name": each["name"], **_bytes("value", each["value"])} for each in row["headers"] or ()],
    }


def _bytes(name: str, value: bytes | None) -> Mapping[str, str | None]:
    """Bytes as text if they are one; else in base64, under a name that says so."""
    try:
        return {name: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value or b"").decode()}


def shown(reject: Described) -> RichTable:
    """A reject for people."""
    row = reject.row
    place = f"{row['topic']}-{row['partition']}, offset {row['offset']}"
    table = RichTable("record", f"{place}{', replayed' if reject.replayed else ''}", title_justify="left")
    facts = {
        "table": reject.table,
        "connector": row["connector"],
        "produced": _moment(row["timestamp"]),
        "rejected": _moment(row["rejected_at"]),
        "why": f"{row['code']} ({row['stage']}) {row['column'] + ': ' if row['column'] else ''}{row['message']}",
        "key": _legible(row["key"]),
        "value": _legible(row["value"]),
        **{f"header {each['name']}": _legible(each["value"]) for each in row["headers"] or ()},
    }
    for name, text in facts.items():
        table.add_row(cell(name), cell("–" if text is None else text))
    return table


def _legible(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = f"0x{value[: _LONGEST // 2].hex()}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _moment(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def moment_of(milliseconds: int | None) -> str | None:
    """Milliseconds since the epoch as people read them."""
    if milliseconds is None:
        return None
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="seconds")
