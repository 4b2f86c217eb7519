"""Who runs tasks on a cluster, told while processes come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from frazil.testing.cluster import SparkCluster

EXECUTOR = [sys.executable, "-c", "import time; time.sleep(60)", "CoarseGrainedExecutorBackend"]


def test_an_executor_is_found_beside_another_process_that_has_just_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    gone = psutil.Process(ended.pid)
    ended.wait()
    executor = subprocess.Popen(EXECUTOR)
    try:
        worker = psutil.Process()
        monkeypatch.setattr(worker, "children", lambda: [gone, psutil.Process(executor.pid)])
        cluster = SparkCluster(tmp_path)
        monkeypatch.setattr(cluster, "workers", lambda: [worker])

        assert [each.pid for each in cluster.executors()] == [executor.pid]
    finally:
        executor.kill()
        executor.wait()
