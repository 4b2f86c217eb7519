"""The prompt of `frazil sql`."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import threading
from pathlib import Path
from typing import Self

import pyarrow as pa
import pytest
from prompt_toolkit.document import Document
from rich.console import Console
from tests.cli.answers import EndlessEngine, ReadyEngine, SmallLake
from tests.support.processes import FRAZIL

from frazil.cli.completing import Completion
from frazil.cli.prompt import Prompt
from frazil.testing.topics import wait_until


def test_statements_are_answered_and_the_prompt_goes_on_after_a_mistake(capsys: pytest.CaptureFixture[str]):
    engine = ReadyEngine({"select 1": pa.table({"A": [17]}), "select 2": pa.table({"A": [18]})})

    said = typed(engine, "select 1; select 3; select 2", "select 2;")

    assert engine.asked == ["select 1", "select 3", "select 2"]
    assert "17" in said
    assert "18" in said
    assert "there is no answer to select 3" in capsys.readouterr().err


def test_short_commands_stand_for_statements():
    engine = ReadyEngine({"SHOW TABLES": pa.table({"name": ["ORDERS"]}), "DESCRIBE TABLE orders": pa.table({"A": [1]})})

    said = typed(engine, r"\d", r"\d orders", r"\timing", r"\?", r"\nothing")

    assert engine.asked == ["SHOW TABLES", "DESCRIBE TABLE orders"]
    assert "Timing is off" in said
    assert r"\d TABLE" in said
    assert r"There is no \nothing" in said


def test_timing_is_shown_until_it_is_turned_off():
    engine = ReadyEngine({"select 1": pa.table({"A": [17]})})

    before, after = typed(engine, "select 1;", r"\timing", "select 1;").split("Timing is off.")

    assert before.count(" s\n") == 1
    assert after.count(" s\n") == 0


@pytest.mark.parametrize("word", [r"\q", "exit", "quit;", "QUIT"])
def test_a_word_leaves(word: str):
    engine = ReadyEngine()

    typed(engine, word, "select 1;")

    assert engine.asked == []


def test_ctrl_c_at_the_prompt_forgets_what_is_typed_and_within_a_statement_ends_it():
    engine = EndlessEngine()
    asks = iter([KeyboardInterrupt(), "select n from endless;", EOFError()])
    out = io.StringIO()

    def ask() -> str:
        found = next(asks)
        if isinstance(found, BaseException):
            raise found
        threading.Thread(target=interrupt, args=(engine,)).start()
        return found

    Prompt(engine, Console(quiet=True), Console(file=out)).run(ask)

    assert engine.cancelled.is_set(), out.getvalue()
    assert "The statement was ended." in out.getvalue()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("select ord", {"ORDER", "ORDERS"}),
        ("select * from orders where ord", {"ORDER", "ORDERS", "ORDER_ID"}),
        ("select odd from orders where od", {'"odd name"'}),
        ("select date_tr", {"DATE_TRUNC"}),
        ("\\t", {"\\timing"}),
    ],
)
def test_names_functions_and_keywords_are_completed(before: str, expected: set[str]):
    found = Completion(SmallLake()).get_completions(Document(before), None)

    assert {each.text for each in found} == expected


@pytest.fixture
def home(orders_home: Path) -> Path:
    return orders_home


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_a_terminal_gets_a_prompt(home: Path, tmp_path: Path, terminal: str):
    with Terminal(home, tmp_path, terminal) as seen:
        seen.until("frazil>")
        seen.type("select 20 + 3 as\n")
        seen.type(" sum;\n")
        seen.until("23")
        seen.type("\\d\n")
        seen.until("ORDERS")
        seen.type("select 1 +;\n")
        seen.until("[query]")
        seen.type("\\q\n")
        assert seen.process.wait(30) == 0
    if terminal != "dumb":
        history = tmp_path / "frazil" / "sql_history"
        assert "sum;" in history.read_text()
        assert history.stat().st_mode & 0o777 == 0o600


def typed(engine: ReadyEngine, *lines: str) -> str:
    """What is said to who types lines."""
    left = iter(lines)
    out = io.StringIO()

    def ask() -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    assert Prompt(engine, Console(quiet=True), Console(file=out, width=200)).run(ask) == 0
    return out.getvalue()


def interrupt(engine: EndlessEngine) -> None:
    """Press Ctrl-C, and again if nothing happens: a collection's callback may swallow what the first one raises."""
    engine.given.wait()
    os.kill(os.getpid(), signal.SIGINT)
    while not engine.cancelled.wait(5):
        os.kill(os.getpid(), signal.SIGINT)


class Terminal:
    """`frazil sql` at a terminal."""

    def __init__(self, home: Path, state: Path, kind: str) -> None:
        self._ours, theirs = pty.openpty()
        self._said = ""
        self.process = subprocess.Popen(
            [FRAZIL, "sql", "--home", str(home)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": kind, "XDG_STATE_HOME": str(state), "COLUMNS": "100", "LINES": "40"},
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        os.close(self._ours)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> None:
        """Wait until it has said `text` since the last time."""
        wait_until(lambda: text in self._said or self.process.poll() is not None, repr(text), 60)
        assert text in self._said, self._said
        self._said = self._said.partition(text)[2]

    def _read(self) -> None:
        while True:
            try:
                found = os.read(self._ours, 4096)
            except OSError:  # it has ended
                return
            self._said += found.decode(errors="replace")
