"""A connector on a stream that is killed with kill -9 again and again, and the verdict on what it has landed."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from tests.support.processes import FRAZIL, Running, frazil, write_properties
from tests.support.streams import Producer, Shards, judged, reading

from frazil.dev.kinesis import LocalKinesis
from frazil.faults import Point
from frazil.testing.topics import wait_until


class Survivors:
    """A stream, and the connector on it that is killed again and again."""

    def __init__(self, kinesis: LocalKinesis, directory: Path, **keys: str) -> None:
        self.stream = f"survivors_{uuid4().hex[:8]}"
        kinesis.provide(self.stream, 2)
        self.producer = Producer(kinesis, self.stream)
        self.shards = Shards(kinesis, self.stream)
        self._directory = directory
        self._runs = itertools.count()
        self.home = directory / "home"
        own = {"name": "survivors", "frazil.commit.interval.ms": "200"}
        self.file = write_properties(
            directory / "survivors.properties", **reading(kinesis, self.stream, self.home, **own, **keys)
        )

    def killed_at(self, point: Point, hit: int = 1, during: Callable[[], object] | None = None) -> None:
        """Run the connector until it is killed at a point; do something once it has opened its table."""
        log = self._log()
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, "--hit", str(hit), "--"]
        running = Running([*command, "run", str(self.file)], log)
        if during is not None:
            running.until_it_says("opened a table")
            during()
        assert running.ended(180) == -9, f"{point} was not reached: {log.read_text()}"

    def killed_after(self, rows: int, during: Callable[[], object]) -> None:
        """Run the connector, do something once it has opened its table, and kill it in the midst of what follows."""
        log = self._log()
        running = Running([FRAZIL, "run", str(self.file)], log)
        running.until_it_says("opened a table")
        during()
        before = sum(self.producer.sent.values())
        wait_until(lambda: sum(self.producer.sent.values()) > before + rows, f"{rows} more records", 60)
        running.kill()

    def require_all(self) -> None:
        """Let a connector land the rest, and judge the table."""
        self.producer.stop()
        last = frazil("run", "--until-caught-up", self.file)
        assert last.returncode == 0, last.stderr
        report = judged(self.home, self.stream, self.producer.sent)
        assert report.clean, report
        assert report.rows == sum(self.producer.sent.values())

    def _log(self) -> Path:
        return self._directory / f"run-{next(self._runs)}.log"


def survive_all(world: Survivors) -> None:
    """Be killed at seven points, shards splitting and merging at and between them."""
    world.producer.start()
    world.producer.more()
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")

    world.killed_at("during_open")
    world.killed_at("after_stage")
    world.killed_at("before_swap", 3, during=world.shards.split)
    world.shards.merge()
    world.killed_at("after_swap", 1)
    for _ in range(3):
        world.shards.split()
        world.producer.more()
    world.killed_at("before_acknowledge", 2)
    world.killed_at("after_plan", 4, during=world.shards.merge)
    world.killed_after(random.Random(seed).randrange(1, 400), during=world.shards.split)

    world.require_all()
