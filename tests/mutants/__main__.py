"""Run all named tests without a mutant, then each mutant's against it, and say which went red."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from .catalogue import MUTANTS, Mutant
from .laboratory import NothingLearned, Outcome, breed, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every named test is green without its mutant and red with it."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    mutants = [mutant for mutant in MUTANTS if not options.only or mutant.name in options.only]
    chosen = {mutant: mutant.pure if options.pure else mutant.tests for mutant in mutants}
    with console.status("Without a mutant …"):
        _require_green([test for tests in chosen.values() for test in tests])
    unnoticed = 0
    for mutant, tests in chosen.items():
        with console.status(f"Without {mutant.lacks} …"), tempfile.TemporaryDirectory() as directory:
            outcomes = run(breed(mutant, Path(directory)), tests)
        unnoticed += sum(each.green for each in outcomes)
        _show(mutant, outcomes)
    return 1 if unnoticed else 0


def _require_green(tests: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        red = [each for each in run(breed(None, Path(directory)), list(dict.fromkeys(tests))) if not each.green]
    if red:
        raise NothingLearned("red without any mutant: " + "; ".join(f"{each.test}: {each.says}" for each in red))


def _show(mutant: Mutant, outcomes: Sequence[Outcome]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"[bold]without {escape(mutant.lacks)}[/]")
    for each in outcomes:
        console.print(f"  {'[red]UNNOTICED by[/]' if each.green else 'red:'} {escape(each.test)}")
        if each.says:
            console.print(f"       {escape(each.says)}", style="dim")


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    options.add_argument("--only", action="append", choices=[mutant.name for mutant in MUTANTS], help="default: all")
    options.add_argument("--pure", action="store_true", help="only the tests of pure rules")
    return options


if __name__ == "__main__":
    sys.exit(main())
