"""One connector run twice, each time with a Spark of its own, on one catalog."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, write_properties
from tests.support.sending import send

from frazil.dev.kafka import KafkaBroker
from frazil.testing import iceberg
from frazil.testing.oracle import verify
from frazil.testing.report import OracleReport
from frazil.testing.topics import wait_until


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[list[str], str], Running]]:
    """Start processes that do not outlive the test."""
    started: list[Running] = []

    def run(command: list[str], name: str) -> Running:
        started.append(Running(command, tmp_path / f"{name}.log"))
        return started[-1]

    yield run
    for each in started:
        if each.process.poll() is None:
            each.kill()


@pytest.mark.long
def test_the_newest_opener_wins_also_where_each_has_a_spark_of_its_own(
    start, topic: str, broker: KafkaBroker, tmp_path: Path
):
    home = tmp_path / "home"
    file = write_properties(
        tmp_path / "rivals.properties",
        name="rivals",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
    )
    command = [FRAZIL, "run", "--home", str(home), "--master", "local[1]", str(file)]

    def report() -> OracleReport:
        return verify(iceberg.current_metadata(home / "catalog.db", "public", topic.upper()), "RIVALS", topic)

    send(broker, topic, range(20))
    older = start(command, "older")
    older.until_it_says("changed columns")
    newer = start(command, "newer")
    newer.until_it_says("opened a table")
    send(broker, topic, range(20, 40))

    assert older.ended(90) == 1
    said = (tmp_path / "older.log").read_text()
    assert "state=FENCED" in said
    assert f"(pid {newer.process.pid}) opened the connector rivals" in said.lower()
    send(broker, topic, range(40, 60))
    wait_until(lambda: report().rows == 60, "the newer one to land everything")
    newer.process.send_signal(signal.SIGTERM)
    assert newer.ended(20) == 0
    assert report().clean, report()
