"""A Spark session in a process of its own, and what others on the machine see of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

_SESSION = """
import json, sys
from pathlib import Path
from urllib.request import urlopen
from frazil.tables.jvm.session import open_session

session = open_session(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
context = session.sparkContext
context.parallelize(range(2), 2).mapPartitions(list).collect()
pages = []
if context.uiWebUrl:
    environment = f"api/v1/applications/{context.applicationId}/environment"
    pages = [urlopen(f"{context.uiWebUrl}/{page}").read().decode() for page in ("environment/", environment)]
print(json.dumps({"settings": dict(context.getConf().getAll()), "pages": pages}), flush=True)
sys.stdin.read()
session.stop()
"""


@dataclass
class Seen:
    """What is seen of a session while it starts and runs."""

    settings: dict[str, str] = field(default_factory=dict)
    """What the session itself knows."""

    pages: list[str] = field(default_factory=list)
    """What its pages show."""

    commands: set[str] = field(default_factory=set)
    """Command lines, their words apart by NUL."""

    variables: dict[str, set[str]] = field(default_factory=dict)
    """Environment variables, and what they were."""

    files: dict[str, str] = field(default_factory=dict)
    """What its temporary files held when they were last seen, by their paths."""

    def look(self, processes: Iterable[psutil.Process], session: Sequence[str] = ()) -> None:
        """Look at processes.

        Args:
            processes: to look at.
            session: the session's own command. What shows it is a fork that has not yet become another program: it has
                what the session was given, and nothing of what the session gives.
        """
        for process in processes:
            with suppress(psutil.Error):  # it has ended
                if (command := process.cmdline()) == list(session):
                    continue
                self.commands.add("\0".join(command))
                for name, text in process.environ().items():
                    self.variables.setdefault(name, set()).add(text)

    def showing(self, secret: str) -> tuple[list[str], list[str]]:
        """The command lines and the names of the variables with a secret in them."""
        variables = [name for name, texts in self.variables.items() if any(secret in text for text in texts)]
        return [command for command in self.commands if secret in command], variables

    def files_with(self, secret: str) -> list[str]:
        """The temporary files with a secret in them."""
        return [path for path, text in self.files.items() if secret in text]


def watched(
    home: Path,
    master: str,
    settings: Mapping[str, str],
    variables: Mapping[str, str],
    others: Callable[[], Iterable[psutil.Process]] = lambda: (),
) -> Seen:
    """Watch a session from its start until it has run a job, and the processes it starts.

    Args:
        home: of the session; its temporary files go below it, too.
        master: Spark's.
        settings: what the session is told.
        variables: its environment, over this process's without what that says of Spark.
        others: more processes to look at.
    """
    said, temporary = home / "said", home / "temporary"
    temporary.mkdir()
    around = {key: text for key, text in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    seen = Seen()

    def look(process: psutil.Process) -> None:
        seen.look((*process.children(recursive=True), *others()), command)
        for file in temporary.rglob("*"):
            with suppress(OSError):  # it is a directory or a socket, or is gone
                if file.stat().st_size < 1 << 20:
                    seen.files[str(file)] = file.read_text(errors="replace")

    command = [sys.executable, "-c", _SESSION, str(home), master, json.dumps(dict(settings))]
    environment = {**around, "TMPDIR": str(temporary), **variables}
    with (
        said.open("w") as output,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, env=environment) as running,
    ):
        process = psutil.Process(running.pid)
        while running.poll() is None and not said.read_text().endswith("\n"):
            look(process)
            with suppress(subprocess.TimeoutExpired):
                running.wait(0.05)
        look(process)
        running.communicate()
    assert running.returncode == 0
    told: dict[str, Any] = json.loads(said.read_text())
    seen.settings, seen.pages = told["settings"], told["pages"]
    return seen
