"""`frazil run` on a cluster whose executors and workers die in the middle."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cluster.conftest import LOOPBACK
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, write_properties

from frazil.dev.kafka import KafkaBroker
from frazil.testing import iceberg
from frazil.testing.cluster import SparkCluster
from frazil.testing.oracle import verify
from frazil.testing.produce import RecordProducer
from frazil.testing.report import OracleReport
from frazil.testing.topics import wait_until

RATE = 1_000
"""Records a second, all the time: at any moment some are being staged."""


@pytest.fixture
def acknowledged(broker: KafkaBroker, make_topic, tmp_path: Path) -> Iterator[Acknowledged]:
    """Records that keep coming, until the test has had enough."""
    coming = Acknowledged(broker, make_topic(partitions=2), tmp_path / "wal.csv")
    yield coming
    coming.end()


@pytest.mark.long
def test_rows_are_there_exactly_once_when_an_executor_and_a_worker_are_killed(
    cluster: SparkCluster, checkout: dict[str, str], acknowledged: Acknowledged, broker: KafkaBroker, tmp_path: Path
):
    home, log = tmp_path / "home", tmp_path / "log"
    file = write_properties(
        tmp_path / "far.properties",
        name="far",
        topics=acknowledged.topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__commit__interval__ms="100",
        frazil__home=str(home),
        **{key.replace(".", "__"): value for key, value in checkout.items()},
    )

    def report() -> OracleReport:
        metadata = iceberg.current_metadata(home / "catalog.db", "public", acknowledged.topic.upper())
        return verify(metadata, "FAR", acknowledged.topic, wal=acknowledged.wal)

    def land_more() -> None:
        wanted = report().rows + 2 * RATE
        wait_until(lambda: report().rows >= wanted, "more rows to land", 120)

    running = Running(
        [FRAZIL, "run", "--master", cluster.master, str(file)], log, {**LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    )
    try:
        running.until_it_says("changed columns")
        land_more()
        cluster.executors()[0].kill()
        land_more()
        cluster.workers()[0].kill()
        cluster.add_worker()
        land_more()
        total = acknowledged.end()
        wait_until(lambda: report().rows >= total, "all rows to land", 120)
        running.process.send_signal(signal.SIGTERM)
        assert running.ended(20) == 0, log.read_text()
    finally:
        if running.process.poll() is None:
            running.kill()

    assert report().rows == total
    assert report().clean, report()


class Acknowledged:
    """Records that a thread produces, with what became of them."""

    def __init__(self, broker: KafkaBroker, topic: str, wal: Path) -> None:
        self.topic = topic
        self.wal = wal
        self._ending = threading.Event()
        self._producer = RecordProducer(broker.bootstrap_servers, topic, 2, RATE, wal)
        self._thread = threading.Thread(target=self._producer.produce, args=(self._ending,))
        wal.touch()
        self._thread.start()

    def end(self) -> int:
        """Produce no more; how many records the broker has."""
        self._ending.set()
        self._thread.join()
        return self._producer.acknowledged
