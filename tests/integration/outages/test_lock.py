"""The embedded catalog is a file: who locks it in the middle of a swap is waited for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.outages.watching import Watch
from tests.support.sending import clean_rows, send
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.errors import CommitUnknown
from frazil.tables.jvm.session import EMBEDDED, embedded_catalog
from frazil.testing import iceberg
from frazil.testing.crash import halt_at
from frazil.testing.oracle import verify

pytestmark = pytest.mark.slow


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold the lock that every writer needs; readers read on."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def test_a_lock_that_is_let_go_of_in_time_is_no_outage(connect, topic: str, judge, broker: KafkaBroker, lake: Path):
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)

    with halt_at("before_swap") as gate:
        send(broker, topic, range(10, 20))
        assert gate.reached.wait(60)
        with locked(lake / "catalog.db"):
            gate.release()
            assert not connector.wait_until_caught_up(2)
    caught_up(connector)

    assert watch.errors == []
    assert clean_rows(judge(connector, topic)) == 20


def test_a_lock_that_outlasts_the_patience_is_waited_out(
    connect, topic: str, spark: SparkSession, broker: KafkaBroker, tmp_path: Path
):
    send(broker, topic, range(10))
    for key, value in embedded_catalog(tmp_path).items():
        hasty = (
            key.replace(f"catalog.{EMBEDDED}", "catalog.hasty"),
            value.replace("busy_timeout=20000", "busy_timeout=500"),
        )
        spark.conf.set(*hasty)
    connector = connect(topic, **{"frazil.catalog": "hasty"})
    caught_up(connector)
    watch = Watch(connector)

    with halt_at("before_swap") as gate:
        send(broker, topic, range(10, 20))
        assert gate.reached.wait(60)
        with locked(tmp_path / "catalog.db"):
            gate.release()
            error = watch.until_retrying()
            watch.until_retrying_again()
    caught_up(connector)

    assert isinstance(error, CommitUnknown)
    assert "SQLITE_BUSY" in str(error)
    assert watch.only_waited()
    metadata = iceberg.current_metadata(tmp_path / "catalog.db", "public", topic.upper())
    assert clean_rows(verify(metadata, connector.settings.key, topic)) == 20
