"""What stages left behind that were never committed goes when it is a day old; everything else stays as it is."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from structlog.testing import capture_logs
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import Running, write_properties
from tests.support.sending import send
from tests.support.waiting import caught_up, until_state

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.errors import CatalogUnavailable, StageTooOld
from frazil.model import StagedFile
from frazil.tables.iceberg.java import data_file
from frazil.tables.iceberg.swap import JvmSwap
from frazil.tables.rules.stages import Stage, stage_of_data
from frazil.testing import iceberg
from frazil.testing.crash import call_at, fail_at
from frazil.testing.topics import wait_until

HOUR = 3600.0


class Lake:
    """The files around one topic's table."""

    def __init__(self, home: Path, topic: str) -> None:
        self.catalog = home / "catalog.db"
        self.namespace = home / "warehouse" / "public"
        self.table = self.namespace / topic.upper()
        self.data = self.table / "data"

    @property
    def outbox(self) -> Path:
        (found,) = self.namespace.glob(f"_frazil/{self.table.name}-*")
        return found

    @property
    def parquet(self) -> set[Path]:
        return set(self.data.glob("*.parquet"))

    @property
    def committed(self) -> set[Path]:
        """The files of the current snapshot."""
        metadata = iceberg.current_metadata(self.catalog, "public", self.table.name)
        return {file.path for file in iceberg.data_files(iceberg.read_metadata(metadata))}

    @property
    def notes(self) -> list[Path]:
        return list(self.namespace.glob(f"_frazil/{self.table.name}-*/abandoned-*.json"))

    def contents(self) -> dict[Path, str]:
        """Everything but Iceberg's metadata, with a hash of each file; links are not followed."""
        return {
            path: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
            for root in (self.table, *self.namespace.glob(f"_frazil/{self.table.name}-*"))
            for path in root.rglob("*")
            if path.parent.name != "metadata"
        }

    def age(self, hours: float) -> None:
        """Let all files be that old."""
        for path in self.contents():
            age(path, hours)


@pytest.fixture
def files(lake: Path, topic: str) -> Lake:
    return Lake(lake, topic)


@pytest.fixture
def orphan(connect, topic, files: Lake, broker: KafkaBroker) -> Path:
    """A file that one connector staged before it broke down, and another one of its name has opened the table since."""
    send(broker, topic, range(5))
    older = connect(topic, name=f"to_{topic}")
    caught_up(older)
    with fail_at("after_stage", RuntimeError("a test broke it")):
        send(broker, topic, range(5, 10))
        until_state(older, "FAILED")
    (staged,) = files.parquet - files.committed
    newer = connect(topic, name=f"to_{topic}", begin=False)
    newer.start(until_caught_up=True)
    assert newer.wait(120)
    swept()
    assert files.notes
    return staged


@pytest.mark.slow
def test_what_a_killed_connector_staged_goes_a_day_later_and_nothing_else_does(
    connect, topic, judge, files: Lake, lake: Path, broker: KafkaBroker, tmp_path: Path
):
    name = f"killed_{topic}"
    send(broker, topic, range(10))
    first = connect(topic, name=name)
    caught_up(first)
    first.stop()
    known = files.parquet
    send(broker, topic, range(10, 20))
    killed_after_staging(topic, name, lake, broker, tmp_path)
    orphans = files.parquet - known
    assert orphans

    files.age(23)
    opened_again(connect, topic, name)
    assert orphans <= files.parquet

    files.age(25)
    before = files.contents()
    with capture_logs() as logged:
        last = opened_again(connect, topic, name)

    assert before.keys() - files.contents().keys() == {*orphans, *files_of_notes(before)}
    assert before.items() - files.contents().items() == {
        (path, before[path]) for path in before.keys() - files.contents().keys()
    }
    (line,) = [line for line in logged if line["event"].startswith("removed files")]
    assert (line["files"], line["bytes"] > 0) == (len(orphans), True)
    report = judge(last, topic)
    assert report.clean, report
    assert report.rows == 20


@pytest.mark.slow
def test_what_was_staged_before_a_long_rest_goes_at_the_next_opening(
    connect, topic, judge, files: Lake, lake: Path, broker: KafkaBroker, tmp_path: Path
):
    name = f"rested_{topic}"
    send(broker, topic, range(10))
    killed_after_staging(topic, name, lake, broker, tmp_path)
    orphans = files.parquet
    assert orphans

    files.age(25)
    last = opened_again(connect, topic, name)

    assert files.parquet.isdisjoint(orphans)
    report = judge(last, topic)
    assert report.clean, report
    assert report.rows == 10


