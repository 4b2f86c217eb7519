"""The prompt of `frazil sql`: statements as they are typed, and short commands that begin with a backslash."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from frazil.cli.console import complain
from frazil.cli.printing.table import WIDE, print_table, room_of
from frazil.cli.running import running
from frazil.cli.scripts import changes, is_complete
from frazil.errors import FrazilError
from frazil.snowflake.statements import split

if TYPE_CHECKING:
    from frazil.queries.engine import Engine

_HELP: Final = """\
A statement ends with a semicolon and may have several lines. Ctrl-C ends it, or forgets what is typed.
  \\d          list the tables
  \\d TABLE    describe a table
  \\timing     say how long statements take, or no more
  \\q          leave; so does Ctrl-D
  \\?          this
SHOW TABLES, COLUMNS, SCHEMAS, PIPES and CHANNELS, DESCRIBE TABLE and EXPLAIN are statements as well, and so are CREATE,
ALTER and DROP TABLE and CREATE and DROP PIPE."""

Ask = Callable[[], str]
"""Reads what is typed next. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C."""


def prompt(engine: Engine, console: Console) -> int:
    """Answer what is typed until somebody leaves."""
    return Prompt(engine, console, Console()).run(_plain() if _is_dumb() else _comfortable(engine))


@dataclass(slots=True)
class Prompt:
    """Reads, answers, and goes on after whatever goes wrong."""

    engine: Engine
    console: Console
    """For what is said meanwhile."""

    output: Console
    """For rows."""

    timing: bool = True

    def run(self, ask: Ask) -> int:
        """Answer until the end."""
        self.output.print(r"Statements end with ;  \? helps, \q leaves.", highlight=False)
        while True:
            try:
                typed = ask().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if typed.rstrip(";").strip().lower() in ("\\q", "exit", "quit"):
                return 0
            self._take(typed)

    def _take(self, typed: str) -> None:
        statement = ""
        try:
            for statement in self._commanded(typed) if typed.startswith("\\") else split(typed):
                self._answer(statement)
        except FrazilError as error:
            complain(error)
        except KeyboardInterrupt:
            all_the_same = " It may have been carried out all the same." if changes(statement) else ""
            self.output.print(f"The statement was ended.{all_the_same}")

    def _commanded(self, typed: str) -> Iterator[str]:
        """What a short command stands for; some stand for no statement."""
        word, _, rest = typed.rstrip(";").partition(" ")
        match word, rest.strip():
            case "\\d" | "\\dt", "":
                yield "SHOW TABLES"
            case "\\d", name:
                yield f"DESCRIBE TABLE {name}"
            case "\\timing", _:
                self.timing = not self.timing
                self.output.print(f"Timing is {'on' if self.timing else 'off'}.")
            case "\\?" | "\\h", _:
                self.output.print(_HELP, highlight=False, markup=False)
            case _:
                self.output.print(f"There is no {word}; \\? lists what there is.", highlight=False, markup=False)

    def _answer(self, statement: str) -> None:
        began = time.monotonic()
        with running(self.engine, statement, self.console, said_throughout=False) as found:
            room = room_of(self.output) if self.output.is_terminal else WIDE
            print_table(found.columns, found.batches, self.output, room)
        if self.timing:
            self.output.print(f"{time.monotonic() - began:.3f} s", style="dim", highlight=False)


def _is_dumb() -> bool:
    return os.environ.get("TERM", "dumb") in ("dumb", "unknown") or not sys.stdout.isatty()


def _plain() -> Ask:
    """Lines as any terminal gives them."""

    def ask() -> str:
        typed = input("frazil> ")
        while typed.strip() and not _is_whole(typed):
            typed += "\n" + input("   ...> ")
        return typed

    return ask


def _comfortable(engine: Engine) -> Ask:
    """With a history, completion and editing of several lines."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from frazil.cli.completing import Completion

    file = _history()
    history: History = FileHistory(str(file)) if file else InMemoryHistory()
    keys = KeyBindings()
    session: PromptSession[str] = PromptSession(
        "frazil> ",
        history=history,
        completer=Completion(engine.lake),
        complete_while_typing=False,
        complete_in_thread=True,
        multiline=True,
        prompt_continuation="   ...> ",
        key_bindings=keys,
    )

    @Condition
    def is_whole() -> bool:
        buffer = session.default_buffer
        return buffer.complete_state is None and (not buffer.text.strip() or _is_whole(buffer.text))

    @keys.add("enter", filter=is_whole)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return session.prompt


def _is_whole(typed: str) -> bool:
    """Whether nothing more is to be typed."""
    return typed.lstrip().startswith("\\") or typed.strip().lower() in ("exit", "quit") or is_complete(typed)


def _history() -> Path | None:
    """The file with what was typed before, for nobody else's eyes; None where there can be none."""
    state = os.environ.get("XDG_STATE_HOME", "")
    try:
        directory = (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "frazil"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = directory / "sql_history"
        file.touch(mode=0o600)
        file.open("ab").close()
    except (OSError, RuntimeError):  # no home, or none that can be written to
        return None
    return file
