"""Rejected records come through the present pipe once, beside a running connector, from the table or from the topic."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from structlog.testing import capture_logs
from tests.integration.commands import Desk
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import Running, frazil, write_properties
from tests.support.waiting import caught_up

from frazil.config import load
from frazil.connector.registry import Registry
from frazil.connector.rejected.desk import Asked, RejectDesk
from frazil.connector.rejected.replaying import Fate, Replayer, ReplayOutcome
from frazil.dev.kafka import KafkaBroker
from frazil.errors import ErrorTableUnfit, InvalidQuery, ReplayRefused
from frazil.faults import Point
from frazil.model import Primitive, TableName
from frazil.queries.engine import Engine
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.tables.rules import error_tables
from frazil.tables.rules.tokens import key_of
from frazil.testing.crash import call_at
from frazil.testing.records import produce, read
from frazil.testing.topics import create_topic, wait_until

ASIDE = {"errors.tolerance": "all", "frazil.errors.table": "true"}
BAD = ['{"n": "x"}', '{"n": 2}', '{"n": "7 pieces"}', b"\xff no"]


def mending(topic: str) -> str:
    """A pipe that takes any text for a number; those that are none become NULL."""
    return (
        f"CREATE OR REPLACE PIPE {topic} AS COPY INTO {topic} FROM (SELECT TRY_TO_NUMBER($1:n::STRING) AS n, "
        "$1:RECORD_METADATA AS record_metadata FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))) "
        "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
    )


@pytest.fixture
def catalog(spark: SparkSession, lake: Path) -> Catalog:
    return Catalog(iceberg_catalog(spark, EMBEDDED, lake), spark.sparkContext._gateway, EMBEDDED)


@pytest.fixture
def engine(catalog: Catalog, spark: SparkSession) -> Iterator[Engine]:
    with Engine(catalog, lambda: spark) as engine:
        yield engine


def places(rows: list[dict]) -> list[tuple[int, int | None]]:
    return [(row["RECORD_METADATA"]["offset"], row["n"]) for row in rows]


def replayed(desk: RejectDesk, asked: Asked) -> ReplayOutcome:
    done = ReplayOutcome()
    for done in Replayer(desk).replay(asked):  # noqa: B007 (the last one counts)
        pass
    return done


@pytest.fixture
def rejected(
    connect, topic, spark: SparkSession, lake: Path, broker: KafkaBroker, tmp_path: Path, catalog: Catalog, engine
):
    """A running connector whose table rejected three records, in its error table and in its dead-letter topic."""
    dead = f"{topic}_dead"
    letters = {
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])
    connector = Desk(spark, lake, connect, tmp_path).run(topic, f"to_{topic}", **ASIDE, **letters)
    caught_up(connector)
    produce(broker.bootstrap_servers, topic, BAD, keys=[b"k", None, None, None], headers=[("h", b"1"), ("h", None)])
    caught_up(connector)
    wait_until(lambda: len(read(broker.bootstrap_servers, dead)) == 3, "three rejected records")
    return connector


def test_what_was_rejected_is_listed_shown_and_replayed_beside_the_running_connector(
    rejected, topic, rows, broker: KafkaBroker, lake: Path, catalog: Catalog, engine: Engine
):
    def desk() -> RejectDesk:
        return RejectDesk(catalog, engine, Registry(lake))

    asked = Asked(table=topic)
    found = desk().groups(asked)
    assert [(each.code, each.column, each.count, each.first_offset, each.last_offset) for each in found] == [
        ("5015", None, 1, 4, 4),
        ("5030", "n", 2, 1, 3),
    ]
    (first, *_), (last,) = desk().records(asked, 10), desk().records(Asked(topic, None, "offset > 3 -- the last"), 10)
    assert (first.row["key"], first.row["value"], first.row["offset"]) == (b"k", b'{"n": "x"}', 1)
    assert first.row["headers"] == [{"name": "h", "value": b"1"}, {"name": "h", "value": None}]
    assert last.row["value"] == BAD[3]
    with pytest.raises(InvalidQuery, match="no condition"):
        desk().groups(Asked(topic, None, "offset > 3) OR (true"))

    assert replayed(desk(), asked).replayed == 0  # nothing has changed
    engine.answer(mending(topic))
    fates = [each for each in Replayer(desk()).foresee(asked) if isinstance(each, Fate)]
    assert sorted((each.place[1], each.fate) for each in fates) == [(1, "row"), (3, "row"), (4, "reject")]
    assert places(rows(topic)) == [(0, 1), (2, 2)]

    assert replayed(desk(), Asked(topic, None, "offset = 1")).replayed == 1
    done = replayed(desk(), asked)

    assert (done.replayed, done.already, [each.offset for each in done.rejected]) == (1, 1, [4])
    assert places(rows(topic)) == [(0, 1), (1, None), (2, 2), (3, None)]
    again = replayed(desk(), asked)
    assert (again.replayed, again.already, len(again.rejected)) == (0, 2, 1)
    assert [(each.code, each.count, each.replayed) for each in desk().groups(asked)] == [("5015", 1, 0), ("5030", 2, 2)]
    produce(broker.bootstrap_servers, topic, ['{"n": 5}'])
    caught_up(rejected)
    assert places(rows(topic))[-1] == (5, 5)


def test_a_record_of_the_topic_and_of_the_table_is_one_record(
    rejected, topic, rows, lake: Path, catalog: Catalog, engine: Engine
):
    desk = RejectDesk(catalog, engine, Registry(lake), rejected.settings)
    letters = Asked(topic=f"{topic}_dead")
    assert {(each.row["offset"], each.row["value"], each.table) for each in desk.records(letters, 9)} == {
        (1, b'{"n": "x"}', f"public.{topic.upper()}"),
        (3, b'{"n": "7 pieces"}', f"public.{topic.upper()}"),
        (4, BAD[3], f"public.{topic.upper()}"),
    }
    first = next(desk.records(Asked(None, letters.topic, "offset = 1"), 1))
    assert first.row["headers"] == [{"name": "h", "value": b"1"}, {"name": "h", "value": None}]
    engine.answer(mending(topic))

    assert replayed(desk, Asked(None, letters.topic, "offset = 1")).replayed == 1
    from_table = replayed(desk, Asked(table=topic))
    from_topic = replayed(desk, letters)

    assert (from_table.replayed, from_table.already) == (1, 1)
    assert (from_topic.replayed, from_topic.already) == (0, 2)
    assert places(rows(topic)) == [(0, 1), (1, None), (2, 2), (3, None)]


def test_two_who_replay_at_once_bring_each_record_once(
    rejected, topic, rows, lake: Path, catalog: Catalog, engine: Engine, spark: SparkSession
):
    engine.answer(mending(topic))
    outcomes = []

    def rival() -> None:
        with Engine(catalog, lambda: spark) as other:
            outcomes.append(replayed(RejectDesk(catalog, other, Registry(lake)), Asked(topic, None, "offset = 3")))

    with call_at("before_swap", rival, hit=1):
        done = replayed(RejectDesk(catalog, engine, Registry(lake)), Asked(table=topic))

    assert ([each.replayed for each in outcomes], done.replayed, done.already) == ([1], 1, 1)
    assert places(rows(topic)) == [(0, 1), (1, None), (2, 2), (3, None)]


def test_a_topic_of_which_every_record_is_rejected_has_no_lag_and_all_of_it_is_replayed_once_the_pipe_takes_it(
    connect, topic, spark: SparkSession, broker: KafkaBroker, lake: Path, tmp_path: Path, catalog: Catalog, engine
):
    count = 20_000
    engine.answer(f"CREATE TABLE {topic.upper()} (n BIGINT, record_metadata VARIANT)")
    produce(broker.bootstrap_servers, topic, (f'{{"n": "number {number}"}}' for number in range(count)))

    connector = Desk(spark, lake, connect, tmp_path).run(topic, f"to_{topic}", **ASIDE)
    caught_up(connector)

    table = f"frazil.public.{topic.upper()}"
    errors = f"{table}_ERRORS"
    wait_until(lambda: spark.catalog.tableExists(errors) and spark.table(errors).count() >= count, "all rejects")
    asked = f"SELECT count(*), count(DISTINCT partition, offset), min(offset), max(offset) FROM {errors}"
    assert tuple(spark.sql(asked).collect()[0]) == (count, count, 0, count - 1)
    (status,) = connector.status()
    assert (status.offset_token, status.lag_records) == (str(count - 1), 0)
    assert spark.table(table).count() == 0

    engine.answer(mending(topic))
    desk = RejectDesk(catalog, engine, Registry(lake))
    assert replayed(desk, Asked(table=topic)).replayed == count
    assert replayed(desk, Asked(table=topic)).already == count

    spark.catalog.refreshTable(table)
    offsets = "CAST(variant_get(record_metadata, '$.offset') AS BIGINT)"
    (row,) = spark.sql(f"SELECT count(*), count(DISTINCT {offsets}), max({offsets}) FROM {table}").collect()
    assert tuple(row) == (count, count, count - 1)


def test_a_table_without_rejects_is_named(catalog: Catalog, engine: Engine, lake: Path):
    with pytest.raises(ReplayRefused, match="no table nowhere with an error table"):
        RejectDesk(catalog, engine, Registry(lake)).groups(Asked(table="nowhere"))


def test_a_table_that_only_has_the_name_of_an_error_table_is_named_and_hides_no_other(
    spark: SparkSession, catalog: Catalog, engine: Engine, lake: Path
):
    tables = {kind: f"{kind}_{uuid4().hex[:8]}".upper() for kind in ("aaa", "landed", "sound")}
    namespace = f"{EMBEDDED}.public"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    for name in tables.values():
        spark.sql(f"CREATE TABLE {namespace}.{name} (n BIGINT) USING iceberg")
    spark.sql(f"CREATE TABLE {namespace}.{tables['aaa']}_ERRORS (b INT) USING iceberg")
    columns = error_tables.columns(Primitive("int"), Primitive("long"))
    for kind in ("landed", "sound"):
        errors = TableName(("public",), f"{tables[kind]}_ERRORS")
        catalog.errors(errors, columns, "uuid")
        spark.sql(f"INSERT INTO {namespace}.{errors.name} (connector, topic, code) VALUES ('{kind}', 't', '5030')")
    # As older versions did: a topic of that name landed in the error table.
    catalog.set_properties(TableName(("public",), f"{tables['landed']}_ERRORS"), {key_of("OTHER"): "tokens"})

    with capture_logs() as logs:
        groups = RejectDesk(catalog, engine, Registry(lake)).groups(Asked())

    assert [each.connector for each in groups if each.connector in tables] == ["sound"]
    passed_over = {each["table"]: each["cause"] for each in logs if each["event"] == "a table is passed over"}
    assert "it lacks, or has otherwise, connector" in passed_over[f"public.{tables['aaa']}_ERRORS"]
    assert "records are landed in it by OTHER" in passed_over[f"public.{tables['landed']}_ERRORS"]
    for kind in ("aaa", "landed"):
        with pytest.raises(ErrorTableUnfit):
            replayed(RejectDesk(catalog, engine, Registry(lake)), Asked(table=tables[kind]))


@pytest.mark.slow
def test_a_kill_at_any_step_of_a_replay_leaves_each_record_there_once(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = create_topic(broker.bootstrap_servers, f"replayed_{uuid4().hex[:8]}", 1)
    home = tmp_path / "home"
    file = write_properties(
        tmp_path / "replayed.properties",
        name="replayed",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        errors__tolerance="all",
        frazil__errors__table="true",
        frazil__home=str(home),
    )
    produce(broker.bootstrap_servers, topic, ['{"n": 0}'])
    assert frazil("run", "--until-caught-up", file).returncode == 0
    produce(broker.bootstrap_servers, topic, ['{"n": "a"}', '{"n": "b"}', "no"])
    assert frazil("run", "--until-caught-up", file).returncode == 0
    assert load(file).key == "REPLAYED"
    told = frazil("sql", mending(topic), "--home", home)
    assert told.returncode == 0, told.stderr
    replay = ["dlq", "replay", "--table", topic, "--home", str(home)]
    points: list[Point] = ["after_plan", "after_stage", "before_swap", "after_swap"]
    counts = []
    for point in points:
        log = tmp_path / f"{point}.log"
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, "--", *replay]
        assert Running(command, log).ended(180) == -9, log.read_text()
        counted = frazil("sql", f"SELECT count(*) FROM {topic}", "--format", "csv", "--home", home)
        counts.append(counted.stdout.split()[-1])

    again = frazil(*replay, "--format", "json")

    assert counts == ["1", "1", "1", "3"]
    assert again.returncode == 3, again.stderr
    assert (json.loads(again.stdout)["replayed"], json.loads(again.stdout)["replayed_before"]) == (0, 2)
    listed = frazil("dlq", "list", "--home", home, "--format", "json")
    assert sum(each["replayed"] for each in json.loads(listed.stdout)) == 2, listed.stderr
