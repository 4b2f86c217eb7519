"""The archive of the classes that Spark's JVM loads at its start (class data sharing): with it, Spark starts sooner.

`frazil.tables.archiving` makes it. It belongs to one Java, one pyspark and one set of packages: where one of them is
another, there is none until it is made again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

import pyspark
from pyspark.find_spark_home import _find_spark_home

_QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""The JVM would write to standard output, which is for results, that an archive does not fit."""


def archive(packages: str) -> Path:
    """Where the archive is, or would be, for this Java and this pyspark with `packages`."""
    cache = Path(os.environ.get("FRAZIL_CACHE") or Path.home() / ".cache" / "frazil")
    return cache / f"classes-{_fingerprint(packages)}.jsa"


def using(path: Path) -> str:
    """The JVM's options to start with an archive; empty where it does not exist."""
    return f'"-XX:SharedArchiveFile={path}" {_QUIET}' if path.exists() else ""


def making(path: Path) -> str:
    """The JVM's options to write an archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={path}" {_QUIET}'


def _fingerprint(packages: str) -> str:
    """Differs where the JVM could not use the archive: it looks at its own version and its class path as well."""
    # Under spark-submit, pyspark itself is imported from an archive.
    jars = Path(_find_spark_home(), "jars")
    facts = [packages, pyspark.__version__, jars, jars.stat().st_mtime_ns, *_java()]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _java() -> tuple[str, int]:
    """The Java that Spark would start, and since when it is there."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    real = Path(found or "java").resolve()
    return str(real), real.stat().st_mtime_ns if real.exists() else 0
