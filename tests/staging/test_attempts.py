"""A task may run twice, and may be cut short: each attempt has files of its own, and a failed one leaves none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.pipes.default.chunks import columns
from tests.support.channels import offsets
from tests.support.disks import SmallDisk

from frazil.dev.kafka import KafkaBroker
from frazil.model import ReaderSpec, SourcePartition, Staged, StagedTable, TableName, TableTask, Task, WriteShape
from frazil.staging import worker
from frazil.staging.task import stage
from frazil.testing.records import produce


@pytest.fixture
def task(broker: KafkaBroker, topic: str, tmp_path: Path) -> Task:
    """Ten good records and a bad one, to be staged below `tmp_path`."""
    values = [b'{"number": %d}' % number for number in range(10)]
    produce(broker.bootstrap_servers, topic, [*values[:5], b"no JSON", *values[5:]])
    return Task(
        connector="SHOP",
        ranges=(offsets(SourcePartition(topic, 0), 0, 11),),
        tables=(
            TableTask(
                WriteShape(
                    TableName(("public",), "ORDERS"), "u", 0, 0, 0, columns(number="long"), has_rows=True, evolves=False
                ),
                data_path=f"file:{tmp_path}/data/frazil-7-{{}}.parquet",
                rejects_path=f"file:{tmp_path}/rejects/rejects-7-{{}}.parquet",
            ),
        ),
        reader=ReaderSpec(
            "kafka",
            {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "isolation.level": "read_uncommitted"},
        ),
        tolerance="all",
    )


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """A worker whose scratch directory is on a small disk."""
    with SmallDisk.mounted(tmp_path / "scratch") as disk:
        monkeypatch.setattr(worker, "_scratch", disk.root)
        monkeypatch.setattr(worker, "_connection", None)
        yield disk


def test_two_attempts_at_a_task_have_different_files_and_the_first_ones_stay_as_they_are(task: Task) -> None:
    first = stage(task)
    held = contents(first)
    second = stage(task)

    assert first.failure is None
    assert len(only(first).files) == 1
    assert contents(first) == held
    assert held.keys().isdisjoint(contents(second))


def test_every_file_is_named_as_the_task_says(task: Task) -> None:
    staged = only(stage(task))

    assert staged.rejects is not None
    assert Path(staged.files[0].path).match("data/frazil-7-*[0-9].parquet")
    assert Path(staged.rejects.path).match("rejects/rejects-7-*[0-9].parquet")
    assert staged.rejects.count == 1


def test_what_a_failed_attempt_had_put_in_place_and_in_scratch_is_gone(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "rejects"
    blocked.write_text("no directory")

    staged = stage(task)

    assert staged.failure is not None
    assert staged.failure.error == "storage_unavailable"
    assert str(blocked) in staged.failure.message
    assert list((tmp_path / "data").iterdir()) == []
    assert [path for path in worker.scratch().rglob("*") if path.is_file()] == []


def test_a_full_scratch_disk_fails_the_stage_and_rejects_nothing(
    task: Task, scratch: SmallDisk, tmp_path: Path
) -> None:
    assert stage(task).failure is None
    scratch.fill()

    full = stage(task)
    left = scratch.files()
    scratch.empty()
    again = stage(task)

    assert full.failure is not None
    assert full.failure.error == "stage_failed"
    assert str(scratch.root) in full.failure.message
    assert full.tables == ()
    assert left == set()
    assert again.failure is None
    assert (only(again).files[0].rows, (rejects := only(again).rejects) and rejects.count) == (10, 1)


def test_a_worker_whose_duckdb_had_a_fatal_error_stages_the_next_task(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_connection", invalidated(tmp_path / "duck.db"))

    failed = stage(task)
    again = stage(task)

    assert failed.failure is not None
    assert "database has been invalidated" in failed.failure.message
    assert again.failure is None
    assert only(again).files[0].rows == 10


def test_what_the_quick_way_expects_of_duckdb_keeps_the_connection(task: Task, broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap_servers, topic, [b'{"number": 1, "number": 2}', b'{"number": "x"}'])
    first = worker.connection()

    staged = stage(replace(task, ranges=(offsets(SourcePartition(topic, 0), 0, 13),)))

    assert staged.failure is None
    assert worker.connection() is first


def test_a_full_disk_of_the_table_keeps_no_half_file(task: Task, tmp_path: Path) -> None:
    with SmallDisk.mounted(tmp_path / "data") as disk:
        disk.fill()
        staged = stage(task)

        assert staged.failure is not None
        assert "No space left" in staged.failure.message
        assert str(disk.root) in staged.failure.message
        assert disk.files() == set()


def invalidated(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection to a database that had a fatal error: a checkpoint that failed half way."""
    connection = duckdb.connect(path)
    connection.execute("SET debug_checkpoint_abort = 'before_header'")
    connection.execute("CREATE TABLE t AS SELECT 1")
    with pytest.raises(duckdb.FatalException):
        connection.execute("CHECKPOINT")
    return connection


