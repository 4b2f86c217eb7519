"""The archive of the classes that Spark's JVM loads at its start (class data sharing): with it, Spark starts sooner.

`frazil.tables.jvm.archiving` makes it. It belongs to one Java, one pyspark and one set of packages: where one of them
is another, there is none until it is made again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from frazil.tables.jvm.spark_home import java, spark_home

_QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""The JVM would write to standard output, which is for results, that an archive does not fit."""


def cache_directory() -> Path:
    """Where things made once per user are kept: `FRAZIL_CACHE`, else `~/.cache/frazil`."""
    return Path(os.environ.get("FRAZIL_CACHE") or Path.home() / ".cache" / "frazil")


def archive(packages: str) -> Path:
    """Where the archive is, or would be, for this Java and this Spark with `packages`."""
    return cache_directory() / f"classes-{_fingerprint(packages)}.jsa"


def using(path: Path) -> str:
    """The JVM's options to start with an archive; empty where it does not exist."""
    return f'"-XX:SharedArchiveFile={path}" {_QUIET}' if path.exists() else ""


def making(path: Path) -> str:
    """The JVM's options to write an archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={path}" {_QUIET}'


def _fingerprint(packages: str) -> str:
    """Differs where the JVM could not use the archive: it looks at its own version and its class path as well."""
    jars = spark_home() / "jars"
    facts = [packages, jars, jars.stat().st_mtime_ns, *_java()]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _java() -> tuple[str, int]:
    """The Java that Spark would start, and since when it is there."""
    real = Path(java()).resolve()
    return str(real), real.stat().st_mtime_ns if real.exists() else 0
