"""What others on the machines of a cluster see of a session's secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.integration.cluster.conftest import LOOPBACK
from tests.support.sessions import watched

from frazil.testing.cluster import SparkCluster


@pytest.mark.long
def test_executors_and_their_workers_have_no_secret_on_their_command_lines(checkout: dict[str, str], tmp_path: Path):
    """Only Spark's own secret is in their environments, which their account alone can read."""
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.authenticate true\nspark.authenticate.secret hush-1\nspark.network.crypto.enabled true\n"
    )
    site = {"SPARK_CONF_DIR": str(tmp_path), **LOOPBACK}
    around = {key: text for key, text in os.environ.items() if not key.startswith("PYTHON")}
    settings = {
        **checkout,
        "spark.sql.catalog.lake.credential": "hush-2",
        "spark.hadoop.fs.s3a.secret.key": "hush-3",
        "spark.ssl.keyPassword": "hush-4",
    }
    with SparkCluster(tmp_path / "cluster", workers=1, environment={**around, **site}) as cluster:

        def processes() -> Iterator[psutil.Process]:
            for worker in cluster.workers():
                yield from (worker, *worker.children(recursive=True))

        seen = watched(tmp_path, cluster.master, settings, site, processes)

    assert any("CoarseGrainedExecutorBackend" in each for each in seen.commands)
    assert seen.showing("hush") == ([], ["_SPARK_AUTH_SECRET"])
