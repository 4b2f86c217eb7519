"""Records that go to a table for each value of a field: each once, whatever is killed between the tables' commits."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import Running, frazil, write_properties
from tests.support.waiting import caught_up

from frazil.connector.adopting import AdoptedTable
from frazil.connector.resetting import Where
from frazil.dev.kafka import KafkaBroker
from frazil.errors import ResetRefused
from frazil.faults import Point
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

PARTITIONS = 2
COUNTRIES = ["de", "fr", "it", "de", "es", "de"]
BY_COUNTRY = {"frazil.route.field": "ship_to.country", "errors.tolerance": "all"}

KILLS: list[tuple[Point, int]] = [("before_swap", 3), ("before_swap", 7), ("after_swap", 1), ("during_open", 4)]
"""A process opens the topic's own table with its first swap; then those of the values, or commits to one by one."""


class Shop:
    """Writes orders, and remembers where they are to be."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        self.expected: Counter[tuple[str, int, int]] = Counter()
        """Rows by table, partition and number."""

        self.unroutable = 0
        self.topic = topic
        self._broker = broker
        self._number = 0

    def sells(self, count: int) -> None:
        for partition in range(PARTITIONS):
            values = []
            for _ in range(count):
                country = COUNTRIES[self._number % len(COUNTRIES)] if self._number % 11 else None
                values.append(orjson.dumps({"n": self._number, "ship_to": {"country": country}}))
                if country is None:
                    self.unroutable += 1
                else:
                    self.expected[f"{self.topic}_{country}".upper(), partition, self._number] += 1
                self._number += 1
            produce(self._broker.bootstrap_servers, self.topic, values, partition=partition)


def landed(spark: SparkSession, topic: str) -> Counter[tuple[str, int, int]]:
    """The rows of all tables of a topic, as Spark reads them."""
    found: Counter[tuple[str, int, int]] = Counter()
    for each in spark.sql("SHOW TABLES IN frazil.public").collect():
        name = each["tableName"]
        if name.startswith(f"{topic.upper()}_"):
            table = f"frazil.public.{name}"
            spark.sql(f"REFRESH TABLE {table}")
            if "n" not in spark.table(table).columns:
                continue  # it was born, and its connector killed
            rows = spark.sql(f"SELECT RECORD_METADATA.partition AS partition, n FROM {table}").collect()
            found.update((name, row["partition"], row["n"]) for row in rows)
    return found


def test_each_value_has_a_table_of_its_own(connect, spark: SparkSession, broker: KafkaBroker):
    topic = create_topic(broker.bootstrap_servers, f"routed_{uuid4().hex[:8]}", PARTITIONS)
    shop = Shop(broker, topic)
    shop.sells(50)
    caught_up(connect(topic, **BY_COUNTRY))
    shop.sells(7)

    again = connect(topic, **BY_COUNTRY)
    caught_up(again)

    assert landed(spark, topic) == shop.expected
    (own,) = {each.table for each in again.status() if each.rows_error}
    assert own == f"public.{topic.upper()}"
    assert sum(each.rows_error for each in again.status()) == shop.unroutable
    properties = spark.sql(f"SHOW TBLPROPERTIES frazil.public.{topic.upper()}_DE ('frazil.route')").collect()
    assert [each["value"] for each in properties] == ["de"]


def test_a_copy_of_a_values_table_takes_its_place_under_its_name(
    connect, spark: SparkSession, lake: Path, tmp_path: Path, shop: Shop
):
    desk = Desk(spark, lake, connect, tmp_path)
    first = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(first)
    first.stop()
    table, copy = (f"{name}_{shop.topic}_de".upper() for name in ("old", "new"))
    known = f"{shop.topic}_de".upper()
    spark.sql(
        f"CREATE TABLE frazil.public.{copy} USING iceberg TBLPROPERTIES ('format-version'='3') "
        f"AS SELECT * FROM frazil.public.{known}"
    )

    adopted = desk.adopter.adopt(copy, AdoptedTable(known), None, dry=False, force=False)
    own = desk.adopter.adopt(shop.topic, AdoptedTable(), None, dry=True, force=False)
    spark.sql(f"ALTER TABLE frazil.public.{known} RENAME TO public.{table}")
    spark.sql(f"ALTER TABLE frazil.public.{copy} RENAME TO public.{known}")
    shop.sells(7)
    caught_up(desk.run(shop.topic, shop.topic, **BY_COUNTRY))

    assert (adopted.takes_place_of, adopted.entries) == (known, None)
    assert own.takes_place_of is None
    assert own.entries is not None
    assert landed(spark, shop.topic) == shop.expected


@pytest.mark.slow
def test_kills_between_the_commits_of_the_tables_lose_nothing_and_double_nothing(
    spark: SparkSession, lake: Path, broker: KafkaBroker, tmp_path: Path
):
    topic = create_topic(broker.bootstrap_servers, f"routed_{uuid4().hex[:8]}", PARTITIONS)
    shop = Shop(broker, topic)
    file = write_properties(
        tmp_path / "routed.properties",
        name=topic,
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        **{key.replace(".", "__"): value for key, value in BY_COUNTRY.items()},
        frazil__commit__interval__ms="200",
        frazil__home=str(lake),
    )

    for number, (point, hit) in enumerate(KILLS):
        shop.sells(30)
        killed_at(point, hit, file, tmp_path / f"run-{number}.log")
        assert landed(spark, topic) <= shop.expected
    shop.sells(30)
    last = frazil("run", "--until-caught-up", file)

    assert last.returncode == 0, last.stderr
    assert landed(spark, topic) == shop.expected
    channels = orjson.loads(frazil("channels", "--format", "json", "--home", lake).stdout)
    assert sum(each["rows_error"] for each in channels if each["topic"] == topic) == shop.unroutable


@pytest.fixture
def shop(broker: KafkaBroker) -> Shop:
    """A topic of its own with 60 records, a few of them with no country."""
    shop = Shop(broker, create_topic(broker.bootstrap_servers, f"routed_{uuid4().hex[:8]}", PARTITIONS))
    shop.sells(30)
    return shop


def test_all_tables_of_a_topic_are_reset_together_and_go_on_together(
    connect, spark: SparkSession, lake: Path, tmp_path: Path, shop: Shop
):
    desk = Desk(spark, lake, connect, tmp_path)
    first = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(first)
    first.stop()
    names = {each.table for each in first.status()}
    for name in names - {f"public.{shop.topic.upper()}"}:
        spark.sql(f"DELETE FROM frazil.{name}")

    resets = desk.reset(shop.topic, Where(place="earliest"))
    shop.sells(30)
    again = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(again)

    assert {str(each.holding.table.name) for each in resets} == names
    assert len(names) == 1 + len({*COUNTRIES})
    assert landed(spark, shop.topic) == shop.expected
    # Rejects of what was read twice are there twice.
    assert sum(each.rows_error for each in again.status()) > shop.unroutable


def test_one_table_of_a_value_goes_back_alone(connect, spark: SparkSession, lake: Path, tmp_path: Path, shop: Shop):
    desk = Desk(spark, lake, connect, tmp_path)
    first = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(first)
    first.stop()
    table = f"{shop.topic}_de".upper()
    spark.sql(f"DELETE FROM frazil.public.{table} WHERE RECORD_METADATA.offset >= 10")

    (reset,) = desk.reset(shop.topic, Where(offset=10), table=table)
    shop.sells(7)
    again = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(again)

    assert reset.holding.table.name.name == table
    assert landed(spark, shop.topic) == shop.expected
    assert sum(each.rows_error for each in again.status()) == shop.unroutable


def test_the_own_table_of_a_topic_is_not_moved_past_records_that_tables_of_values_still_read(
    connect, spark: SparkSession, lake: Path, tmp_path: Path, shop: Shop
):
    desk = Desk(spark, lake, connect, tmp_path)
    first = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(first)
    first.stop()
    shop.sells(30)

    with pytest.raises(ResetRefused, match=rf"_(DE|ES|FR|IT), .*--topic {shop.topic}, without --table"):
        desk.reset(shop.topic, Where(place="latest"), table=shop.topic)
    back = desk.reset(shop.topic, Where(place="earliest"), table=shop.topic)
    again = desk.run(shop.topic, shop.topic, **BY_COUNTRY)
    caught_up(again)

    assert [each.holding.table.name.name for each in back] == [shop.topic.upper()]
    assert landed(spark, shop.topic) == shop.expected


def killed_at(point: Point, hit: int, file: Path, log: Path) -> None:
    command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, "--hit", str(hit), "--"]
    assert Running([*command, "run", str(file)], log).ended(180) == -9, f"{point} was not reached: {log.read_text()}"
