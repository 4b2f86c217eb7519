"""Text from outside on a terminal is shown, and neither the terminal nor rich acts on it."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import pyarrow as pa
import pytest
import structlog
from rich.console import Console
from tests.cli.answers import answer
from tests.cycle.memory import World, settings
from tests.memory import connector

from frazil.cli import log
from frazil.cli.app import main
from frazil.cli.channels import _shown
from frazil.cli.console import complain
from frazil.cli.printing.documents import write_json
from frazil.cli.printing.table import WIDE, print_table
from frazil.cli.progress import Meter, overview
from frazil.cli.running import Arriving
from frazil.cli.sql import write
from frazil.errors import CatalogUnavailable, InvalidQuery, InvalidRecord
from frazil.model import ChannelStatus
from frazil.queries.answer import Answer
from frazil.testing.topics import wait_until

ACTING = "\x1b[31mred \x1b]0;title\x07 \x9b31m \x00 \x08\x08 over\rwritten \x7f \u202etxt.exe \u2066 \u2028 \u200f"
"""What a terminal would act on: escape sequences in 7 and 8 bits, and what moves the cursor or turns the writing."""

MARKUP = "[bold]x[/bold] [link=https://example.com]y[/link] [/red] [/] :smile: \\[z]"
"""What rich would act on; a tag that was not opened ends a program."""

HOSTILE = f"{ACTING} {MARKUP}"


def hostile_rows() -> Answer:
    """One row under one head, both hostile."""
    return answer(pa.table({HOSTILE: [HOSTILE]}))


MakeLogger = Callable[[], structlog.BoundLogger]


def assert_shown(printed: str, *, times: int = 1) -> None:
    """The hostile text was printed, each character of it that acts as an escape."""
    assert not [each for each in printed if not each.isprintable() and each not in "\n\r\t"]
    assert "\r" not in printed.replace("\r\n", "")
    joined = "".join(printed.split())
    for part in MARKUP.split():
        assert joined.count(part) >= times
    for escape in ("\\x1b[31mred", "\\x1b]0;title\\x07", "\\x9b31m", "\\x0dwritten", "\\u202etxt.exe"):
        assert joined.count(escape) >= times


@pytest.fixture
def logger() -> Iterator[MakeLogger]:
    """Logging as the commands do it, to what is standard error when it is called."""

    def make() -> structlog.BoundLogger:
        log.configure()
        return structlog.get_logger("x")

    yield make
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "error",
    [
        InvalidQuery(HOSTILE),
        InvalidRecord({"topic": "t", "partition": 0, "offset": 1, "column": HOSTILE}, "a reason", HOSTILE),
    ],
)
def test_an_error_is_shown(error: InvalidQuery, capsys: pytest.CaptureFixture[str]) -> None:
    complain(error)

    assert_shown(capsys.readouterr().err)


def test_halves_of_characters_are_shown(logger: MakeLogger, capsys: pytest.CaptureFixture[str]) -> None:
    complain(InvalidQuery("a\ud800b"))
    logger().warning("a key has no column", key="a\udc00b")

    printed = capsys.readouterr().err
    assert "a\\ud800b" in printed
    assert "a\\udc00b" in printed


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE.replace(" ", "_")])
def test_a_log_line_is_shown(logger: MakeLogger, capsys: pytest.CaptureFixture[str], text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError as error:
        logger().exception(text, key=text, keys=[text], by_key={text: 1}, error=error)

    printed = capsys.readouterr().err
    assert not [each for each in printed if not each.isprintable() and each != "\n"]
    assert "[bold]" in printed


def test_a_line_feed_in_a_fact_begins_no_line(logger: MakeLogger, capsys: pytest.CaptureFixture[str]) -> None:
    logger().warning("a key has no column", key="x\n12:00:00 [info     ] all is well")

    assert len(capsys.readouterr().err.splitlines()) == 1


def test_channels_are_shown() -> None:
    texts = {
        "connector",
        "channel",
        "topic",
        "table",
        "pipe",
        "offset_token",
        "last_error",
        "state",
        "last_commit_time",
    }
    status = ChannelStatus(**{each.name: HOSTILE if each.name in texts else 0 for each in fields(ChannelStatus)})
    terminal = Console(file=io.StringIO(), width=5000)

    terminal.print(_shown([replace(status, dropped={HOSTILE: 1})]))

    assert_shown(terminal.file.getvalue(), times=9)  # type: ignore[attr-defined]


def test_the_progress_of_connectors_is_shown() -> None:
    def down(_: str) -> None:
        raise CatalogUnavailable("answer", HOSTILE)

    world = World()
    world.cluster.create_topic("orders")
    world.catalog.on_request = down
    waiting = connector(settings(name=MARKUP), world.cluster, world.catalog)
    waiting.start()
    try:
        wait_until(lambda: waiting.error is not None, "the catalog's outage to be noticed")
        terminal = Console(file=io.StringIO(), width=5000)
        terminal.print(overview([Meter(waiting)]))
    finally:
        waiting.stop()

    printed = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert_shown(printed)
    assert printed.count("[bold]x[/bold]") == 2  # a name has no control characters, and may have markup


def test_rows_of_a_query_are_shown() -> None:
    out = io.StringIO()

    print_table(hostile_rows().columns, hostile_rows().batches, Console(file=out, width=10_000), WIDE)

    assert_shown(out.getvalue(), times=2)


def test_rows_as_json_have_no_character_that_acts_and_are_what_they_were() -> None:
    out = io.StringIO()

    write_json([HOSTILE], hostile_rows().columns, hostile_rows().batches, out)

    assert all(each.isprintable() or each == "\n" for each in out.getvalue())
    assert json.loads(out.getvalue()) == [{HOSTILE: HOSTILE}]


@pytest.mark.parametrize("terminal", [False, True])
def test_rows_as_csv_are_exact_in_a_file_and_shown_on_a_terminal(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)

    write(Arriving(hostile_rows().columns, hostile_rows().batches.schema, iter(hostile_rows().batches)), "csv", None)

    printed = capsysbinary.readouterr().out.decode()
    if terminal:
        assert_shown(printed, times=2)
    else:
        assert list(csv.reader(io.StringIO(printed, newline=""))) == [[HOSTILE], [HOSTILE]]


def test_a_hostile_configuration_is_shown(tmp_path, logger: MakeLogger, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "connector.json"
    name = HOSTILE.replace("\0", "")
    file.write_text(json.dumps({"name": name, "topics": name, f"key {name}": name, "errors.tolerance": name}))

    assert main(["validate", str(file)]) == 2

    printed = capsys.readouterr()
    assert not [each for each in printed.out + printed.err if not each.isprintable() and each != "\n"]
    assert "[bold]" in printed.err