def only(staged: Staged) -> StagedTable:
    """What was staged for the only table of a task."""
    (part,) = staged.tables
    return part


def replaced(task: Task, **changes: Any) -> Task:
    """A task with something else of its only table."""
    (part,) = task.tables
    return replace(task, tables=(replace(part, **changes),))


def contents(staged: Staged) -> dict[Path, bytes]:
    """The files of a stage, rejects included."""
    part = only(staged)
    paths = [file.path for file in part.files] + ([part.rejects.path] if part.rejects else [])
    return {path: path.read_bytes() for path in (Path(each.removeprefix("file:")) for each in paths)}


def test_digits_go_into_the_name_whatever_the_directories_are_called(task: Task, tmp_path: Path) -> None:
    odd = replaced(task, data_path=f"file:{tmp_path}/{{}}/a{{}}b/frazil-7-{{}}.parquet")

    (file,) = only(stage(odd)).files
    assert Path(file.path.removeprefix("file:")).parent == tmp_path / "{}" / "a{}b"
    assert Path(file.path.removeprefix("file:")).exists()


def test_what_opens_the_storage_is_not_shown(task: Task) -> None:
    opened = replaced(task, data_access={"s3.secret-access-key": "hush"}, rejects_access={"adls.token": "hush"})

    assert "hush" not in repr(opened)


def test_records_that_became_rows_are_kept_as_they_were_read_to_be_sent_on(task: Task, tmp_path: Path) -> None:
    staged = only(stage(sending_on(task, tmp_path)))

    assert staged.output is not None
    assert Path(staged.output).match("output/output-7-*[0-9].parquet")
    kept = pq.read_table(staged.output.removeprefix("file:")).to_pylist()
    assert [each["offset"] for each in kept] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert [bytes(each["value"]) for each in kept] == [b'{"number": %d}' % number for number in range(10)]


def test_with_a_bad_record_that_ends_a_range_only_what_came_before_it_is_sent_on(task: Task, tmp_path: Path) -> None:
    staged = only(stage(replace(sending_on(task, tmp_path), tolerance="none")))

    (output,) = (tmp_path / "output").iterdir()
    assert f"file:{output}" == staged.output
    assert pq.read_table(output).column("offset").to_pylist() == [0, 1, 2, 3, 4]


def test_what_is_staged_again_for_a_new_column_is_not_kept_to_be_sent_on(task: Task, tmp_path: Path) -> None:
    (part,) = task.tables
    growing = sending_on(
        replaced(task, shape=replace(part.shape, columns=columns(other="long"), evolves=True)), tmp_path
    )

    staged = only(stage(growing))

    assert (list(staged.drift), staged.output) == (["number"], None)
    assert not (tmp_path / "output").exists()


def test_an_attempt_that_fails_after_all_leaves_nothing_to_be_sent_on(task: Task, tmp_path: Path) -> None:
    (tmp_path / "rejects").write_text("a file where a directory should be")

    staged = stage(sending_on(task, tmp_path))

    assert staged.failure is not None
    assert [*(tmp_path / "output").iterdir()] == []


def sending_on(task: Task, directory: Path) -> Task:
    """The task of a connector that sends accepted records on."""
    return replaced(task, output_path=f"file:{directory}/output/output-7-{{}}.parquet")


def test_storage_that_fails_is_a_value_and_its_secrets_are_not(task: Task, caplog: pytest.LogCaptureFixture) -> None:
    for location, access, code in (
        ("ftp://host/x-{}", {}, "storage_not_supported"),
        ("s3://b/x-{}", {"s3.remote-signing-enabled": "true", "s3.session-token": "hush"}, "storage_not_supported"),
    ):
        staged = stage(replaced(task, data_path=location, data_access=access))

        assert staged.failure is not None
        assert staged.failure.error == code
        assert "hush" not in f"{staged}{caplog.text}"
