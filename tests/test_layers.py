"""The house plan holds: imports point down, and every room says what it is for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import frazil

ROOT = Path(frazil.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def test_imports_point_down() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]

    result = subprocess.run(command, cwd=ROOT.parent.parent, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is_for(module: Path) -> None:
    docstring = ast.get_docstring(ast.parse(module.read_text()))

    assert docstring
    assert docstring.splitlines()[0].endswith((".", "?", ":", ";"))
