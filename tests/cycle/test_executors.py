"""What is sent to executors finds out what they lack, and needs nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from tests.support.bare import bare_python, packages_of

from frazil import __version__
from frazil.cycle.executors import LIBRARIES, looking_first, require_fit, unfit_python
from frazil.dev.jars import pyspark_jars
from frazil.errors import ExecutorUnfit

SPARKS_OWN = os.pathsep.join(str(each) for each in (pyspark_jars().parent / "python" / "lib").glob("*.zip"))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return bare_python(tmp_path / "bare")


def test_an_executor_without_frazil_says_where_it_is_and_what_it_lacks(bare: Path):
    with pytest.raises(ExecutorUnfit) as refused:
        require_fit(answers(bare))

    assert str(bare) in refused.value.message
    assert all(library in refused.value.message for library in ("frazil", *LIBRARIES))
    assert "frazil pack" in refused.value.message


def test_an_executor_with_another_frazil_is_told_from_one_with_the_drivers(bare: Path):
    tasks = packages_of(bare) / "frazil" / "staging"
    tasks.mkdir(parents=True)
    (tasks / "task.py").write_text("def stage_nothing(numbers):\n    yield from numbers\n")
    (tasks.parent / "__init__.py").write_text("__version__ = '0.0.1'\n")
    with pytest.raises(ExecutorUnfit, match=f"has frazil 0.0.1, the driver has {__version__}"):
        require_fit(answers(bare))

    (tasks.parent / "__init__.py").write_text(f"__version__ = {__version__!r}\n")
    assert answers(bare) == [1, 2]


def test_a_library_that_is_there_and_broken_is_told_as_its_import_tells_it(bare: Path):
    (packages_of(bare) / "frazil").mkdir()
    (packages_of(bare) / "frazil" / "__init__.py").write_text("import duckdb\n")
    broken = "raise ImportError('libstdc++.so.6: version GLIBCXX_3.4.32 not found')\n"
    (packages_of(bare) / "duckdb.py").write_text(broken)

    with pytest.raises(ExecutorUnfit, match="GLIBCXX_3"):
        require_fit(answers(bare))


def test_the_libraries_looked_for_are_those_that_tasks_import():
    script = "import sys; import frazil.staging.task, frazil.sources.kafka.reader; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}

    assert set(LIBRARIES) <= imported
    others = {"attr", "pygments", "rich", "typing_extensions"}  # what those bring themselves, or do without
    known = {*LIBRARIES, *others, "frazil", *sys.stdlib_module_names}
    assert {name for name in imported - known if not name.startswith("_") and "cython" not in name} == set()


def test_an_ordinary_failure_says_nothing_of_pythons():
    assert unfit_python("Job aborted: Lost task 0.3 (TID 3) (10.0.0.5 executor 1): ExecutorLostFailure") is None


def answers(python: Path) -> list[Any]:
    """What the shipped function says of two numbers, run by that interpreter with Spark's own pyspark."""
    shipped = cloudpickle.dumps(looking_first("stage_nothing"))
    script = "import json, pickle, sys; print(json.dumps(list(pickle.load(sys.stdin.buffer)(iter([1, 2])))))"
    environment = {**os.environ, "PYTHONPATH": SPARKS_OWN}
    done = subprocess.run([python, "-c", script], input=shipped, capture_output=True, env=environment, check=True)
    found: list[Any] = json.loads(done.stdout)
    return found
