"""`frazil run` of a stream on a cluster whose executors come and go while shards are split and merged."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.cluster.conftest import LOOPBACK
from tests.support.processes import FRAZIL, Running, write_properties
from tests.support.streams import Producer, Shards, judged, reading

from frazil.dev.kinesis import LocalKinesis
from frazil.testing.cluster import SparkCluster
from frazil.testing.stream_oracle import StreamReport
from frazil.testing.topics import wait_until

STREAM = "far"


@pytest.fixture
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as running:
        running.provide(STREAM, 2)
        yield running


@pytest.fixture
def producer(kinesis: LocalKinesis) -> Iterator[Producer]:
    """Records that keep coming, until the test has had enough."""
    coming = Producer(kinesis, STREAM)
    coming.start()
    yield coming
    coming.stop()


@pytest.mark.long
def test_each_keys_records_are_there_once_and_in_order_though_executors_die_and_others_come(
    cluster: SparkCluster, checkout: dict[str, str], kinesis: LocalKinesis, producer: Producer, tmp_path: Path
):
    home, log, shards = tmp_path / "home", tmp_path / "log", Shards(kinesis, STREAM)
    file = write_properties(tmp_path / "far.properties", **reading(kinesis, STREAM, home, **checkout))

    def report() -> StreamReport:
        return judged(home, STREAM, producer.sent)

    def land_more() -> None:
        wanted = producer.sent.total() + 200
        wait_until(lambda: report().rows >= wanted, "more rows to land", 120)

    def until_on(worker: int) -> None:
        def there() -> bool:
            return not {*psutil.Process(worker).children()}.isdisjoint(cluster.executors())

        wait_until(there, "an executor that is added", 120)

    command = [FRAZIL, "run", "--master", cluster.master, str(file)]
    running = Running(command, log, {**LOOPBACK, "PYSPARK_PYTHON": sys.executable})
    try:
        running.until_it_says("changed columns")
        land_more()
        cluster.executors()[0].kill()
        shards.split()
        land_more()
        added = cluster.add_worker()
        until_on(added)
        land_more()
        cluster.workers()[0].kill()
        shards.merge()
        land_more()
        producer.stop()
        wait_until(lambda: report().rows >= producer.sent.total(), "all rows to land", 120)
        running.process.send_signal(signal.SIGTERM)
        assert running.ended(20) == 0, log.read_text()
    finally:
        if running.process.poll() is None:
            running.kill()

    assert report().rows == producer.sent.total()
    assert report().clean, report()
