"""Spark's JVM dies under a running connector, as when memory runs out; the process says so and ends."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, frazil, write_properties

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce


@pytest.mark.slow
def test_a_connector_whose_jvm_is_killed_ends_with_1_and_says_why(topic: str, broker: KafkaBroker, tmp_path: Path):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    file = write_properties(
        tmp_path / "orphaned.properties",
        name="orphaned",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__home=str(tmp_path / "home"),
    )
    log = tmp_path / "log"
    running = Running([FRAZIL, "run", str(file)], log)
    running.until_it_says("changed columns")
    (jvm,) = [each for each in psutil.Process(running.process.pid).children() if "java" in each.name()]

    jvm.kill()

    assert running.ended(60) == 1
    said = log.read_text()
    assert "[spark_ended]" in said
    assert "unexpected" not in said
    assert "frazil/cli" not in said, "a traceback of ours is no message"
    again = frazil("run", "--until-caught-up", file)
    assert again.returncode == 0, again.stderr
