"""Memory is bounded by the chunk, not by the range."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import FRAZIL, Running, peak_of_workers, write_properties

from frazil.dev.kafka import KafkaBroker
from frazil.dev.orders_producer import OrderProducer
from frazil.testing import iceberg
from frazil.testing.topics import create_topic, wait_until

RECORDS = 500_000
"""About 390 MB of values, in one partition."""

MOST = 900 * 1024 * 1024
"""Bytes a Python worker may take: Arrow and DuckDB for one chunk of 64 MB, and librdkafka's queue."""


@pytest.mark.long
def test_a_range_far_larger_than_a_chunk_is_staged_in_bounded_memory(broker: KafkaBroker, tmp_path: Path):
    create_topic(broker.bootstrap_servers, "large")
    producer = OrderProducer(broker.bootstrap_servers, "large", rate=None).start()
    wait_until(lambda: producer.totals().records >= RECORDS, "the records to be produced", 120)
    produced = producer.stop().records
    file = write_properties(
        tmp_path / "large.properties",
        name="large",
        topics="large",
        tasks__max="1",
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__cycle__max__bytes=str(2**31),
    )
    running = Running(
        [FRAZIL, "run", "--until-caught-up", "--home", str(tmp_path / "home"), str(file)], tmp_path / "log"
    )

    peak = peak_of_workers(running)

    assert running.ended(300) == 0, (tmp_path / "log").read_text()
    metadata = iceberg.read_metadata(iceberg.current_metadata(tmp_path / "home/catalog.db", "public", "LARGE"))
    assert sum(file.rows for file in iceberg.data_files(metadata)) == produced
    assert 0 < peak < MOST
