"""The connector under test: `frazil run` in a process of its own, which can be hurt in every way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from frazil.faults import Point

_STARTED = re.compile(r"Spark has started\s+seconds=([\d.]+)")


class Subject:
    """One process that runs the connector of `file`; its output goes to `directory`."""

    def __init__(self, number: int, file: Path, directory: Path, crash: Point | None = None) -> None:
        """Start it; with `crash`, it dies as soon as it comes to that point."""
        self.known = False
        """Whether its start-up has been counted."""

        self.log = directory / f"run-{number:03}.log"
        self._order = directory / f"crash-{number:03}"
        if crash:
            self.crash_at(crash)
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-when", str(self._order)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--", "run", str(file), "--master", "local[2]"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    @property
    def spark_seconds(self) -> float | None:
        """How long Spark took to start; None as long as it has not."""
        found = _STARTED.search(self.log.read_text(errors="replace"))
        return float(found[1]) if found else None

    def said(self, text: str) -> bool:
        """Whether its output has `text`."""
        return text in self.log.read_text(errors="replace")

    def crash_at(self, point: Point) -> None:
        """Have it die the next time it comes to `point`."""
        draft = self._order.with_suffix(".draft")
        draft.write_text(point)
        draft.replace(self._order)

    def kill(self) -> None:
        """Kill it with its JVM, with no chance to tidy up; the workers see that nobody talks to them any more."""
        if self.alive:
            self.thaw()  # what stands still would outlive the others
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_jvm(self) -> bool:
        """Kill its JVM alone; whether it had one."""
        return _kill(self._family("SparkSubmit"))

    def kill_worker(self) -> bool:
        """Kill one of its Python workers; whether it had one."""
        # Workers are forks of the daemon, which is one of the family of that name itself.
        found = self._family("pyspark.worker")
        daemons = {each.pid for each in found}
        return _kill([each for each in found if each.ppid() in daemons])

    def stop(self) -> None:
        """Ask it to stop."""
        self.process.terminate()

    def freeze(self) -> None:
        """Have all of it stand still."""
        for each in self._family():
            with suppress(psutil.NoSuchProcess):
                each.suspend()

    def thaw(self) -> None:
        """Let it go on."""
        for each in reversed(self._family()):
            with suppress(psutil.NoSuchProcess):
                each.resume()

    def ended(self, seconds: float) -> int | None:
        """Wait for its end: its exit status, minus the signal that killed it; None if it goes on."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self, lines: int = 6) -> str:
        """The end of its output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _family(self, named: str = "") -> list[psutil.Process]:
        """The process and what it started, as far as it still runs and has `named` in its command line."""
        found = []
        # Whatever ends while it is looked at is not of the family any more.
        with suppress(psutil.NoSuchProcess):
            itself = psutil.Process(self.process.pid)
            for each in (itself, *itself.children(recursive=True)):
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    if named in " ".join(each.cmdline()):
                        found.append(each)
        return found


def _kill(candidates: Sequence[psutil.Process]) -> bool:
    for each in candidates[:1]:
        each.kill()
    return bool(candidates)
