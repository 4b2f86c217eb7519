"""Chunks and records that take a lot of memory, and tasks whose records would make for a lot to report."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from tests.pipes.default.chunks import columns
from tests.support.channels import at, offsets

from frazil.dev.kafka import KafkaBroker
from frazil.model import Column, ReaderSpec, SourcePartition, TableName, TableTask, Task, WriteShape
from frazil.staging import worker
from frazil.staging.task import stage

MB = 1024 * 1024
MakeTask = Callable[..., Task]


@pytest.fixture
def make_task(broker: KafkaBroker, make_topic: Callable[..., str], tmp_path: Path) -> MakeTask:
    """Stage records of any size: `make_task(values, columns, evolves=False)`."""

    def make(values: list[bytes], shape: tuple[Column, ...], *, evolves: bool = False) -> Task:
        topic = make_topic(max_message_bytes=str(32 * MB))
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 32 * MB})
        for value in values:
            producer.produce(topic, value)
        assert producer.flush(60) == 0
        return Task(
            connector="SHOP",
            ranges=(offsets(SourcePartition(topic, 0), 0, len(values)),),
            tables=(
                TableTask(
                    WriteShape(TableName(("public",), "T"), "u", 0, 0, 0, shape, has_rows=not evolves, evolves=evolves),
                    data_path=f"file:{tmp_path}/data/{{}}.parquet",
                    rejects_path=f"file:{tmp_path}/rejects/{{}}.parquet",
                ),
            ),
            reader=ReaderSpec("kafka", {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"}),
            tolerance="all",
        )

    return make


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker whose DuckDB has 100 MB."""
    monkeypatch.setattr(worker, "_MEMORY", "100MB")
    monkeypatch.setattr(worker, "_SPILLED", "0MB")
    monkeypatch.setattr(worker, "_connection", None)
    yield
    if worker._connection is not None:
        worker._connection.close()


def numbers(size: int) -> bytes:
    """A record with an array of so many bytes; of each number, DuckDB makes many times as much."""
    return b'{"v": [' + b",".join([b"7"] * (size // 2)) + b"]}"


@pytest.mark.usefixtures("little_memory")
def test_a_chunk_that_takes_too_much_memory_is_written_in_pieces(make_task: MakeTask) -> None:
    staged = stage(make_task([numbers(MB)] * 6, columns(v="variant")))

    assert staged.failure is None
    (part,) = staged.tables
    assert part.rejects is None
    assert sum(pq.read_metadata(file.path.removeprefix("file:")).num_rows for file in part.files) == 6
    assert len(part.files) > 1


@pytest.mark.usefixtures("little_memory")
def test_a_record_that_takes_too_much_memory_is_a_reject_and_those_around_it_land(make_task: MakeTask) -> None:
    staged = stage(make_task([numbers(100), numbers(4 * MB), numbers(100)], columns(v="variant")))

    assert staged.failure is None
    (part,) = staged.tables
    assert sum(file.rows for file in part.files) == 2
    assert part.rejects is not None
    assert (part.rejects.count, part.rejects.first.offset) == (1, 1)
    assert "takes more memory than a worker has" in part.rejects.first.reason


def test_a_task_that_reads_more_than_was_planned_stops_and_says_how_far_it_came(make_task: MakeTask) -> None:
    task = make_task([b'{"v": "%b"}' % (b"x" * MB)] * 40, columns(v="string"))

    staged = stage(replace(task, most_bytes=4 * MB))

    (part,) = staged.tables
    (covered,) = part.ranges
    assert at(4) <= covered.covered < at(40)
    assert covered.inserted == covered.parsed == covered.covered.first == sum(file.rows for file in part.files)
    assert [each.covered for each in staged.ranges] == [covered.covered]


def test_many_different_keys_make_a_result_no_larger(make_task: MakeTask) -> None:
    values = [json.dumps({str(uuid.uuid4()): 1 for _ in range(30)}).encode() for _ in range(3000)]

    landed = stage(make_task(values, columns(v="string")))
    drifted = stage(make_task(values, (), evolves=True))

    (dropping,), (drifting,) = landed.tables, drifted.tables
    assert sum(dropping.dropped.values()) == 90_000
    assert len(dropping.dropped) == 1001
    assert len(drifting.drift) == 1000
    assert len(pickle.dumps(landed)) < 64 * 1024
    assert len(pickle.dumps(drifted)) < 128 * 1024


def test_many_columns_files_and_rejects_make_a_result_no_larger(make_task: MakeTask) -> None:
    names = [f"column_{number}" for number in range(990)]
    values = [json.dumps(dict.fromkeys(names, f"{row}" * 20)).encode() for row in range(60)]
    task = make_task(
        [*values, *(b"no JSON %d" % row for row in range(5000))], columns(**dict.fromkeys(names, "string"))
    )

    staged = stage(replace(task, chunk_bytes=MB // 2))

    (part,) = staged.tables
    assert sum(file.rows for file in part.files) == 60
    assert part.rejects is not None
    assert part.rejects.count == 5000
    one = len(pickle.dumps(part.files)) / len(part.files)
    assert one < 16 * 1024
    rest = replace(part, files=(), shape=replace(part.shape, columns=()))
    assert len(pickle.dumps(replace(staged, tables=(rest,)))) < 16 * 1024