def test_only_files_of_abandoned_stages_go_whatever_lies_beside_them(
    connect, topic, orphan: Path, files: Lake, tmp_path: Path, spark: SparkSession
):
    stem, _, _ = orphan.name.rpartition("-")
    stage = stage_of(orphan)
    (once,) = {path for path in files.parquet if stage.base == stage_of(path).id}
    outside = tmp_path / "outside.parquet"
    shutil.copy(orphan, outside)
    doomed = {
        orphan,
        copy(orphan, orphan.with_name(f"{stem}-00077.parquet")),
        copy(orphan, orphan.with_name(f".{stem}-00078.parquet.partial")),
        copy(orphan, files.outbox / stage.reject_file(7).format(0)),
        copy(orphan, files.outbox / f".{stage.reject_file(8).format(0)}.partial"),
        copy(orphan, files.outbox / stage.reject_list),
        copy(orphan, files.outbox / f".{stage.reject_list}.crc"),
    }
    young = copy(orphan, orphan.with_name(f"{stem}-00080.parquet"))
    branched = copy(orphan, orphan.with_name(f"{stem}-00081.parquet"))
    others = {
        young,
        branched,
        copy(orphan, files.data / "00000-0-7d70cbc2-cf26-47b0-8b31-02587b83c1b8-0-00001.parquet"),
        copy(orphan, files.data / f"{stage.id}-00000.parquet"),
        copy(orphan, files.data / orphan.name.replace("frazil-TO_", "frazil-FROM_")),
        copy(orphan, files.data / orphan.name.lower()),
        copy(orphan, files.data / f"{orphan.name}.bak"),
        copy(orphan, files.data / f".{orphan.name}.tmp"),
        copy(orphan, files.data / stage.reject_file(9).format(0)),
        copy(orphan, files.data / "sub" / f"{stem}-00082.parquet"),
        copy(orphan, files.table / f"{stem}-00083.parquet"),
        copy(orphan, files.table / "metadata" / f"{stem}-00084.parquet"),
        copy(orphan, files.outbox / f"{stem}-00085.parquet"),
        copy(orphan, files.outbox / f"rejects-{stage.id}.parquet"),
        # Of a stage that was committed, and whose file nobody refers to any more: compaction leaves such behind.
        copy(once, files.data / f"{once.name.rpartition('-')[0]}-00086.parquet"),
        outside,
    }  # fmt: skip
    (files.data / f"{stem}-00087.parquet").mkdir()
    (files.data / f"{stem}-00088.parquet").symlink_to(outside)
    append_to_branch(spark, topic, branched)
    files.age(25)
    age(young, 23)
    before = files.contents()

    opened_again(connect, topic, f"to_{topic}")

    after = files.contents()
    gone = before.keys() - after.keys()
    assert gone - set(files_of_notes(before)) == doomed
    assert all(path.exists() for path in others)
    assert {path: after[path] for path in before.keys() - gone} == {path: before[path] for path in before.keys() - gone}


def test_a_stage_that_was_given_up_and_repeated_leaves_nothing_behind(
    connect, topic, judge, files: Lake, broker: KafkaBroker
):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    with fail_at("after_stage", CatalogUnavailable("answer", "a test said so")):
        send(broker, topic, range(5, 10))
        caught_up(connector)
    connector.stop()

    assert files.parquet == files.committed
    report = judge(connector, topic)
    assert report.clean, report
    assert report.rows == 10


def test_what_could_not_be_deleted_when_its_stage_was_given_up_goes_on_a_later_day(
    connect, topic, judge, files: Lake, broker: KafkaBroker, monkeypatch
):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    known = files.parquet
    with monkeypatch.context() as patched, fail_at("after_stage", CatalogUnavailable("answer", "a test said so")):
        patched.setattr(Path, "unlink", refuse_to_unlink)
        send(broker, topic, range(5, 10))
        caught_up(connector)
    connector.stop()
    (orphan,) = files.parquet - files.committed - known
    assert len(files.notes) == 1

    files.age(25)
    last = opened_again(connect, topic, connector.settings.name)

    assert not orphan.exists()
    report = judge(last, topic)
    assert report.clean, report
    assert report.rows == 10


def test_files_of_a_commit_that_happened_unheard_stay(
    connect, topic, judge, monkeypatch, files: Lake, broker: KafkaBroker
):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    lose_the_next_commit(monkeypatch)

    send(broker, topic, range(5, 10))
    caught_up(connector)
    send(broker, topic, range(10, 15))
    caught_up(connector)
    connector.stop()
    files.age(25)
    before = files.parquet
    last = opened_again(connect, topic, connector.settings.name)

    assert before <= files.parquet
    report = judge(last, topic)
    assert report.clean, report
    assert report.rows == 15


