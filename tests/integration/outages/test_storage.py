"""A disk that is full, read-only or gone is waited for; then every record lands, once, and nothing half is left."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.integration.outages.watching import Watch
from tests.support.disks import SmallDisk
from tests.support.sending import clean_rows, send
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.errors import CatalogUnavailable, CommitUnknown, StorageUnavailable
from frazil.testing import iceberg
from frazil.testing.crash import call_at
from frazil.testing.oracle import verify

pytestmark = pytest.mark.slow

COLUMNS = """run STRING, `partition` INT, seq BIGINT, payload STRING, sha256 STRING,
    RECORD_METADATA STRUCT<topic: STRING, `partition`: INT, `offset`: BIGINT>"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk.mounted(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture
def table_on(spark: SparkSession, topic: str) -> Callable[..., None]:
    """Make the topic's table: `table_on(location=…)`, or with table properties."""

    def make(location: Path | None = None, **properties: Path) -> None:
        spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
        place = f"LOCATION 'file:{location}'" if location else ""
        given = ", ".join(f"'{key.replace('_', '.')}' = 'file:{path}'" for key, path in properties.items())
        options = f"TBLPROPERTIES ({given})" if given else ""
        spark.sql(f"CREATE TABLE frazil.public.{topic.upper()} ({COLUMNS}) USING iceberg {place} {options}")

    return make


def test_a_disk_full_of_data_files_is_waited_for_and_nothing_half_is_left(
    connect, topic: str, judge, broker: KafkaBroker, disk: SmallDisk, table_on
):
    table_on(write_data_path=disk.root / "data")
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)
    before = disk.files()
    workers = own_processes()
    scratch = scratch_files(workers)

    disk.fill()
    send(broker, topic, range(10, 1010))
    error = watch.until_retrying()
    left, left_in_scratch = disk.files(), scratch_files(workers | own_processes())
    disk.empty()
    caught_up(connector)

    assert isinstance(error, StorageUnavailable)
    assert str(disk.root) in str(error)
    assert left == before
    assert left_in_scratch <= scratch
    assert watch.only_waited()
    assert clean_rows(judge(connector, topic)) == 1_010


@pytest.mark.parametrize("when", ["before the manifests", "before the swap"])
def test_a_disk_full_of_metadata_is_waited_for(
    connect, topic: str, judge, broker: KafkaBroker, disk: SmallDisk, table_on, when: str
):
    table_on(write_metadata_path=disk.root / "metadata")
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at("after_stage" if when == "before the manifests" else "before_swap", disk.fill, 1):
        send(broker, topic, range(10, 110))
        error = watch.until_retrying()
    disk.empty()
    caught_up(connector)

    assert isinstance(error, CatalogUnavailable if when == "before the manifests" else CommitUnknown)
    assert str(disk.root) in str(error)
    assert "No space left" in str(error)
    assert watch.only_waited()
    assert clean_rows(judge(connector, topic)) == 110


@pytest.mark.long
def test_a_full_disk_of_the_catalogs_file_is_waited_for_and_named(
    connect, spark: SparkSession, topic: str, broker: KafkaBroker, disk: SmallDisk, tmp_path: Path, add_catalog
):
    database = disk.root / "catalog.db"
    own = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{database}?journal_mode=WAL&busy_timeout=20000",
        "jdbc.schema-version": "V1",
        "warehouse": str(tmp_path / "warehouse"),
    }
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": add_catalog(own)})
    caught_up(connector)
    watch = Watch(connector)

    with call_at("before_swap", disk.fill, 1):
        send(broker, topic, range(10, 110))
        error = watch.until_retrying()
    disk.empty()
    caught_up(connector)

    assert "catalog.db" in str(error)
    assert watch.only_waited()
    metadata = iceberg.current_metadata(database, "public", topic.upper())
    assert clean_rows(verify(metadata, connector.settings.key, topic)) == 110


@pytest.mark.parametrize("point", ["after_plan", "after_stage", "before_swap"])
def test_a_warehouse_that_became_read_only_is_waited_for(
    connect, topic: str, judge, broker: KafkaBroker, disk: SmallDisk, table_on, point
):
    table_on(disk.root / "table")
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at(point, lambda: disk.remount("ro"), 1):
        send(broker, topic, range(10, 110))
        error = watch.until_retrying()
    disk.remount("rw")
    caught_up(connector)

    assert "ead-only file system" in str(error)
    assert str(disk.root) in str(error)
    assert watch.only_waited()
    assert clean_rows(judge(connector, topic)) == 110


@pytest.mark.parametrize("point", ["after_plan", "after_stage", "before_swap"])
def test_a_warehouse_that_vanished_is_waited_for_and_not_begun_anew(
    connect, topic: str, judge, broker: KafkaBroker, tmp_path: Path, table_on, point
):
    table, away = tmp_path / "table", tmp_path / "away"
    table_on(table)
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at(point, lambda: table.rename(away), 1):
        send(broker, topic, range(10, 110))
        error = watch.until_retrying()
        watch.until_retrying_again()
    made_anew = table.exists()
    if not made_anew:
        away.rename(table)
        caught_up(connector)

    assert str(table) in str(error)
    assert not made_anew
    assert watch.only_waited()
    assert clean_rows(judge(connector, topic)) == 110


def test_a_warehouse_that_is_not_there_yet_is_waited_for(
    connect, topic: str, judge, broker: KafkaBroker, tmp_path: Path, table_on
):
    table, away = tmp_path / "table", tmp_path / "away"
    table_on(table)
    send(broker, topic, range(10))
    table.rename(away)
    connector = connect(topic, begin=False)
    watch = Watch(connector)

    connector.start()
    error = watch.until_retrying()
    away.rename(table)
    caught_up(connector)

    assert isinstance(error, CatalogUnavailable)
    assert str(table) in str(error)
    assert clean_rows(judge(connector, topic)) == 10


def test_a_staged_file_that_somebody_deletes_before_the_commit_is_staged_again(
    connect, topic: str, judge, broker: KafkaBroker, tmp_path: Path, table_on
):
    data = tmp_path / "data"
    table_on(write_data_path=data)
    send(broker, topic, range(10))
    connector = connect(topic)
    caught_up(connector)
    watch = Watch(connector)
    before = set(data.iterdir())

    with call_at("after_stage", lambda: [each.unlink() for each in set(data.iterdir()) - before], 1):
        send(broker, topic, range(10, 20))
        error = watch.until_retrying()
    caught_up(connector)

    assert str(data) in str(error)
    assert watch.only_waited()
    assert clean_rows(judge(connector, topic)) == 20


def own_processes() -> set[int]:
    """The processes that this one started, Spark's Python workers among them; other tests have workers too."""
    return {process.pid for process in psutil.Process().children(recursive=True)}


def scratch_files(workers: set[int]) -> set[Path]:
    """What lies in the scratch directories of workers."""
    root = Path(tempfile.gettempdir())
    found = (path for worker in workers for path in root.glob(f"frazil-{worker}-*/**/*"))
    return {path for path in found if path.is_file()}
