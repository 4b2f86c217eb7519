"""`frazil run` on a cluster whose executors and workers die in the middle."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tests.integration.cluster.conftest import LOOPBACK
from tests.integration.processes import FRAZIL, Running, write_properties

from frazil.dev.kafka import KafkaBroker
from frazil.testing import iceberg
from frazil.testing.cluster import SparkCluster
from frazil.testing.oracle import verify
from frazil.testing.produce import record
from frazil.testing.records import produce
from frazil.testing.report import OracleReport
from frazil.testing.topics import wait_until

RECORDS = 20_000
"""Of each partition: more than ten cycles of a megabyte."""


@pytest.mark.slow
def test_rows_are_there_exactly_once_when_an_executor_and_a_worker_are_killed(
    cluster: SparkCluster, checkout: dict[str, str], make_topic, broker: KafkaBroker, tmp_path: Path
):
    topic, home = make_topic(partitions=2), tmp_path / "home"
    for partition in range(2):
        values = [record("r", partition, number) for number in range(RECORDS)]
        produce(broker.bootstrap_servers, topic, values, partition=partition)
    file = write_properties(
        tmp_path / "far.properties",
        name="far",
        topics=topic,
        connector__class="frazil.KafkaConnector",
        bootstrap__servers=broker.bootstrap_servers,
        value__converter="org.apache.kafka.connect.json.JsonConverter",
        value__converter__schemas__enable="false",
        frazil__cycle__max__bytes=str(2**20),
        frazil__commit__interval__ms="100",
        frazil__home=str(home),
        **{key.replace(".", "__"): value for key, value in checkout.items()},
    )

    def report() -> OracleReport:
        return verify(iceberg.current_metadata(home / "catalog.db", "public", topic.upper()), "FAR", topic)

    def wait_for_rows(count: int) -> None:
        wait_until(lambda: report().rows >= count, f"{count} rows", 120)

    running = Running(
        [FRAZIL, "run", "--master", cluster.master, str(file)],
        tmp_path / "log",
        {**LOOPBACK, "PYSPARK_PYTHON": sys.executable},
    )
    try:
        running.until_it_says("gave a new table its columns")
        wait_for_rows(1)
        cluster.executors()[0].kill()
        killed_at = report().rows
        wait_for_rows(killed_at + 2 * RECORDS // 4)
        cluster.workers()[0].kill()
        killed_again_at = report().rows
        cluster.add_worker()
        wait_for_rows(2 * RECORDS)
        running.process.send_signal(signal.SIGTERM)
        assert running.ended(20) == 0, (tmp_path / "log").read_text()
    finally:
        if running.process.poll() is None:
            running.kill()

    assert 0 < killed_at < killed_again_at < 2 * RECORDS
    assert report().rows == 2 * RECORDS
    assert report().clean, report()
