"""Spark's Python workers on this machine: where they are surely this Python, they begin with frazil imported."""

from __future__ import annotations

import os
import site
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from frazil.tables.jvm import spark_defaults

_DAEMON: Final = "spark.python.daemon.module"
_OURS: Final = "frazil.staging.daemon"
_PYTHONS: Final = ("spark.pyspark.python", "spark.pyspark.driver.python")


def preloading(theirs: Mapping[str, str]) -> dict[str, str]:
    """The setting of a new session that has its workers begin with frazil imported; none where they might fail to.

    Args:
        theirs: what is set already.
    """
    local = theirs.get("spark.master", "local").startswith("local")
    another = "PYSPARK_PYTHON" in os.environ or any(key in theirs for key in (*_PYTHONS, _DAEMON))
    if not local or another or spark_defaults.is_submitted() or not _finds_frazil():
        return {}
    return {_DAEMON: _OURS}


def are_ours(setting: Callable[[str], str | None]) -> bool:
    """Whether a session, whose settings these are, has been given what `preloading` gives."""
    return setting(_DAEMON) == _OURS


def _finds_frazil() -> bool:
    """Whether this Python finds frazil also when it starts anew, without what was added to its path since."""
    entries = [Path(each).resolve() for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    if Path(__file__).resolve().parents[3] in entries:
        return True
    try:
        installed = Path(str(distribution("frazil").locate_file(""))).resolve()
    except PackageNotFoundError:
        return False
    return installed in {Path(each).resolve() for each in site.getsitepackages()}
