"""Much of everything: large records, many partitions, one hot partition, many tables, many keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import orjson
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from tests.conftest import AddCatalog
from tests.support.channels import at
from tests.support.h2 import Database
from tests.support.waiting import caught_up, tokens, until_state

from frazil import Connector
from frazil.cycle import CycleReport
from frazil.dev.kafka import KafkaBroker
from frazil.model import Staged, StageFailure, Task
from frazil.tables.outbox import undelivered
from frazil.testing import iceberg
from frazil.testing.produce import record
from frazil.testing.topics import create_topic, delete_topic, wait_until

pytestmark = pytest.mark.slow

MB = 1024 * 1024
PARTITIONS = 1000
TABLES = 40


@pytest.fixture
def send(broker: KafkaBroker) -> Callable[..., None]:
    """Produce records of any size: `send(topic, [(partition, value), …])`."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 32 * MB})

    def produce(topic: str, records: Sequence[tuple[int, bytes]]) -> None:
        for partition, value in records:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(60) == 0

    return produce


class Reports(list[CycleReport]):
    """The reports of cycles that read something, as they come."""

    @classmethod
    def of(cls, connector: Connector) -> Reports:
        found = cls()
        connector.on_cycle(lambda report: found.append(report) if report.records else None)
        return found


def files_of(lake: Path, topic: str) -> list[Path]:
    metadata = iceberg.read_metadata(iceberg.current_metadata(lake / "catalog.db", "public", topic.upper()))
    return [file.path for file in iceberg.data_files(metadata)]


