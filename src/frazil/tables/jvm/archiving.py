"""Make the archive with which Spark's JVM starts sooner; once per machine is enough.

    python -m frazil.tables.jvm.archiving

A session in a process of its own does a little of everything; when its JVM ends, it writes down the classes it loaded.
Another session starts with the result before anybody else does: a JVM trusts its archive, and would crash on half of
one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyspark import SparkContext

from frazil.errors import ProgramMissing
from frazil.tables.iceberg.syncing import syncing
from frazil.tables.jvm import class_archive
from frazil.tables.jvm.session import COMPILER, EMBEDDED, JVM_OPTIONS, PACKAGES, open_session

_STATEMENTS: Final = (
    "CREATE NAMESPACE frazil.public",
    "CREATE TABLE frazil.public.T (a BIGINT, b STRING) USING iceberg",
    "INSERT INTO frazil.public.T VALUES (1, 'x')",
    "ALTER TABLE frazil.public.T ADD COLUMN c STRUCT<d: DECIMAL(9, 2)>",
    "SELECT b, count(*) FROM frazil.public.T GROUP BY b",
    "SELECT * FROM frazil.public.T.snapshots",
)
_WITHIN: Final = 300.0
"""Seconds a session may take."""


def make() -> Path:
    """Make the archive, anew if there is one, and return where it is.

    Raises:
        ProgramMissing: Spark's JVM does not start, or not with the archive it made.
    """
    path = class_archive.archive(PACKAGES)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{uuid.uuid4().hex}")
    try:
        _start(class_archive.making(draft))
        _start(f"-Xshare:on {class_archive.using(draft)}")  # does not start where the archive is of no use
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _start(options: str) -> None:
    """Have a process of its own start a session, and wait for the end of both."""
    command = [sys.executable, "-m", "frazil.tables.jvm.archiving", f"--start={options}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN, check=False)
    if done.returncode != 0:
        remedy = "frazil works without the archive; Spark only takes longer to start."
        raise ProgramMissing("a JVM with class data sharing", f"there is none: {done.stderr[-500:]}", remedy)


def _session(options: str) -> int:
    """In that process: a session with these options of the JVM, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="frazil-archive-") as home:
        session = open_session(Path(home), "local[2]", {JVM_OPTIONS: f"{COMPILER} {options}"})
        for statement in _STATEMENTS:
            session.sql(statement).collect()
        session.sparkContext.parallelize(range(2), 2).mapPartitions(list).collect()
        syncing(session, EMBEDDED)
        session.stop()
    java = SparkContext._gateway.proc  # noqa: SLF001 (pyspark has no public way to its JVM)
    java.stdin.close()  # the JVM ends with it
    return int(java.wait(_WITHIN))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the archive, or be the process that starts a session for it."""
    options = argparse.ArgumentParser(prog="python -m frazil.tables.jvm.archiving", description=__doc__)
    options.add_argument("--start", help=argparse.SUPPRESS)
    chosen = options.parse_args(arguments)
    if chosen.start is not None:
        return _session(chosen.start)
    print(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
