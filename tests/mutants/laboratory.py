"""Make a mutant of the package and run tests against it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import frazil

from .catalogue import Mutant

ROOT = Path(__file__).parents[2]
PACKAGE = Path(frazil.__file__).parent


class OutOfDate(Exception):
    """A mutant's passage is not in the code, or more than once."""


class NothingLearned(Exception):
    """The tests did not run, or are red without a mutant."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test said."""

    test: str
    """As pytest names it."""

    green: bool
    says: str = ""
    """The first line of its failure."""


def breed(mutant: Mutant | None, directory: Path) -> Path:
    """Copy the package to `directory` and make the mutant of it; None: as it is.

    Raises:
        OutOfDate: the code changed since the mutant was written.
    """
    copy = directory / "frazil"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in mutant.edits if mutant else ():
        path = copy / edit.module
        text = path.read_text()
        if text.count(edit.old) != 1:
            raise OutOfDate(f"{edit.module} has {text.count(edit.old)} times, not once: {edit.old!r}")
        path.write_text(text.replace(edit.old, edit.new))
    return directory


def run(source: Path, tests: Sequence[str]) -> list[Outcome]:
    """Run tests with the package of `source`.

    Raises:
        NothingLearned: they were not run, or not that package.
    """
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, "-c", "import frazil; print(frazil.__file__)"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    if not Path(found.stdout.strip()).is_relative_to(source):
        raise NothingLearned(f"{found.stdout.strip()} would be tested, not the copy in {source}")
    report = source / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", str(report), *tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    outcomes = list(map(_outcome, ET.parse(report).iter("testcase"))) if report.exists() else []
    if done.returncode not in (0, 1) or {each.test for each in outcomes} != set(tests):
        raise NothingLearned(f"not every test was run:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
    return outcomes


def _outcome(case: ET.Element) -> Outcome:
    test = f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"
    if case.find("error") is not None or case.find("skipped") is not None:
        # Red for a reason that has nothing to do with the mutant, most likely.
        raise NothingLearned(f"{test} did not come to its end:\n{''.join(case.itertext())[-4000:]}")
    failure = case.find("failure")
    return Outcome(test, True) if failure is None else Outcome(test, False, _first_line(failure))


def _first_line(failure: ET.Element) -> str:
    return failure.attrib.get("message", "").strip().splitlines()[0][:160]
