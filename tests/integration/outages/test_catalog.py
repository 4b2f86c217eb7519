"""A catalog over TCP that is slow, cut off, silent, or loses answers: waited for; no commit is made twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.conftest import AddCatalog
from tests.integration.outages.watching import Watch
from tests.support.h2 import Database
from tests.support.proxy import Cut, Delay, Forward, LoseAnswer, Proxy, Refuse, Reset, Swallow
from tests.support.sending import send
from tests.support.waiting import caught_up

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.errors import CatalogUnavailable, CommitUnknown
from frazil.testing import iceberg
from frazil.testing.crash import call_at
from frazil.testing.oracle import verify
from frazil.testing.topics import wait_until

pytestmark = pytest.mark.slow

SWAP = ".metadata.json".encode("utf-16-be")
"""What stands in the database's swap of metadata files, and in no other request; H2 sends texts as UTF-16."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with Database.running(tmp_path_factory.mktemp("database")) as running:
        yield running


@pytest.fixture
def wire(database: Database) -> Iterator[Proxy]:
    """The proxy before the database."""
    with Proxy(database.address) as proxy:
        yield proxy


@pytest.fixture
def catalog(add_catalog: AddCatalog, wire: Proxy, tmp_path: Path) -> str:
    """The name of a catalog that nobody has used yet, behind the proxy."""
    url = f"jdbc:h2:tcp://{wire.address}/catalog;NETWORK_TIMEOUT=2000;DATABASE_TO_UPPER=FALSE"
    settings = {
        "type": "jdbc",
        "uri": f"{url};IGNORE_UNKNOWN_SETTINGS=TRUE",
        "jdbc.user": "sa",
        "jdbc.password": "",
        "jdbc.schema-version": "V1",
        # What H2 says of connections that broke; Iceberg would keep them for ever.
        "retryable_status_codes": "90007,90067,90121",
        "warehouse": f"file://{tmp_path}/warehouse",
    }
    return add_catalog(settings)


@pytest.fixture
def to_catalog(connect: Callable[..., Connector], catalog: str) -> Callable[..., Connector]:
    """`connect`, to that catalog."""
    return lambda topic, **settings: connect(topic, **{"frazil.catalog": catalog, **settings})


@pytest.fixture
def rows_of(spark: SparkSession, catalog: str) -> Callable[[Connector, str], int]:
    """How many rows a topic's table in that catalog has, after the oracle found it clean."""

    def look(connector: Connector, topic: str) -> int:
        log = spark.sql(f"SELECT file FROM {catalog}.public.{topic.upper()}.metadata_log_entries ORDER BY timestamp")
        report = verify(iceberg.local(log.collect()[-1].file), connector.settings.key, topic)
        assert report.clean, report
        return report.rows

    return look


@pytest.mark.long
def test_a_slow_catalog_is_no_outage(to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy):
    with wire.behaving(Delay(0.1)):
        send(broker, topic, range(10))
        connector = to_catalog(topic)
        watch = Watch(connector)
        caught_up(connector)

    assert watch.errors == []
    assert rows_of(connector, topic) == 10


@pytest.mark.parametrize("outage", [Refuse(), Reset(), Swallow()], ids=lambda each: type(each).__name__)
def test_a_catalog_that_is_down_at_the_start_is_waited_for(
    to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy, outage
):
    send(broker, topic, range(10))
    wire.behave(outage)
    connector = to_catalog(topic, begin=False)
    watch = Watch(connector)

    connector.start()
    error = watch.until_retrying()
    wire.behave(Forward())
    caught_up(connector)

    assert isinstance(error, CatalogUnavailable)
    assert set(watch.states) <= {"OPENING", "RETRYING", "RUNNING"}
    assert rows_of(connector, topic) == 10


@pytest.mark.parametrize("outage", [Refuse(), Reset(), Swallow(), Cut(100)], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("point", ["after_stage", "before_swap"])
def test_a_catalog_that_goes_down_while_there_is_work_is_waited_for(
    to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy, outage, point
):
    send(broker, topic, range(10))
    connector = to_catalog(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at(point, lambda: wire.behave(outage), 1):
        send(broker, topic, range(10, 20))
        error = watch.until_retrying()
    wire.behave(Forward())
    caught_up(connector)

    assert isinstance(error, CatalogUnavailable if point == "after_stage" else CommitUnknown)
    assert watch.only_waited()
    assert rows_of(connector, topic) == 20


@pytest.mark.parametrize("times", [1, None], ids=["once", "and the repeated one's too"])
def test_a_commit_whose_answer_is_lost_is_found_and_not_made_twice(
    to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy, times
):
    send(broker, topic, range(10))
    connector = to_catalog(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at("before_swap", lambda: wire.behave(LoseAnswer(SWAP, times)), 1):
        send(broker, topic, range(10, 20))
        caught_up(connector)

    assert wire.lost >= (times or 2)
    assert watch.errors == []
    assert rows_of(connector, topic) == 20


def test_a_commit_whose_answer_is_lost_with_the_catalog_is_found_when_it_is_back(
    to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy, spark: SparkSession, catalog: str
):
    send(broker, topic, range(10))
    connector = to_catalog(topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at("before_swap", lambda: wire.behave(LoseAnswer(SWAP)), 1):
        send(broker, topic, range(10, 20))
        wait_until(lambda: wire.lost > 0, "an answer to be lost")
        wire.behave(Refuse())
        error = watch.until_retrying()
    wire.behave(Forward())
    caught_up(connector)

    assert isinstance(error, CommitUnknown)
    assert watch.only_waited()
    assert rows_of(connector, topic) == 20
    snapshots = spark.sql(f"SELECT summary FROM {catalog}.public.{topic.upper()}.snapshots").collect()
    assert [each.summary.get("added-records") for each in snapshots] == [None, "10", "10"]


def test_a_database_that_is_restarted_is_waited_for(
    to_catalog, topic, rows_of, broker: KafkaBroker, wire: Proxy, database: Database
):
    send(broker, topic, range(10))
    connector = to_catalog(topic)
    caught_up(connector)
    watch = Watch(connector)

    database.stop()
    send(broker, topic, range(10, 20))
    watch.until_retrying()
    database.start()
    caught_up(connector)

    assert watch.only_waited()
    assert rows_of(connector, topic) == 20
