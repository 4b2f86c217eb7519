"""A Python with nothing in it, as executors have where nobody installed anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def bare_python(directory: Path) -> Path:
    """Make a virtual environment without a package, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    return directory / "bin" / "python"


def packages_of(python: Path) -> Path:
    """Where the packages of such an interpreter would be."""
    return next((python.parents[1] / "lib").glob("python*")) / "site-packages"
