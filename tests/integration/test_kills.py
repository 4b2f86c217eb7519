"""kill -9 of everything, at named points and at random, while records keep coming: none lost, none twice."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, frazil, write_properties

from frazil.config import load
from frazil.dev.kafka import KafkaBroker
from frazil.faults import Point
from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.topics import create_topic

PARTITIONS = 3

NAMED: list[tuple[Point, int]] = [
    ("during_open", 1),
    ("after_stage", 1),
    ("before_swap", 2),
    ("after_swap", 1),
    ("before_acknowledge", 2),
    ("after_stage", 3),
    ("before_swap", 3),
]
"""Fault points, and the how manieth time each is reached. The first swap of a process is its open."""

RANDOM = 4
"""Kills at random moments within the first seconds of a running connector."""


@pytest.fixture
def stream(broker: KafkaBroker, tmp_path: Path) -> Iterator[tuple[str, Path, Running]]:
    """A topic into which a producer in its own process writes without pause, noting what was acknowledged."""
    topic = create_topic(broker.bootstrap_servers, f"survivors_{uuid4().hex[:8]}", PARTITIONS)
    wal = tmp_path / "wal"
    command = [
        sys.executable,
        "-m",
        "frazil.testing.produce",
        "--bootstrap",
        broker.bootstrap_servers,
        "--topic",
        topic,
    ]
    producer = Running(
        [*command, "--partitions", str(PARTITIONS), "--rate", "300", "--wal", str(wal)], tmp_path / "producer.log"
    )
    yield topic, wal, producer
    if producer.process.poll() is None:
        producer.kill()


@pytest.mark.slow
@pytest.mark.parametrize(("named", "at_random"), [(5, 1), pytest.param(len(NAMED), RANDOM, marks=pytest.mark.long)])
def test_kills_at_named_points_and_at_random_lose_nothing_and_double_nothing(
    stream, broker: KafkaBroker, tmp_path: Path, named: int, at_random: int
):
    topic, wal, producer = stream
    home = tmp_path / "home"
    file = write_properties(
        tmp_path / "survivors.properties",
        name="survivors",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__commit__interval__ms="200",
        frazil__home=str(home),
    )
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    kills: list[Callable[[Path], None]] = [*(_killed_at(point, hit, file) for point, hit in NAMED[:named])]
    kills += [_killed_after(moments.uniform(0, 3), file) for _ in range(at_random)]

    for number, kill in enumerate(kills):
        kill(tmp_path / f"run-{number}.log")

    producer.process.terminate()
    assert producer.ended() == 0
    last = frazil("run", "--until-caught-up", file)
    assert last.returncode == 0, last.stderr
    metadata = iceberg.current_metadata(home / "catalog.db", "public", topic.upper())
    report = verify(metadata, load(file).key, topic, wal=wal)
    assert report.clean, report
    assert [each.partition for each in report.partitions] == list(range(PARTITIONS))
    assert report.rows == sum(1 for _ in wal.open())


def _killed_at(point: Point, hit: int, file: Path) -> Callable[[Path], None]:
    def kill(log: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "frazil.testing.run",
            "--crash-at",
            point,
            "--hit",
            str(hit),
            "--",
            "run",
            str(file),
        ]
        assert Running(command, log).ended(180) == -9, f"{point} was not reached: {log.read_text()}"

    return kill


def _killed_after(seconds: float, file: Path) -> Callable[[Path], None]:
    def kill(log: Path) -> None:
        running = Running([FRAZIL, "run", str(file)], log)
        running.until_it_says("opened a table")
        time.sleep(seconds)  # the moment itself is what is random
        running.kill()

    return kill
