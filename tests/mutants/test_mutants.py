"""The mutation check itself: the pure half of it, and that it cannot pass by accident."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.catalogue import MUTANTS, Edit, Mutant
from tests.mutants.laboratory import PACKAGE, ROOT, NothingLearned, Outcome, OutOfDate, breed, run


def test_every_mutant_is_noticed_by_the_tests_of_pure_rules() -> None:
    command = [sys.executable, "-m", "tests.mutants", "--pure"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"red: (\S+)", done.stdout) == [test for mutant in MUTANTS for test in mutant.pure]


def test_the_page_lists_every_mutant_with_its_tests() -> None:
    rows = [line for line in (ROOT / "docs" / "testing.md").read_text().splitlines() if line.startswith("| `no-")]

    assert [re.findall(r"`(no-[\w-]+|test_\w+)`", row) for row in rows] == [
        [mutant.name, *(test.rpartition("::")[2] for test in mutant.tests)] for mutant in MUTANTS
    ]


def test_a_mutant_differs_from_the_package_in_its_edits_and_in_nothing_else(tmp_path: Path) -> None:
    mutant = MUTANTS[0]

    copy = breed(mutant, tmp_path) / "frazil"

    other = [
        path for path in PACKAGE.rglob("*.py") if path.read_text() != (copy / path.relative_to(PACKAGE)).read_text()
    ]
    assert [str(path.relative_to(PACKAGE)) for path in other] == [edit.module for edit in mutant.edits]


@pytest.mark.parametrize("old", ["no such passage", "import"])
def test_a_passage_that_is_not_there_exactly_once_is_out_of_date(old: str, tmp_path: Path) -> None:
    with pytest.raises(OutOfDate, match=rf"sql\.py has \d+ times, not once: '{old}'"):
        breed(Mutant("m", "", (Edit("sql.py", old, ""),), (), ()), tmp_path)


def test_a_test_that_a_mutant_does_not_touch_stays_green(tmp_path: Path) -> None:
    test = "tests/tables/rules/test_tokens.py::test_a_table_never_opened_has_no_tokens"

    assert run(breed(MUTANTS[0], tmp_path), [test]) == [Outcome(test, True)]


def test_a_mutant_that_cannot_be_imported_teaches_nothing(tmp_path: Path) -> None:
    broken = Mutant("m", "", (Edit("tables/rules/tokens.py", "def encode(", "def encode((("),), (), ())

    with pytest.raises(NothingLearned):
        run(breed(broken, tmp_path), ["tests/tables/rules/test_tokens.py::test_a_table_never_opened_has_no_tokens"])
