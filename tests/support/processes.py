"""`frazil` in processes of its own, as users run it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from frazil.testing.topics import wait_until

FRAZIL = str(Path(sys.executable).with_name("frazil"))


def write_properties(path: Path, **settings: str) -> Path:
    """A properties file; double underscores in names stand for dots."""
    path.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in settings.items()))
    return path


def frazil(*arguments: str | Path, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run([FRAZIL, *map(str, arguments)], capture_output=True, text=True, timeout=seconds, check=False)


class Running:
    """A process in a session of its own, so that all of it can be killed at once."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True, env={**os.environ, **(environment or {})}
            )

    def kill(self) -> None:
        """Kill the process, its JVM and its workers, with no chance to tidy up."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def until_it_says(self, text: str, seconds: float = 90) -> None:
        """Wait until its output has `text`."""
        wait_until(lambda: text in self._log.read_text() or self.process.poll() is not None, f"{text!r}", seconds)
        assert text in self._log.read_text(), self._log.read_text()

    def ended(self, seconds: float = 120) -> int:
        """Wait for its end and return its exit status, minus the signal that killed it."""
        return self.process.wait(seconds)


def peak_of_workers(running: Running) -> int:
    """Wait for the end of the process; the largest resident size any Python worker of it ever had, in bytes."""
    peak = 0
    process = psutil.Process(running.process.pid)

    def ended() -> bool:
        nonlocal peak
        if running.process.poll() is not None:
            return True
        for child in process.children(recursive=True):
            # A child that has just ended, or waits to be collected, says nothing of the others.
            with contextlib.suppress(psutil.NoSuchProcess):
                if "pyspark.worker" in " ".join(child.cmdline()):
                    peak = max(peak, child.memory_info().rss)
        return False

    wait_until(ended, "the run to end", 300)
    return peak