def test_files_that_were_committed_and_rolled_back_stay_also_when_nobody_refers_to_them(
    connect, topic, files: Lake, spark: SparkSession, broker: KafkaBroker, tmp_path: Path
):
    table = f"public.{topic.upper()}"
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    first, known = current_snapshot(spark, table), files.parquet
    send(broker, topic, range(5, 10))
    caught_up(connector)
    connector.stop()
    (once,) = files.parquet - known
    shutil.copy(once, tmp_path / once.name)

    spark.sql(f"CALL frazil.system.rollback_to_snapshot('{table}', {first})")
    spark.sql(f"CALL frazil.system.expire_snapshots(table => '{table}', older_than => now())")
    shutil.copy(tmp_path / once.name, once)  # as if whoever expired it had failed to delete it
    files.age(25)
    opened_again(connect, topic, connector.settings.name)

    assert once.exists()


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        ({"gc.enabled": "false"}, {}),
        ({"write.object-storage.enabled": "true"}, {}),
        ({"write.data.path": "s3://bucket/elsewhere"}, {}),
        ({}, {"frazil.orphans.min.age": "never"}),
        ({}, {"frazil.orphans.min.age": "26 h"}),
    ],
)
def test_nothing_goes_where_files_are_not_the_tables_alone_or_not_in_one_place_or_nobody_wants_it(
    connect, topic, orphan: Path, files: Lake, spark: SparkSession, properties, settings
):
    for key, value in properties.items():
        spark.sql(f"ALTER TABLE frazil.public.{topic.upper()} SET TBLPROPERTIES ('{key}' = '{value}')")
    files.age(25)
    before = files.contents()

    opened_again(connect, topic, f"to_{topic}", **settings)

    assert orphan.exists()
    assert before.items() <= files.contents().items()


def test_a_file_that_cannot_be_removed_disturbs_nobody_and_is_tried_again(
    connect, topic, orphan: Path, files: Lake, monkeypatch
):
    files.age(25)
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == orphan:
            raise PermissionError(f"not allowed: {path}")
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr(Path, "unlink", refuse)
        opened_again(connect, topic, f"to_{topic}")
    assert orphan.exists()
    assert [line["file"] for line in logged if line["event"] == "an orphan cannot be removed"] == [f"file://{orphan}"]

    opened_again(connect, topic, f"to_{topic}")
    assert not orphan.exists()


def test_a_stage_older_than_its_greatest_age_is_staged_again(connect, topic, judge, files: Lake, broker: KafkaBroker):
    send(broker, topic, range(5))
    connector = connect(topic)
    caught_up(connector)
    met: list[object] = []
    connector.on_state(lambda state: met.append(connector.error) if str(state) == "RETRYING" else None)

    with call_at("after_stage", lambda: let_an_hour_go_by(connector), hit=1):
        send(broker, topic, range(5, 10))
        caught_up(connector)

    assert [type(error) for error in met] == [StageTooOld]
    assert "frazil.stage.max.age is 3600 s" in str(met[0])
    report = judge(connector, topic)
    assert report.clean, report
    assert report.rows == 10
    assert files.parquet == files.committed


def refuse_to_unlink(path: Path, missing_ok: bool = False) -> None:
    raise PermissionError(f"not allowed: {path}")


def opened_again(connect, topic: str, name: str, **settings: str) -> Connector:
    """Run a connector until it is caught up and has looked for orphans."""
    connector = connect(topic, name=name, **settings)
    caught_up(connector, 120)
    swept()
    connector.stop()
    return connector


def swept() -> None:
    """Wait until nobody looks for orphans any more."""
    wait_until(
        lambda: not any(each.name.endswith("-sweeper") for each in threading.enumerate()), "the search for orphans", 60
    )


def killed_after_staging(topic: str, name: str, lake: Path, broker: KafkaBroker, tmp_path: Path) -> None:
    """Run a connector in a process of its own that is killed between its first stage and its commit."""
    file = write_properties(
        tmp_path / "killed.properties",
        name=name,
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__home=str(lake),
    )
    command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", "after_stage", "--", "run", str(file)]
    log = tmp_path / "killed.log"
    assert Running(command, log).ended(180) == -9, log.read_text()


def append_to_branch(spark: SparkSession, topic: str, path: Path) -> None:
    """Let a branch, and nothing else, refer to the file."""
    java = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        spark._jsparkSession, f"frazil.public.{topic.upper()}"
    )
    java.manageSnapshots().createBranch("audit").commit()
    staged = StagedFile(f"file:{path}", 5, path.stat().st_size)
    java.newAppend().appendFile(data_file(spark._jvm, java, staged, 0, 0)).toBranch("audit").commit()


def lose_the_next_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next swap happen, and nobody hear of it before the tokens are read again."""
    swap = JvmSwap.swap
    lost: list[object] = []

    def swap_unheard(self: JvmSwap) -> object:
        made = swap(self)
        if lost:
            return made
        lost.append(made)
        raise CatalogUnavailable("answer", "the answer was lost")

    monkeypatch.setattr(JvmSwap, "swap", swap_unheard)


def let_an_hour_go_by(connector: Connector) -> None:
    connector._ingestion._tasks.began -= HOUR


def current_snapshot(spark: SparkSession, table: str) -> int:
    rows = spark.sql(f"SELECT snapshot_id FROM frazil.{table}.refs WHERE name = 'main'").collect()
    return rows[0].snapshot_id


def stage_of(path: Path) -> Stage:
    found = stage_of_data(path.name)
    assert found
    return found


def files_of_notes(contents) -> list[Path]:
    return [path for path in contents if path.name.lstrip(".").startswith("abandoned-")]


def copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(exist_ok=True)
    shutil.copy(source, target)
    return target


def age(path: Path, hours: float) -> None:
    then = time.time() - hours * HOUR
    os.utime(path, (then, then), follow_symlinks=False)
