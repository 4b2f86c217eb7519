"""Find the Java that Spark would use, and see that it is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from frazil.errors import ProgramMissing

MINIMUM = 17
"""What Spark 4 and Kafka 4 need."""

REMEDY = f"Install Java {MINIMUM} or newer and put it on PATH, or point JAVA_HOME at it."


def require_java() -> str:
    """Return the path of a Java that is new enough.

    Raises:
        ProgramMissing: there is none, or it is too old.
    """
    program = find_java()
    if program is None:
        raise ProgramMissing(f"Java {MINIMUM}", "there is no `java` in JAVA_HOME or on PATH", REMEDY)
    version = version_of(program)
    if version < MINIMUM:
        raise ProgramMissing(f"Java {MINIMUM}", f"{program} is Java {version}", REMEDY)
    return program


def find_java() -> str | None:
    """Look where Spark looks: JAVA_HOME first, then PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        return str(program) if program.exists() else None
    return shutil.which("java")


def version_of(program: str) -> int:
    """Ask `program` for its major version; 0 when it does not say."""
    answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    return parse_version(answer.stderr + answer.stdout)


def parse_version(text: str) -> int:
    """Read the major version from what `java -version` prints (`1.8.0_392` is 8)."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0
