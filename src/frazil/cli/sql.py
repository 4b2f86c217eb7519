"""`frazil sql`: statements over the tables, one after the other, their rows to wherever they are wanted."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rich.console import Console

from frazil.cli.catalogs import open_desk
from frazil.cli.console import people
from frazil.cli.printing.documents import write_json, write_json_lines
from frazil.cli.printing.table import WIDE, print_table, room_of
from frazil.cli.running import Answers, Arriving, running
from frazil.cli.scripts import changes, statements
from frazil.cli.visible import visible
from frazil.errors import FrazilError, InvalidConfiguration
from frazil.snowflake.statements import split, verb
from frazil.tables.jvm.asked import asked

if TYPE_CHECKING:
    from frazil.model import ChannelStatus
    from frazil.tables.iceberg.catalog import Catalog

Format: TypeAlias = Literal["table", "json", "jsonl", "csv", "parquet"]


MAY_HAVE_HAPPENED: Final = "was interrupted, and may have been carried out all the same"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How rows are wanted."""

    format: Format
    output: Path | None
    """The file that gets them; None for standard output."""


def run_sql(text: str | None, file: Path | None, wanted: Wanted, home: Path, worker: Path | None) -> int:
    """Run the statements of a text, of a file, or of standard input; at a terminal without any of them, prompt.

    Raises:
        InvalidQuery: a statement is none that is run, or names what does not exist.
        InvalidConfiguration: the options do not go together, or a file cannot be read or written.
    """
    _require_sense(text, file, wanted)
    given = None if text is None and file is None else split(text if text is not None else _read(file))
    if wanted.format == "parquet" and (given is None or len(given) > 1):
        raise _refused("--format", "a Parquet file holds the rows of one statement: give exactly one")
    from frazil.queries.engine import Engine

    console = people()
    # A CREATE may be the first statement of a home.
    wanted_catalog = asked(home, worker, makes=any(verb(text) == "CREATE" for text in given or ()))
    with (
        open_desk(wanted_catalog, console) as desk,
        Engine(catalog := desk.catalog(to_write=True), desk.spark, lambda: _channels(home, catalog)) as engine,
    ):
        if given is None and sys.stdin.isatty() and wanted == Wanted("table", None):
            from frazil.cli.prompt import prompt

            return prompt(engine, console)
        run_all(engine, statements(sys.stdin) if given is None else given, wanted, console)
    return 0


def _channels(home: Path, catalog: Catalog) -> list[ChannelStatus]:
    from frazil.connector.overview import Overview
    from frazil.connector.registry import Registry

    with closing(Overview(Registry(home))) as overview:
        return overview.look(catalog)[0]


def run_all(engine: Answers, texts: Iterable[str], wanted: Wanted, console: Console) -> None:
    """Run statements until one fails; of several, it is said which one that was, and what was done before it.

    Args:
        engine: what answers them.
        texts: the statements, each as far from its beginning as in the text they come from.
        wanted: where their rows go.
        console: where people are told.
    """
    done = 0
    with _target(wanted) as target:
        coming = iter(texts)
        for text in coming:
            try:
                answering = running(
                    engine, text, console, said_throughout=target is not None or not sys.stdout.isatty()
                )
                with answering as found:
                    write(found, wanted.format, target)
            except (FrazilError, KeyboardInterrupt) as error:
                rest = len(list(coming)) if isinstance(texts, list) else 0
                ended = "failed" if isinstance(error, FrazilError) else _interrupted(text)
                if done or rest or ended == MAY_HAVE_HAPPENED:
                    console.print(_failed(text, ended, done, rest), highlight=False, markup=False, soft_wrap=True)
                raise
            done += 1


def _interrupted(text: str) -> str:
    return MAY_HAVE_HAPPENED if changes(text) else "was interrupted"


def _failed(text: str, ended: str, done: int, rest: int) -> str:
    line = text[: len(text) - len(text.lstrip())].count("\n") + 1
    after = f"; {_statements(rest)} after it {'was' if rest == 1 else 'were'} not run" if rest else ""
    nothing = "nothing was done" if ended != MAY_HAVE_HAPPENED else "none was before it"
    before = f"{_statements(done)} before it {'was' if done == 1 else 'were'} carried out" if done else nothing
    return f"The statement at line {line} {ended}: {before}{after}."


def _statements(count: int) -> str:
    return "1 statement" if count == 1 else f"{count} statements"


def write(found: Arriving, form: Format, target: Path | None) -> None:
    """Write the rows of an answer to a file, or to standard output."""
    if form == "parquet":
        from frazil.cli.printing.parquet import write_parquet

        assert target is not None  # noqa: S101 (`_require_sense`)
        write_parquet(found.schema, found.batches, target)
        return
    if target is None:
        _print(found, form)
        return
    with target.open("ab") as out:
        if form == "csv":
            from frazil.cli.printing.sheet import write_csv

            write_csv(found.columns, found.schema, found.batches, out)
            return
    with target.open("a", encoding="utf-8") as out_text:
        if form == "table":
            print_table(found.columns, found.batches, Console(file=out_text, width=WIDE.width), WIDE)
        else:
            _documents(form)(found.schema.names, found.columns, found.batches, out_text)


def _print(found: Arriving, form: Format) -> None:
    is_terminal = sys.stdout.isatty()
    if form == "table":
        console = Console(width=None if is_terminal else WIDE.width)
        print_table(found.columns, found.batches, console, room_of(console) if is_terminal else WIDE)
    elif form == "csv":
        from frazil.cli.printing.sheet import write_csv

        sys.stdout.flush()
        # A file gets what is there; a terminal would act on some of it.
        write_csv(found.columns, found.schema, found.batches, sys.stdout.buffer, visible if is_terminal else None)
    else:
        _documents(form)(found.schema.names, found.columns, found.batches, sys.stdout)
    sys.stdout.flush()


def _documents(form: Format) -> Callable[..., None]:
    return write_json_lines if form == "jsonl" else write_json


@contextmanager
def _target(wanted: Wanted) -> Iterator[Path | None]:
    """The file that is written to: a draft, which takes the place of `output` once all is in it."""
    if wanted.output is None or (wanted.output.exists() and not wanted.output.is_file()):
        yield wanted.output
        return
    draft = wanted.output.with_name(f".{wanted.output.name}.{uuid.uuid4().hex}")
    try:
        draft.touch()
        yield draft
        draft.replace(wanted.output)
    except OSError as error:
        raise _refused("--output", f"{wanted.output} cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _require_sense(text: str | None, file: Path | None, wanted: Wanted) -> None:
    if text is not None and file is not None:
        raise _refused("--file", "there is a statement already; give one of the two")
    if wanted.format == "parquet" and wanted.output is None:
        raise _refused("--output", "a Parquet file needs a name: --output rows.parquet")


def _read(file: Path | None) -> str:
    try:
        return "" if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused("--file", f"{file} cannot be read: {error}") from error


def _refused(option: str, reason: str) -> InvalidConfiguration:
    return InvalidConfiguration.single("the command line", option, reason)
