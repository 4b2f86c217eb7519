from __future__ import annotations

import io

import pyarrow as pa
import pytest
from rich.console import Console
from tests.cli.answers import EndlessEngine, ReadyEngine

from frazil.cli.running import running
from frazil.cli.sql import Wanted, run_all
from frazil.errors import InvalidQuery
from frazil.queries.answer import Answer

CONSOLE = Console(quiet=True)


def test_what_goes_wrong_while_a_statement_runs_is_raised_where_it_was_asked():
    with pytest.raises(InvalidQuery, match="no answer to select 1"), running(ReadyEngine(), "select 1", CONSOLE, said_throughout=True):  # fmt: skip
        pytest.fail("there is no answer")


def test_whoever_leaves_early_ends_the_statement():
    engine = EndlessEngine()

    with running(engine, "select n from endless", CONSOLE, said_throughout=True) as found:
        assert next(found.batches).to_pydict() == {"N": [1]}

    assert engine.cancelled.is_set()


def test_an_interrupt_ends_the_statement_and_goes_on_to_whoever_asked():
    engine = EndlessEngine()

    with pytest.raises(KeyboardInterrupt), running(engine, "select n from endless", CONSOLE, said_throughout=True):
        raise KeyboardInterrupt

    assert engine.cancelled.is_set()


class InterruptedEngine(ReadyEngine):
    """Answers statements until somebody presses Ctrl-C within one that it has no answer to."""

    def answer(self, text: str) -> Answer:
        try:
            return super().answer(text)
        except InvalidQuery:
            raise KeyboardInterrupt from None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["select 1"], ""),
        (["DROP TABLE t"], "The statement at line 1 was interrupted, and may have been carried out all the same: none was before it."),
        (["CREATE TABLE t (n INT)", "select 1", "select 2"], "The statement at line 1 was interrupted: 1 statement before it was carried out; 1 statement after it was not run."),
        (["CREATE TABLE t (n INT)", "\nalter\ntable t DROP COLUMN n"], "The statement at line 2 was interrupted, and may have been carried out all the same: 1 statement before it was carried out."),
    ],
)  # fmt: skip
def test_after_an_interrupt_it_is_said_what_was_carried_out_and_what_may_have_been(
    texts: list[str], expected: str, capsys: pytest.CaptureFixture[str]
):
    engine = InterruptedEngine({"CREATE TABLE t (n INT)": pa.table({"status": ["done"]})})
    out = io.StringIO()

    with pytest.raises(KeyboardInterrupt):
        run_all(engine, texts, Wanted("jsonl", None), Console(file=out, width=300))

    assert out.getvalue().strip() == expected
    assert capsys.readouterr().out.count("done") == len(texts) // 2
