from __future__ import annotations

import pytest
from rich.console import Console
from tests.cli.answers import EndlessEngine, ReadyEngine

from frazil.cli.running import running
from frazil.errors import InvalidQuery

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
