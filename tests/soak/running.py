"""Lead a connector through its lives, until the time is over and every fault has happened."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from statistics import median
from typing import Final, cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from tests.soak.habitat import Habitat
from tests.soak.lives import DURING_OPEN, EARLY, LASTING, Life, Trouble
from tests.soak.subject import Subject
from tests.soak.tally import Tally
from tests.soak.troubles import Others, troubles

from frazil.errors import FrazilError
from frazil.faults import Point
from frazil.testing.topics import wait_until

PATIENCE: Final = 120.0
"""Seconds within which rows must land, or a process that has to end must end."""

_KILLED: Final = -9
_STOPPED: Final = 0
_FAILED: Final = 1


class NotAsItShould(Exception):
    """Something did not happen that had to, or the other way round; the process is given up."""


class Soak:
    """One connector, in one process after the other."""

    def __init__(self, habitat: Habitat, others: Others, tally: Tally, say: Callable[[str], None]) -> None:
        """Live in `habitat`, count in `tally`, and `say` what happened."""
        self._habitat = habitat
        self._others = others
        self._tally = tally
        self._say = say
        self._began = time.monotonic()
        self._processes = 0
        self._running: Subject | None = None
        self._before = 0
        """The last commit to the table that the running process has nothing to do with."""

        self._killed_at: float | None = None
        """When its predecessor was killed, in seconds since the epoch, if nothing else was wrong then."""

    def run(self, lives: Iterator[Life], seconds: float, at_most: float) -> None:
        """Live for `seconds`, and on until every fault has happened, but no longer than `at_most` seconds."""
        for life in lives:
            passed = time.monotonic() - self._began
            if passed > at_most or (passed > seconds and not self._tally.never()):
                return
            with self._given_up_if_wrong(f"life {life.number}"):
                self._live(life)
            self._tell(life)

    def stop(self) -> None:
        """Have the running process stop, as a person would."""
        if self._running is not None:
            with self._given_up_if_wrong("at the end"):
                self._stopped(self._running)

    def kill(self) -> None:
        """Leave no process behind."""
        if self._running is not None:
            self._running.kill()

    def _live(self, life: Life) -> None:
        if life.end in EARLY:
            self._die_early(life)
            return
        subject = self._landing()
        blocks = troubles(self._habitat, self._others, subject)
        for trouble in life.troubles[:-1] if life.amid else life.troubles:
            self._outlive(trouble, blocks[trouble.name])
        if life.amid:
            self._die_amid(subject, life, life.troubles[-1], blocks[life.troubles[-1].name])
        else:
            time.sleep(life.moment)
            self._end(subject, life.end)

    def _start(self, crash: Point | None = None) -> Subject:
        self._processes += 1
        return Subject(self._processes, self._habitat.connector, self._habitat.directory, crash)

    def _landing(self) -> Subject:
        """The running process, once it has landed rows."""
        if self._running is None:
            self._running = self._start()
        subject = self._running
        landing = self._habitat.watch.wait_beyond(self._before, PATIENCE, lambda: subject.alive)
        spark = subject.spark_seconds
        if landing is None or spark is None:
            raise NotAsItShould(f"landed no rows within {PATIENCE:.0f} s: {subject.last_words()}")
        if not subject.known:
            subject.known = True
            self._tally.starts.append(spark)
            if self._killed_at is not None:
                self._tally.recoveries.append(landing.time - self._killed_at - spark)
                self._say(
                    f"         back {self._tally.recoveries[-1]:.1f} s after a kill, and {spark:.1f} s of Spark's"
                )
        return subject

    def _outlive(self, trouble: Trouble, block: Callable[[], AbstractContextManager[None]]) -> None:
        """Have a trouble come and go, and rows land after it."""
        assert self._running is not None
        subject = self._running
        with block():
            self._tally.fired[trouble.name] += 1
            if trouble.name in LASTING:
                time.sleep(trouble.seconds)
        sequence = self._habitat.watch.sequence()
        if self._habitat.watch.wait_beyond(sequence, PATIENCE, lambda: subject.alive) is None:
            raise NotAsItShould(f"landed no rows after {trouble.name}: {subject.last_words()}")

    def _die_early(self, life: Life) -> None:
        """Kill a process that has not come to land anything."""
        if self._running is not None:
            self._killed(self._running, "killed")
        subject = self._running = self._start("during_open" if life.end == DURING_OPEN else None)
        if life.end != DURING_OPEN:
            time.sleep(life.moment * median(self._tally.starts or [8.0]))
            subject.kill()
        self._buried(subject, life.end)

    def _die_amid(
        self, subject: Subject, life: Life, trouble: Trouble, block: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Have a trouble come, and the process die before it goes; or soon after, if it cannot come to the point."""
        with block():
            self._tally.fired[trouble.name] += 1
            time.sleep(life.moment)
            self._strike(subject, life.end)
            subject.ended(trouble.seconds)
        self._buried(subject, life.end)
        self._killed_at = None

    def _end(self, subject: Subject, end: str) -> None:
        match end:
            case "stopped":
                self._stopped(subject)
            case "overtaken":
                self._overtaken(subject)
            case "overtaken while frozen":
                subject.freeze()
                self._overtaken(subject)
            case "JVM killed":
                self._lost_its_jvm(subject)
            case _:
                self._killed(subject, end)
                return
        self._tally.fired[end] += 1

    def _killed(self, subject: Subject, end: str) -> None:
        self._strike(subject, end)
        self._buried(subject, end)

    def _strike(self, subject: Subject, end: str) -> None:
        if end == "killed":
            subject.kill()
        else:
            subject.crash_at(cast("Point", end.removeprefix("killed at ")))

    def _buried(self, subject: Subject, end: str) -> None:
        """Wait for the death of a process that was, or is to be, killed."""
        self._gone(subject, _KILLED, end)
        self._killed_at = time.time()
        self._tally.fired[end] += 1

    def _lost_its_jvm(self, subject: Subject) -> None:
        subject.kill_jvm()
        killed_at = time.time()
        self._gone(subject, _FAILED, "its JVM was killed")
        self._killed_at = killed_at

    def _stopped(self, subject: Subject) -> None:
        subject.stop()
        self._gone(subject, _STOPPED, "it was asked to stop")

    def _overtaken(self, subject: Subject) -> None:
        """Start a newer process of the same connector; the older one finds out, and ends."""
        rival = self._start()
        try:
            wait_until(lambda: rival.said("opened a table") or not rival.alive, "a rival to open", PATIENCE)
            before = self._habitat.watch.sequence()
            if self._habitat.watch.wait_beyond(before, PATIENCE, lambda: rival.alive) is None:
                raise NotAsItShould(f"a rival landed no rows: {rival.last_words()}")
            subject.thaw()
            self._gone(subject, _FAILED, "a rival opened its table")
            if not subject.said("FENCED"):
                raise NotAsItShould(f"it ended, but was not fenced: {subject.last_words()}")
        except BaseException:
            rival.kill()
            raise
        self._running, self._before = rival, before

    def _gone(self, subject: Subject, expected: int, why: str) -> None:
        status = subject.ended(PATIENCE)
        if status != expected:
            did = "did not end" if status is None else f"ended with {status}"
            raise NotAsItShould(f"{why}, and it {did} instead of {expected}: {subject.last_words()}")
        self._running, self._killed_at = None, None
        self._before = self._habitat.watch.sequence()

    @contextmanager
    def _given_up_if_wrong(self, when: str) -> Iterator[None]:
        """Note what is not as it should be, and go on with a new process."""
        try:
            yield
        except (NotAsItShould, OSError, sqlite3.Error, Py4JError, PySparkException, FrazilError) as problem:
            self._tally.problems.append(f"{when}: {problem}")
            self.kill()
            self._running, self._killed_at = None, None
            self._before = self._habitat.watch.sequence()

    def _tell(self, life: Life) -> None:
        what = [*(trouble.name for trouble in life.troubles), f"{life.end} amid it" if life.amid else life.end]
        self._say(f"{time.monotonic() - self._began:5.0f} s  life {life.number}: {', '.join(what)}")
