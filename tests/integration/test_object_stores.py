"""Tables on S3, behind a REST catalog and behind Glue: every record once, whatever fails; rejects and orphans too."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from tests.conftest import AddCatalog
from tests.integration.outages.watching import Watch
from tests.support.connectors import KAFKA_JSON
from tests.support.jars import aws_bundle
from tests.support.processes import Running, write_properties
from tests.support.proxy import Forward, Proxy, Refuse
from tests.support.rest import RestCatalog
from tests.support.s3 import BUCKET, Store
from tests.support.sending import send
from tests.support.streams import put, records_of
from tests.support.waiting import caught_up, until_state

import frazil
from frazil import Connector
from frazil.cycle import sending
from frazil.cycle.orphan_cleanup import sweep
from frazil.dev.kafka import KafkaBroker
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import CatalogUnavailable, SchemaRace, StorageUnavailable, TableNotSupported
from frazil.model import Conversion, TableName
from frazil.queries.library import _CATALOGS
from frazil.tables import outbox
from frazil.tables.iceberg import table as tables
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.jvm.session import iceberg_catalog
from frazil.tables.rules import orphans
from frazil.tables.rules.stages import Stage
from frazil.testing import iceberg
from frazil.testing.crash import call_at
from frazil.testing.oracle import verify
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

pytestmark = pytest.mark.slow

COLUMNS = """run STRING, `partition` INT, seq BIGINT, payload STRING, sha256 STRING,
    RECORD_METADATA STRUCT<topic: STRING, `partition`: INT, `offset`: BIGINT>"""
FILES = "org.apache.iceberg.aws.s3.S3FileIO"

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.running() as running:
        yield running
    _CATALOGS.end()


@pytest.fixture(scope="module")
def wire(store: Store) -> Iterator[Proxy]:
    """The proxy between clients and the store; the catalog's server has its own way."""
    with Proxy(store.address) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def served(
    spark: SparkSession, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RestCatalog, str]]:
    """A REST catalog and its address."""
    database = tmp_path_factory.mktemp("rest") / "catalog.db"
    rest = RestCatalog(
        spark,
        {
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{database}?busy_timeout=20000",
            "jdbc.schema-version": "V1",
            "warehouse": f"s3://{BUCKET}/warehouse",
            "io-impl": FILES,
            **store.owner.properties(store.endpoint),
        },
    )
    with rest.serving() as address:
        yield rest, address


@pytest.fixture
def rest(served: tuple[RestCatalog, str]) -> RestCatalog:
    return served[0]


@pytest.fixture
def settings(served: tuple[RestCatalog, str], store: Store, wire: Proxy) -> dict[str, str]:
    """What Spark is told of the REST catalog."""
    return {"type": "rest", "uri": served[1], "io-impl": FILES, **store.owner.properties(f"http://{wire.address}")}


@pytest.fixture
def catalog(add_catalog: AddCatalog, settings: dict[str, str]) -> str:
    """The name under which a test has it."""
    return add_catalog(settings)


@pytest.fixture
def make_table(spark: SparkSession, topic: str) -> Callable[..., None]:
    """Make the topic's table in a catalog, with table properties."""

    def make(catalog: str, **properties: str) -> None:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.public")
        given = ", ".join(
            f"'{key.replace('__', '-').replace('_', '.')}' = '{text}'" for key, text in properties.items()
        )
        options = f"TBLPROPERTIES ({given})" if given else ""
        spark.sql(f"CREATE TABLE {catalog}.public.{topic.upper()} ({COLUMNS}) USING iceberg {options}")

    return make


@pytest.fixture
def rows_of(
    spark: SparkSession, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Connector, str, str], int]:
    """How many rows a topic's table in a catalog has, after the oracle found it clean."""

    def look(connector: Connector, catalog: str, topic: str, **known: Any) -> int:
        # The oracle reads what is on disk. There, what is in the bucket lies where its locations lead as paths.
        disk = tmp_path / f"bucket{next(_numbers)}"
        for key in store.names():
            if topic.lower() in key.lower() and not key.endswith("/"):
                path = disk / "s3:" / BUCKET / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(store.read(key))
        monkeypatch.chdir(disk)
        table = connector.status()[0].table
        log = spark.sql(f"SELECT file FROM {catalog}.{table}.metadata_log_entries ORDER BY timestamp")
        report = verify(iceberg.local(log.collect()[-1].file), connector.settings.key, topic, **known)
        assert report.clean, report
        return report.rows

    return look


def answer(query: str, settings: dict[str, str], directory: Path) -> list[tuple[Any, ...]]:
    """What a query answers that knows the catalog by nothing but Spark's settings of it."""
    lake = {
        "spark.jars": str(aws_bundle()),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        **{f"spark.sql.catalog.lake.{key}": text for key, text in settings.items()},
    }
    return frazil.query(query, home=directory / "home", catalog=lake).rows()


