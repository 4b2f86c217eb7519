"""A standalone cluster whose workers know nothing of frazil, and how to give their executors what they need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import frazil
from frazil.testing.cluster import SparkCluster


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A master and two workers of one core."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with SparkCluster(tmp_path_factory.mktemp("cluster"), environment=environment) as running:
        yield running


@pytest.fixture(scope="package")
def checkout() -> dict[str, str]:
    """Spark's settings with which executors import frazil from where this process does."""
    return {
        "spark.executorEnv.PYTHONPATH": str(Path(frazil.__file__).parents[1]),
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }


LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1"}
"""Where the driver of a cluster on this machine listens."""
