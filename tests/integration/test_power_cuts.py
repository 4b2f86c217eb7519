"""What a power cut would take of a table on a local disk: nothing that a snapshot names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.support.disks import require_told, unsynced
from tests.support.waiting import caught_up, until_state

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.testing.crash import halt_at
from frazil.testing.iceberg import current_metadata
from frazil.testing.oracle import verify
from frazil.testing.produce import record
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

pytestmark = pytest.mark.slow

BAD = b"no JSON"


@contextmanager
def unswappable(catalog: Path) -> Iterator[None]:
    """Nobody can change the catalog's pointers."""
    with closing(sqlite3.connect(catalog, timeout=20, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def files(*directories: Path) -> set[Path]:
    """All files below those directories."""
    return {path for each in directories for path in each.rglob("*") if path.is_file()}


def new_metadata(table: Path, before: set[Path]) -> list[Path]:
    """The metadata files that have come since, once they are written to their ends."""
    found = [path for path in files(table) - before if path.suffix == ".json"]
    return [path for path in found if path.read_text().endswith("}")]


def test_all_that_a_swap_names_is_on_the_disk_before_it(
    lake: Path, spark: SparkSession, broker: KafkaBroker, topic: str, connect: Callable[..., Connector]
) -> None:
    require_told(lake)
    connector = connect(topic, begin=False, **{"errors.tolerance": "all"})
    produce(broker.bootstrap_servers, topic, [record("r", 0, 0), BAD])
    connector.start()
    until_state(connector, "RUNNING")
    caught_up(connector)
    table = lake / "warehouse" / "public" / topic.upper()
    (rejects,) = (lake / "warehouse" / "public" / "_frazil").glob(f"{topic.upper()}-*")
    before, pointed = files(table, rejects), current_metadata(lake / "catalog.db", "public", topic.upper())
    connector.pause()
    until_state(connector, "PAUSED")
    produce(broker.bootstrap_servers, topic, [record("r", 0, 2), BAD])

    with halt_at("before_swap") as gate:
        connector.resume()
        assert gate.reached.wait(60), connector.error
        staged = files(table, rejects) - before
        assert {path.suffix for path in staged} == {".parquet", ".avro", ".json"}
        assert [path for path in staged if unsynced(path)] == []
        with unswappable(lake / "catalog.db"):
            gate.release()
            wait_until(lambda: new_metadata(table, before | staged), "the metadata file to be written")
            (metadata,) = new_metadata(table, before | staged)
            wait_until(lambda: not unsynced(metadata), "the metadata file to be on the disk")
            assert current_metadata(lake / "catalog.db", "public", topic.upper()) == pointed
    caught_up(connector)

    metadata = current_metadata(lake / "catalog.db", "public", topic.upper())
    assert verify(metadata, connector.settings.key, topic, gaps={0: {1, 3}}).clean
