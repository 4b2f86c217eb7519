"""Accepted records go on to another stream behind their commits: each at least once, whatever happens."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession
from tests.support.aggregated import aggregated
from tests.support.processes import Running, frazil, write_properties
from tests.support.streams import HIGHEST, put, reading, records_of
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.cycle import sending
from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.faults import Fault
from frazil.faults import Point
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing import iceberg
from frazil.testing.stream_oracle import StreamReport, verify_stream
from frazil.testing.topics import wait_until


@pytest.fixture
def streams(kinesis: LocalKinesis, stream: str) -> tuple[str, str]:
    """A stream of two shards, and one with one for what was accepted of it."""
    kinesis.provide(f"{stream}_out")
    return stream, f"{stream}_out"


def until_sent(kinesis: LocalKinesis, stream: str, count: int) -> list[tuple[str, bytes]]:
    wait_until(lambda: len(records_of(kinesis, stream)) >= count, f"{count} records in {stream}")
    return records_of(kinesis, stream)


def outbox(home: Path, table: str) -> list[str]:
    """The files of accepted records that wait beside a table."""
    return [each.name for each in home.glob(f"warehouse/**/_frazil/{table.upper()}-*/output-*")]


def test_accepted_records_go_on_as_they_came_and_those_that_became_no_row_do_not(
    kinesis: LocalKinesis,
    streams: tuple[str, str],
    follow_stream: Callable[..., Connector],
    spark: SparkSession,
    lake: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, out = streams
    monkeypatch.setattr(sending, "_AGAIN", 0.5)
    refusing = Fault("ProvisionedThroughputExceededException", ("PutRecords",), stream=out, each_record=True, times=2)
    with kinesis.faults.during(refusing):
        put(kinesis, stream, '{"n": 1,  "text": "as it was written"}', key="\N{SNOWMAN}")
        connector = follow_stream(kinesis, stream, **{"frazil.output.stream": out, "errors.tolerance": "all"})
        caught_up(connector)
        put(kinesis, stream, aggregated(b'{"n": 2}', b'{"n": "x"}', b'{"n": 3}', key="alice"))
        until_sent(kinesis, out, 3)
    put(kinesis, stream, '{"n": 4, "another": true}', at=HIGHEST)
    until_sent(kinesis, out, 4)
    catalog = Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)
    with Engine(catalog, lambda: spark) as engine:
        engine.answer(
            f"CREATE PIPE {stream} AS COPY INTO {stream} FROM (SELECT $1:n AS n "
            "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')) WHERE $1:n <> 5) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
        )
    put(kinesis, stream, '{"n": 5}')
    put(kinesis, stream, '{"n": 6}')
    until_sent(kinesis, out, 5)
    caught_up(connector)
    connector.stop()

    assert refusing.happened == 2
    sent = records_of(kinesis, out)
    assert sorted(sent) == sorted(
        [
            ("\N{SNOWMAN}", b'{"n": 1,  "text": "as it was written"}'),
            ("alice", b'{"n": 2}'),
            ("alice", b'{"n": 3}'),
            ("k", b'{"n": 4, "another": true}'),
            ("k", b'{"n": 6}'),
        ]
    )
    rows = spark.sql(f"SELECT n FROM frazil.public.{stream.upper()}").collect()
    assert sorted(row["n"] for row in rows) == [1, 2, 3, 4, 6]
    assert outbox(lake, stream) == []


def test_an_output_that_is_not_there_holds_up_no_row_and_gets_all_of_them_once_it_is(
    kinesis: LocalKinesis,
    streams: tuple[str, str],
    follow_stream: Callable[..., Connector],
    spark: SparkSession,
    lake: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, out = streams
    late = f"{out}_late"
    monkeypatch.setattr(sending, "_AGAIN", 0.2)
    connector = follow_stream(kinesis, stream, **{"frazil.output.stream": late})
    for number in range(3):
        put(kinesis, stream, f'{{"n": {number}}}')
        caught_up(connector)
    assert spark.table(f"frazil.public.{stream.upper()}").count() == 3
    assert len(outbox(lake, stream)) >= 2

    kinesis.provide(late)

    assert [value for _, value in until_sent(kinesis, late, 3)] == [b'{"n": %d}' % number for number in range(3)]
    connector.stop()
    assert len(records_of(kinesis, late)) == 3
    assert outbox(lake, stream) == []


def test_who_runs_until_caught_up_ends_when_all_is_sent_and_leaves_nothing_behind(
    kinesis: LocalKinesis, streams: tuple[str, str], tmp_path: Path
) -> None:
    stream, out = streams
    home = tmp_path / "home"
    client = kinesis.client()
    count = 5_000
    for first in range(0, count, 500):
        records = [
            {"Data": b'{"n": %d}' % number, "PartitionKey": f"k{number % 7}"} for number in range(first, first + 500)
        ]
        client.put_records(StreamName=stream, Records=records)
    file = write_properties(
        tmp_path / "c.properties", **reading(kinesis, stream, home, **{"frazil.output.stream": out})
    )

    done = frazil("run", "--until-caught-up", file)

    assert done.returncode == 0, done.stderr
    sent = Counter(value for _, value in records_of(kinesis, out))
    assert sent == Counter(b'{"n": %d}' % number for number in range(count))
    assert outbox(home, stream) == []
    by_key: dict[str, list[int]] = {}
    for key, value in records_of(kinesis, out):
        by_key.setdefault(key, []).append(orjson.loads(value)["n"])
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


def test_kills_lose_nothing_and_nothing_is_sent_before_its_commit(
    kinesis: LocalKinesis, streams: tuple[str, str], tmp_path: Path
) -> None:
    stream, out = streams
    home = tmp_path / "home"
    sent: Counter[str] = Counter()
    file = write_properties(
        tmp_path / "c.properties", **reading(kinesis, stream, home, **{"frazil.output.stream": out})
    )

    def put_some() -> None:
        for number in range(100):
            key = f"customer {number % 5}"
            put(kinesis, stream, orjson.dumps({"key": key, "number": sent[key]}), key=key)
            sent[key] += 1

    def killed_at(point: Point, hit: int) -> None:
        killed = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, "--hit", str(hit), "--"]
        running = Running([*killed, "run", str(file)], tmp_path / f"{point}.log")
        running.until_it_says("opened a table")
        put_some()
        assert running.ended(180) == -9

    def landed() -> StreamReport:
        return verify_stream(iceberg.current_metadata(home / "catalog.db", "public", stream.upper()), stream, sent)

    killed_at("before_swap", 2)
    assert len(set(records_of(kinesis, out))) <= landed().rows
    abandoned = set(outbox(home, stream))
    killed_at("after_delivery", 1)
    assert len(set(records_of(kinesis, out))) <= landed().rows
    last = frazil("run", "--until-caught-up", file)

    assert last.returncode == 0, last.stderr
    assert landed().clean
    wanted = {orjson.dumps({"key": key, "number": number}) for key, count in sent.items() for number in range(count)}
    assert {value for _, value in records_of(kinesis, out)} == wanted
    # Of what never was committed, files stay until they are old.
    assert set(outbox(home, stream)) <= abandoned
