"""Fetch Kafka's jars once per user, with the Ivy that ships inside pyspark.

The jars land in a temporary sibling directory that is renamed when all are there, so a directory that exists is
complete. A file lock lets one process fetch while others wait for what it brings.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from frazil.dev.errors import JarsUnavailable
from frazil.dev.java import require_java
from frazil.errors import NothingSetUp

ORGANISATION, MODULE, VERSION = "org.apache.kafka", "kafka_2.13", "4.2.0"
COORDINATES = f"{ORGANISATION}:{MODULE}:{VERSION}"


def kafka_jars(progress: Callable[[str], None] = lambda _: None) -> Path:
    """Return the directory with Kafka's jars, fetching them if this is the first time.

    Args:
        progress: Called with one line for every jar found and every jar fetched.

    Raises:
        ProgramMissing: there is no Java to run Ivy and the broker.
        JarsUnavailable: Ivy could not fetch them.
    """
    java = require_java()
    directory = cache_directory() / f"kafka-{VERSION}"
    if directory.is_dir():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with locked(directory.with_name(f"{directory.name}.lock")):
        if not directory.is_dir():
            fetch(java, directory, progress)
    return directory


def cache_directory() -> Path:
    """Where things fetched once per user are kept: `FRAZIL_CACHE`, else `~/.cache/frazil`."""
    return Path(os.environ.get("FRAZIL_CACHE") or Path.home() / ".cache" / "frazil")


def pyspark_jars() -> Path:
    """The jars inside pyspark, without the cost of importing it."""
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise NothingSetUp("pyspark is not installed beside frazil", "Install frazil with its dependencies.")
    return Path(found.submodule_search_locations[0]) / "jars"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; the system lets go of it when the process dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(java: str, directory: Path, progress: Callable[[str], None]) -> None:
    """Fetch the jars beside `directory` and rename them into place."""
    progress(f"fetching the jars of {COORDINATES} (once, about a minute)")
    arriving = Path(tempfile.mkdtemp(prefix=f"{directory.name}-", dir=directory.parent))
    try:
        retrieve(java, arriving, progress)
        arriving.chmod(0o755)
        arriving.rename(directory)
    except BaseException:
        shutil.rmtree(arriving, ignore_errors=True)
        raise


def retrieve(java: str, directory: Path, progress: Callable[[str], None]) -> None:
    """Run Ivy, telling `progress` of every jar it downloads."""
    ivy = os.pathsep.join(str(jar) for jar in pyspark_jars().glob("ivy-*.jar"))
    # The pattern is relative to the working directory: a path in it could hold Ivy's own brackets.
    pattern = "[artifact]-[revision](-[classifier]).[ext]"
    wanted = ["-dependency", ORGANISATION, MODULE, VERSION, "-confs", "default", "-retrieve", pattern]
    command = [java, "-cp", ivy, "org.apache.ivy.Main", *wanted]
    last_words: deque[str] = deque(maxlen=20)
    output = subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, stdout=output, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None  # noqa: S101 (it was asked for in the line above)
        for line in process.stdout:
            last_words.append(line)
            step = re.search(r"(found|\[SUCCESSFUL \]) \S+?#(\S+?);(\S+?)[! ]", line)
            if step:
                progress(f"{'found' if step[1] == 'found' else 'fetched'} {step[2]} {step[3]}")
    if process.returncode != 0 or not (directory / f"{MODULE}-{VERSION}.jar").exists():
        raise JarsUnavailable(COORDINATES, directory.parent, "".join(last_words))