def test_a_topic_lands_on_s3_through_a_rest_catalog_although_its_process_is_killed(
    spark, connect, catalog, settings, topic, rows_of, make_table, broker: KafkaBroker, store: Store, tmp_path: Path
):
    make_table(catalog)
    send(broker, topic, range(200))
    file = write_properties(
        tmp_path / "s3.properties",
        name=f"to_{topic}",
        topics=topic,
        bootstrap__servers=broker.bootstrap_servers,
        **KAFKA_JSON,
        frazil__home=str(tmp_path / "home"),
        spark__jars=str(aws_bundle()),
        spark__sql__catalog__lake="org.apache.iceberg.spark.SparkCatalog",
        **{f"spark__sql__catalog__lake__{key.replace('.', '__')}": text for key, text in settings.items()},
    )
    log = tmp_path / "run.log"
    command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", "before_swap", "--hit", "2", "--", "run"]
    assert Running([*command, str(file)], log).ended(180) == -9, log.read_text()
    assert store.owner.secret not in log.read_text()
    staged = [key for key in store.names(f"warehouse/public/{topic.upper()}/data/") if key.endswith(".parquet")]

    connector = connect(topic, **{"frazil.catalog": catalog})
    send(broker, topic, range(200, 250))
    caught_up(connector)

    assert staged
    assert rows_of(connector, catalog, topic) == 250
    by_spark = spark.sql(f"SELECT seq, payload FROM {catalog}.public.{topic.upper()} ORDER BY seq").collect()
    others = load_catalog("lake", **{**settings, "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    by_pyiceberg = others.load_table(("public", topic.upper())).scan(selected_fields=("seq", "payload")).to_arrow()
    assert [tuple(row) for row in by_spark] == [
        (each["seq"], each["payload"]) for each in by_pyiceberg.sort_by("seq").to_pylist()
    ]
    assert [row.seq for row in by_spark] == list(range(250))
    assert answer(f"select seq, payload from {topic} order by seq", settings, tmp_path) == by_spark
    assert answer(f"select payload from {topic} where seq = 249", settings, tmp_path) == [(by_spark[-1].payload,)]


def test_files_go_where_the_tables_own_locations_say_spread_over_prefixes(
    connect, catalog, topic, rows_of, make_table, broker: KafkaBroker, store: Store
):
    place = f"else where/{{}}/{topic}"
    make_table(catalog, write_data_path=f"s3://{BUCKET}/{place}", write_object__storage_enabled="true")
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": catalog})
    caught_up(connector)
    send(broker, topic, range(10, 20))
    caught_up(connector)

    found = [key.removeprefix(f"{place}/") for key in store.names(place)]
    assert rows_of(connector, catalog, topic) == 20
    assert len(found) == 2
    assert all(key.count("/") > 2 and key.endswith(".parquet") for key in found)
    assert not store.names(f"warehouse/public/{topic.upper()}/data")


def test_a_new_table_gets_its_columns_and_variants_and_gzipped_metadata_on_s3(
    spark, connect, catalog, topic, broker: KafkaBroker, store: Store
):
    produce(broker.bootstrap_servers, topic, [b'{"id": 1, "items": [{"a": 1.5}]}'])
    connector = connect(topic, **{"frazil.catalog": catalog})
    caught_up(connector)

    found = spark.sql(f"SELECT id, to_json(items) AS items FROM {catalog}.public.{topic.upper()}").collect()
    metadata = [key for key in store.names(f"warehouse/public/{topic.upper()}/") if key.endswith(".metadata.json")]
    assert [tuple(row) for row in found] == [(1, '[{"a":1.5}]')]
    assert metadata
    assert all(key.endswith(".gz.metadata.json") for key in metadata)


def test_rejects_are_kept_on_s3_and_every_list_leads_to_the_one_before(
    spark, connect, catalog, topic, rows_of, make_table, broker: KafkaBroker, store: Store
):
    make_table(catalog)
    send(broker, topic, range(5))
    connector = connect(topic, **{"frazil.catalog": catalog, "errors.tolerance": "all"})
    for text in (b"first", b"second"):
        produce(broker.bootstrap_servers, topic, [text])
        caught_up(connector)
    connector.stop()

    files = store.names(f"warehouse/public/{topic.upper()}/_frazil/")
    values = [
        pq.read_table(io.BytesIO(store.read(key))).column("value").to_pylist() for key in files if "/rejects-" in key
    ]
    table = opened(spark, catalog, topic)
    (owned,) = connector._ingestion.tables.values()
    lists = list(outbox.undelivered(table, owned.tokens.rejects))
    assert sorted(values) == [[b"first"], [b"second"]]
    assert [len(each.files) for each in lists] == [1, 1]
    assert rows_of(connector, catalog, topic, gaps={0: [5, 6]}) == 5


def test_accepted_records_wait_on_s3_until_they_are_sent_on_and_leave_nothing_there(
    spark, follow_stream, catalog, topic, store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sending, "_AGAIN", 0.2)
    with LocalKinesis(quotas=False) as kinesis:
        kinesis.provide("orders")
        connector = follow_stream(
            kinesis,
            "orders",
            **{
                "frazil.catalog": catalog,
                "frazil.output.stream": "later",
                "snowflake.topic2table.map": f"orders:{topic}",
            },
        )
        for number in range(3):
            put(kinesis, "orders", f'{{"id": {number}}}')
            caught_up(connector)
        place = f"warehouse/public/{topic.upper()}/_frazil/"
        waiting = [key for key in store.names(place) if "/output-" in key]
        kinesis.provide("later")
        wait_until(lambda: len(records_of(kinesis, "later")) >= 3, "the records to be sent on")
        connector.stop()
        sent = records_of(kinesis, "later")

    assert [value for _, value in sent] == [b'{"id": %d}' % number for number in range(3)]
    assert len(waiting) == 6
    assert [key for key in store.names(place) if "/output-" in key] == []
    assert spark.table(f"{catalog}.public.{topic.upper()}").count() == 3


@pytest.mark.parametrize("point", ["after_plan", "after_stage"])
def test_an_outage_of_the_store_is_waited_for_and_nothing_half_is_left(
    connect, catalog, topic, rows_of, make_table, broker: KafkaBroker, store: Store, wire: Proxy, point
):
    make_table(catalog)
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": catalog})
    caught_up(connector)
    watch = Watch(connector)
    before = store.names(f"warehouse/public/{topic.upper()}/data/")

    with call_at(point, lambda: wire.behave(Refuse()), 1):
        send(broker, topic, range(10, 20))
        error = watch.until_retrying()
    left = store.names(f"warehouse/public/{topic.upper()}/data/")
    wire.behave(Forward())
    caught_up(connector)

    assert isinstance(error, StorageUnavailable if point == "after_plan" else CatalogUnavailable)
    assert store.owner.secret not in str(error)
    assert len(left) - len(before) == (0 if point == "after_plan" else 1)
    assert store.uploads() == []
    assert watch.only_waited()
    assert rows_of(connector, catalog, topic) == 20


def test_keys_that_the_catalog_lends_for_a_table_open_its_rows_and_rejects_and_are_renewed(
    connect, add_catalog, rest, settings, topic, rows_of, make_table, broker, store, wire: Proxy, monkeypatch, tmp_path
):
    owners = add_catalog(settings)
    make_table(owners)
    monkeypatch.setattr(tables, "_RENEW_AFTER", 0.0)
    role = "first"

    def lend(location: str) -> dict[str, str]:
        return store.lent(location.removeprefix(f"s3://{BUCKET}/"), role).properties(f"http://{wire.address}")

    monkeypatch.setattr(rest, "vending", lend)
    public = {key: text for key, text in settings.items() if "key" not in key}
    lent = add_catalog(public)
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": lent, "errors.tolerance": "all"})
    caught_up(connector)
    role = "second"
    lend(f"s3://{BUCKET}/warehouse/public/{topic.upper()}")
    store.withdraw("first")
    produce(broker.bootstrap_servers, topic, [b"rejected"])
    send(broker, topic, range(11, 21))
    caught_up(connector)

    assert rows_of(connector, owners, topic, gaps={0: [10]}) == 20
    assert answer(f"select count(*), max(seq) from {topic}", public, tmp_path) == [(20, 20)]
    assert any("/rejects-" in key for key in store.names(f"warehouse/public/{topic.upper()}/_frazil/"))


def test_a_function_that_follows_a_table_reads_with_the_keys_that_are_lent_by_then(
    connect, add_catalog, rest, settings, topic, make_table, broker, store: Store, wire: Proxy, monkeypatch
):
    make_table(add_catalog(settings))
    monkeypatch.setattr(tables, "_RENEW_AFTER", 0.0)
    role = "third"

    def lend(location: str) -> dict[str, str]:
        return store.lent(location.removeprefix(f"s3://{BUCKET}/"), role).properties(f"http://{wire.address}")

    monkeypatch.setattr(rest, "vending", lend)
    public = {key: text for key, text in settings.items() if "key" not in key}
    connector = connect(topic, begin=False, **{"frazil.catalog": add_catalog(public)})
    delivered: list[list[int]] = []
    connector.foreach_commit(lambda rows, _: delivered.append(sorted(row.seq for row in rows.select("seq").collect())))
    connector.start()
    caught_up(connector)
    send(broker, topic, range(5))
    wait_until(lambda: delivered[-1:] == [[0, 1, 2, 3, 4]] or connector.error is not None, "the rows to be delivered")
    role = "fourth"
    lend(f"s3://{BUCKET}/warehouse/public/{topic.upper()}")
    store.withdraw("third")
    send(broker, topic, range(5, 10))
    wait_until(lambda: delivered[-1:] == [[5, 6, 7, 8, 9]] or connector.error is not None, "the rows to be delivered")

    assert connector.error is None
    assert [each for each in delivered if each] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


@pytest.mark.parametrize("answer", ["told", "lost"])
def test_columns_that_change_while_a_rest_catalog_commits_stop_the_connector_which_then_goes_on(
    connect, rest, catalog, topic, rows_of, make_table, broker: KafkaBroker, monkeypatch, spark, answer
):
    make_table(catalog)
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": catalog})
    caught_up(connector)
    table = rest.catalog.loadTable(rest._identifier("public", topic.upper()))

    def alter() -> None:
        monkeypatch.setattr(rest, "before_update", lambda: None)
        table.updateSchema().renameColumn("payload", "body").commit()

    def lose() -> None:
        monkeypatch.setattr(rest, "after_update", lambda: None)
        raise TimeoutError

    def interfere() -> None:
        monkeypatch.setattr(rest, "before_update", alter)
        if answer == "lost":
            monkeypatch.setattr(rest, "after_update", lose)

    with call_at("before_swap", interfere, 1):
        send(broker, topic, range(10, 20))
        until_state(connector, "FAILED")

    assert isinstance(connector.error, SchemaRace)
    assert "payload was renamed to body" in str(connector.error)
    table.refresh()
    table.updateSchema().renameColumn("body", "payload").commit()
    connector.start()
    caught_up(connector)
    assert rows_of(connector, catalog, topic) == 20


def test_orphans_on_s3_are_removed_and_nothing_else_is(
    spark, connect, catalog, topic, rows_of, make_table, broker: KafkaBroker, store: Store
):
    make_table(catalog)
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": catalog})
    caught_up(connector)
    connector.stop()
    table = opened(spark, catalog, topic)
    data = orphans.data_directory(table)
    stage = Stage.begin(connector.settings.key, "0b3b8c4f-0e4b-4a9f-8e1f-2d6a3c5e7190")
    orphan = f"{data}/{stage.data_file(1).replace('{}', '0')}"
    before = set(store.names())
    table.write_file(orphan, b"rows")
    table.write_file(f"{data}/somebody-elses.parquet", b"rows")
    orphans.note(table, connector.settings.key, orphans.Note(frozenset({stage.id})))

    sweep(table, connector.settings.key, None, -60.0)

    left = {key for key in store.names() if not key.endswith("/")} - before
    assert left == {f"warehouse/public/{topic.upper()}/data/somebody-elses.parquet"}
    assert rows_of(connector, catalog, topic) == 10


def test_a_topic_lands_through_glue_in_a_table_of_lower_case(
    spark, connect, add_catalog: AddCatalog, topic, rows_of, broker: KafkaBroker, store: Store
):
    system = spark._jvm.java.lang.System
    system.setProperty("aws.accessKeyId", store.owner.id)
    system.setProperty("aws.secretAccessKey", store.owner.secret)
    glue = add_catalog(
        {
            "type": "glue",
            "glue.endpoint": store.endpoint,
            "warehouse": f"s3://{BUCKET}/glue",
            "io-impl": FILES,
            **store.owner.properties(store.endpoint),
        }
    )
    send(broker, topic, range(10))
    connector = connect(topic, **{"frazil.catalog": glue})
    caught_up(connector)

    assert {status.table for status in connector.status()} == {f"public.{topic.lower()}"}
    assert rows_of(connector, glue, topic) == 10


def opened(spark: SparkSession, catalog: str, topic: str) -> tables.Table:
    java = iceberg_catalog(spark, catalog, Path("none"))
    found = Catalog(java, spark.sparkContext._gateway, catalog)
    return found.open(TableName(("public",), topic.upper()), None, Conversion())


def test_a_table_that_iceberg_encrypts_is_refused_when_it_is_opened(connect, catalog, topic, make_table):
    make_table(catalog, format__version="3", **{"encryption.key-id": "master"})
    connector = connect(topic, **{"frazil.catalog": catalog})
    until_state(connector, "FAILED")

    assert isinstance(connector.error, TableNotSupported)
    assert "encryption.key-id" in str(connector.error)
