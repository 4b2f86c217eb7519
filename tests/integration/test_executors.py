"""Executors whose Python cannot run tasks end a connector with one sentence, whenever they come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.conftest import Connect
from tests.support.bare import bare_python, packages_of
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce

OLDER = """
import sys
from collections import namedtuple
sys.version_info = namedtuple("version", "major minor micro releaselevel serial")(3, 9, 0, "final", 0)
"""
"""Has a Python say that it is an older one."""


DAEMON = "spark.python.daemon.module"


@pytest.fixture
def python_of_workers(spark: SparkSession) -> Iterator[SparkSession]:
    """The context whose `pythonExec` a test may change; new workers are started with it, by Spark's own daemon.

    So it is on a cluster. A session of frazil's own has a daemon that any Python without frazil would lack.
    """
    before = spark.sparkContext.pythonExec
    settings = spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().conf()
    daemon = settings.get(DAEMON, "")
    settings.remove(DAEMON)
    yield spark.sparkContext
    spark.sparkContext.pythonExec = before
    if daemon:
        settings.set(DAEMON, daemon)


def test_an_executor_that_comes_later_without_libraries_ends_the_connector_by_name_and_without_loss(
    connect: Connect, topic: str, broker: KafkaBroker, python_of_workers, rows, tmp_path: Path
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    connector = connect(topic)
    caught_up(connector)
    ours, bare = python_of_workers.pythonExec, bare_python(tmp_path / "bare")

    python_of_workers.pythonExec = str(bare)
    produce(broker.bootstrap_servers, topic, ['{"n": 2}'])
    until_state(connector, "FAILED")

    assert connector.error.code == "executor_environment"
    assert str(bare) in connector.error.message
    assert "duckdb" in connector.error.message
    python_of_workers.pythonExec = ours
    connector.start()
    caught_up(connector)
    assert [row["n"] for row in rows(topic)] == [1, 2]


@pytest.mark.parametrize("trouble", ["no such file", "another version"])
def test_a_python_that_spark_itself_refuses_is_told_the_same_way(
    connect: Connect, topic: str, broker: KafkaBroker, python_of_workers, tmp_path: Path, trouble: str
):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    connector = connect(topic, begin=False)
    python_of_workers.pythonExec = str(tmp_path / "environment" / "bin" / "python")
    if trouble == "another version":
        bare = bare_python(tmp_path / "environment")
        (packages_of(bare) / "sitecustomize.py").write_text(OLDER)

    connector.start()
    until_state(connector, "FAILED")

    assert connector.error.code == "executor_environment"
    said = "different version: 3.9 than that in driver" if trouble == "another version" else "Cannot run program"
    assert said in connector.error.message
