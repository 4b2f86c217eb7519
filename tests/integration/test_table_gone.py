"""A table goes while a connector fills it, or another one takes its name: the connector says so, and there is a way on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.changing import COLUMNS, RECALL_EVERY, WHEN, Stream, When, alternating
from tests.integration.commands import Desk
from tests.support.waiting import until_state

from frazil.connector.adopting import AdoptedTable
from frazil.dev.kafka import KafkaBroker
from frazil.errors import TableBegunAnew, TableMissing, TableNotSupported, TableReplaced

pytestmark = pytest.mark.slow

each_when = pytest.mark.parametrize("when", WHEN)

DROP = "DROP TABLE {table}"
CREATE = f"CREATE TABLE {{table}} ({COLUMNS}) USING iceberg"
COPY = "CREATE OR REPLACE TABLE {table} USING iceberg AS SELECT * FROM {table}"


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


@pytest.fixture
def make_stream(
    desk: Desk, topic: str, spark: SparkSession, lake: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
):
    """One cycle has landed in a table that had a row before: `make_stream(**{"frazil.on.table.missing": "earliest"})`."""
    monkeypatch.setattr(RECALL_EVERY, 0.2)

    def make(**settings: str) -> Stream:
        stream = Stream(spark, broker, lake, topic)
        stream.create()
        stream.connector = desk.run(topic, f"to_{topic}", **settings)
        stream.land()
        return stream

    return make


def go_on(stream: Stream, desk: Desk, **settings: str) -> None:
    """Start the connector anew, with other settings."""
    stream.connector = desk.run(stream.topic, stream.connector.settings.name, **settings)


@pytest.mark.parametrize(("when", "choice"), alternating("earliest", "continue"))
def test_a_dropped_table_stops_the_connector_until_it_is_told_where_a_new_one_begins(
    make_stream, desk: Desk, when: When, choice: str
):
    stream = make_stream()
    landed = stream.sent

    stream.change(when, lambda stream: stream.sql(DROP))
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableMissing)
    assert not stream.spark.catalog.tableExists(stream.table)
    go_on(stream, desk, **{"frazil.on.table.missing": choice})
    if choice == "continue":
        stream.gone = set(range(landed))
    stream.send()
    stream.catch_up()
    stream.require_exactly_once()


@pytest.mark.parametrize(("when", "way_on"), alternating("map", "rename back"))
def test_a_renamed_table_stops_the_connector_until_it_finds_it_again(make_stream, desk: Desk, when: When, way_on: str):
    stream = make_stream()

    stream.change(when, lambda stream: stream.sql("ALTER TABLE {table} RENAME TO {name}_MOVED"))
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableMissing)
    if way_on == "map":
        stream.table_of = f"{stream.topic}_moved"
        go_on(stream, desk, **{"snowflake.topic2table.map": f"{stream.topic}:{stream.table_of}"})
    else:
        stream.sql("ALTER TABLE {table}_MOVED RENAME TO {name}")
        stream.connector.start()
    stream.catch_up()
    stream.require_exactly_once()


@pytest.mark.parametrize(("when", "choice"), alternating("earliest", "continue"))
def test_another_table_of_the_name_stops_the_connector_until_it_is_told_what_that_is_to_hold(
    make_stream, desk: Desk, when: When, choice: str
):
    stream = make_stream()
    landed = stream.sent

    stream.change(when, lambda stream: stream.sql(DROP, CREATE))
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableReplaced)
    assert stream.spark.table(stream.table).count() == 0
    go_on(stream, desk, **{"frazil.on.table.replaced": choice})
    if choice == "continue":
        stream.gone = set(range(landed))
    stream.send()
    stream.catch_up()
    stream.require_exactly_once()


@each_when
def test_a_table_replaced_in_place_stops_the_connector_until_its_copied_rows_get_their_tokens(
    make_stream, desk: Desk, when: When
):
    stream = make_stream()

    stream.change(when, lambda stream: stream.sql(COPY))
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableBegunAnew)
    desk.adopter.adopt(stream.name, AdoptedTable(), None, dry=False, force=False)
    stream.connector.start()
    stream.catch_up()
    stream.require_exactly_once()


@each_when
@pytest.mark.parametrize("key", ["frazil.on.table.missing", "frazil.on.table.replaced"])
def test_who_says_beforehand_what_a_new_table_is_to_hold_is_not_stopped(make_stream, when: When, key: str):
    stream = make_stream(**{key: "earliest"})

    stream.change(when, lambda stream: stream.sql(*([DROP] if key == "frazil.on.table.missing" else [DROP, CREATE])))
    stream.catch_up()

    assert str(stream.connector.state) == "RUNNING"
    stream.require_exactly_once()


@each_when
def test_a_table_that_gets_two_columns_of_one_name_stops_the_connector_until_it_has_one(make_stream, when: When):
    stream = make_stream()

    stream.change(when, add_second_column)
    # Files that were staged before the column came are committed: they have no ambiguous value.
    stream.send()
    until_state(stream.connector, "FAILED")

    assert isinstance(stream.connector.error, TableNotSupported)
    stream.java().updateSchema().deleteColumn("SEQ").commit()
    stream.connector.start()
    stream.catch_up()
    stream.require_exactly_once()


def add_second_column(stream: Stream) -> None:
    long = stream.spark._jvm.org.apache.iceberg.types.Types.LongType.get()
    stream.java().updateSchema().addColumn("SEQ", long).commit()