def test_records_of_ten_megabytes_land_exactly_and_are_rejected_whole(connect, make_topic, send, spark, lake: Path):
    topic = make_topic(max_message_bytes=str(16 * MB))
    text = "0123456789abcdef" * (10 * MB // 16)
    numbers = list(range(1_400_000))
    whole = orjson.dumps({"id": 1, "text": text})
    nested = orjson.dumps({"id": 2, "nested": {"numbers": numbers, "end": "ø"}})
    broken = nested[:-2]
    assert min(map(len, (whole, nested, broken))) > 10_000_000
    send(topic, [(0, b'{"id": 0, "text": "", "nested": {}}'), (0, whole), (0, nested), (0, broken), (0, b'{"id": 4}')])

    connector = connect(topic, **{"errors.tolerance": "all"})
    caught_up(connector)

    found = duckdb.execute(
        "SELECT id, text, nested::JSON::VARCHAR FROM read_parquet($files) ORDER BY RECORD_METADATA.offset",
        {"files": list(map(str, files_of(lake, topic)))},
    ).fetchall()
    assert [row[0] for row in found] == [0, 1, 2, 4]
    assert found[1][1] == text
    assert json.loads(found[2][2]) == {"numbers": numbers, "end": "ø"}
    lengths = spark.sql(
        f"SELECT id, length(text), length(to_json(nested)) FROM frazil.public.{topic.upper()} ORDER BY id"
    )
    assert [tuple(row) for row in lengths.collect()][1:3] == [
        (1, len(text), None),
        (2, None, len(orjson.dumps({"numbers": numbers, "end": "ø"}).decode())),
    ]
    (opened,) = connector._ingestion.tables.values()
    (listed,) = undelivered(opened.table, opened.tokens.rejects)
    (reject,) = duckdb.execute(
        "SELECT value FROM read_parquet($files)", {"files": [each.removeprefix("file:") for each in listed.files]}
    ).fetchall()
    assert reject == (broken,)
    assert tokens(connector) == {0: "4"}


@pytest.mark.long
def test_a_thousand_partitions_are_opened_planned_and_committed_together(
    connect, broker: KafkaBroker, send, judge, lake: Path
):
    topic = "a_thousand_partitions"
    create_topic(broker.bootstrap_servers, topic, PARTITIONS)
    send(topic, [(partition, record("one", partition, 0)) for partition in range(PARTITIONS)])
    connector = connect(topic, begin=False)
    reports = Reports.of(connector)

    connector.start()
    caught_up(connector)
    send(topic, [(partition, record("two", partition, 1)) for partition in range(PARTITIONS)])
    caught_up(connector)

    assert judge(connector, topic).clean
    status = connector.status()
    assert [each.partition for each in status] == list(range(PARTITIONS))
    assert {each.offset_token for each in status} == {"1"}
    assert sum(report.records for report in reports) == 2 * PARTITIONS
    # A few cycles, for they go on while a test produces; never one for each partition.
    assert len(reports) < 20
    metadata = iceberg.read_metadata(iceberg.current_metadata(lake / "catalog.db", "public", topic.upper()))
    (mirror,) = (value for key, value in metadata["properties"].items() if key.startswith("frazil.tokens."))
    assert len(mirror) < 16_000
    connector.stop()
    delete_topic(broker.bootstrap_servers, topic)


def large(number: int) -> tuple[int, bytes]:
    """A record of a megabyte, in the only partition."""
    return 0, b'{"n": %d, "text": "%b"}' % (number, (b"%06d" % number) * (MB // 6))


@pytest.fixture
def hot(connect, make_topic, send) -> tuple[Connector, str]:
    """A connector that knows how large its topic's records are, stopped before a backlog of 100 MB in one partition."""
    topic = make_topic(max_message_bytes=str(2 * MB))
    connector = connect(topic, begin=False)
    send(topic, [large(0), large(1)])
    connector.start()
    caught_up(connector)
    connector.pause()
    until_state(connector, "PAUSED")
    send(topic, [large(number) for number in range(2, 102)])
    return connector, topic


def landed(lake: Path, topic: str) -> list[tuple[int, int]]:
    """Offset and number of each row, as the files have them, in the order of offsets."""
    return duckdb.execute(
        "SELECT RECORD_METADATA.offset, n FROM read_parquet($files) ORDER BY 1",
        {"files": list(map(str, files_of(lake, topic)))},
    ).fetchall()


class Groups:
    """Notes the tasks of every staging, and may change what comes back."""

    def __init__(self, connector: Connector, change: Callable[[list[Staged]], list[Staged]] = lambda staged: staged):
        self.run: list[list[Task]] = []
        job, real = connector._ends.job, connector._ends.job.run

        def run(groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:
            self.run.append([task for group in groups for task in group])
            return change(real(groups, description))

        job.run = run


def test_a_hot_partition_is_staged_by_all_cores(hot, lake: Path):
    connector, topic = hot
    groups = Groups(connector)

    connector.resume()
    caught_up(connector)

    (first, second), *_ = groups.run
    assert (first.ranges[0].start, second.ranges[0].end) in ((at(2), at(102)), (at(52), at(52)))
    assert {task.ranges[0].length for task in (first, second)} == {50}
    assert landed(lake, topic) == [(offset, offset) for offset in range(102)]


def test_a_hot_partition_stays_where_it_was_if_a_part_of_it_fails(hot, lake: Path):
    connector, topic = hot
    failures = iter([True])

    def fail_one(staged: list[Staged]) -> list[Staged]:
        if next(failures, False):
            wait_until(lambda: len(landed(lake, topic)) == 2, "nothing to be committed")
            failure = StageFailure("broker_unavailable", "it went away", staged[-1].ranges[0].partition)
            return [*staged[:-1], replace(staged[-1], ranges=(), tables=(), failure=failure)]
        return staged

    groups = Groups(connector, fail_one)
    states: list[str] = []
    connector.on_state(states.append)

    connector.resume()
    caught_up(connector)

    assert "RETRYING" in states
    assert len(groups.run[0]) == 2
    assert [task.ranges for task in groups.run[0]] == [task.ranges for task in groups.run[1]]
    assert landed(lake, topic) == [(offset, offset) for offset in range(102)]


def test_a_bad_record_in_a_part_of_a_hot_partition_leaves_what_is_behind_it(connect, make_topic, send, lake: Path):
    topic = make_topic(max_message_bytes=str(2 * MB))
    connector = connect(topic)
    send(topic, [large(0), large(1)])
    caught_up(connector)
    connector.pause()
    until_state(connector, "PAUSED")
    send(topic, [*(large(number) for number in range(2, 20)), (0, b"no JSON"), *(large(n) for n in range(21, 102))])
    groups = Groups(connector)

    connector.resume()
    until_state(connector, "FAILED")

    assert len(groups.run[0]) == 2
    assert tokens(connector) == {0: "19"}
    assert landed(lake, topic) == [(offset, offset) for offset in range(20)]


@pytest.fixture
def many(add_catalog: AddCatalog, tmp_path: Path) -> Iterator[str]:
    """The name of a catalog in a database that takes many writers at once."""
    with Database.running(tmp_path / "database") as database:
        settings = {
            "type": "jdbc",
            "uri": f"jdbc:h2:tcp://{database.address}/catalog;DATABASE_TO_UPPER=FALSE",
            "jdbc.user": "sa",
            "jdbc.password": "",
            "jdbc.schema-version": "V1",
            "clients": "8",
            "warehouse": f"file://{tmp_path}/warehouse",
        }
        yield add_catalog(settings)


@pytest.mark.long
def test_many_tables_are_staged_by_one_job_and_committed_side_by_side(
    connect, broker: KafkaBroker, send, many: str, spark: SparkSession
):
    topics = [f"many_{number}" for number in range(TABLES)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = admin.create_topics([NewTopic(topic, 1, 1) for topic in topics])
    for each in made.values():
        each.result(60)
    for topic in topics:
        send(topic, [(0, record("one", 0, number)) for number in range(10)])
    connector = connect("many", begin=False, **{"topics": ",".join(topics), "frazil.catalog": many})
    groups, reports = Groups(connector), Reports.of(connector)

    connector.start()
    caught_up(connector)

    assert len(groups.run[0]) == TABLES
    assert len(reports[0].snapshots) == TABLES
    assert len(reports) == 1
    counted = " UNION ALL ".join(
        f"SELECT count(*) AS rows FROM {many}.public.MANY_{number}" for number in range(TABLES)
    )
    assert [row.rows for row in spark.sql(counted).collect()] == [10] * TABLES


def test_a_table_gets_as_many_columns_as_allowed_and_the_other_keys_are_rescued(
    connect, topic, send, rows, spark: SparkSession
):
    keys = [f"key_{number:04d}" for number in range(1200)]
    send(topic, [(0, orjson.dumps(dict.fromkeys(keys, 1))), (0, orjson.dumps({"late": 1}))])

    connector = connect(topic)
    caught_up(connector)

    columns = [name for name in spark.table(f"frazil.public.{topic.upper()}").columns if name != "RECORD_METADATA"]
    assert columns == [*keys[:1000], "_RESCUED_DATA"]
    first, second = (row["_RESCUED_DATA"]["values"] for row in rows(topic))
    assert (first, second) == (dict.fromkeys(keys[1000:], 1), {"late": 1})
    assert not connector.dropped()
