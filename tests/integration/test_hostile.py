"""Hostile names and values on their way from the broker to Spark: all land as they were sent, or say why they do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from tests.injection.texts import FRAGMENTS, NAMES
from tests.injection.wire import produce_raw
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.errors import InvalidConfiguration, TableNameRefused
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

TOLERANT = {"errors.tolerance": "all"}
STRINGS = {"header.converter": "org.apache.kafka.connect.storage.StringConverter"}

NO_COLUMNS = {
    "": "cannot name a column",
    "x" * 256: "cannot name a column",
    "a\0b": "cannot name a column",
    "\x1b[31mred": "cannot name a column",
    "\x9b31mred": "cannot name a column",
    "\ud800": "cannot name a column",
    "__duckdb_field_id": "cannot name a column",
    "RECORD_METADATA.topic": "cannot name a column",
    "record_metadata.headers.key": "cannot name a column",
}
"""Keys that no column can be made for."""

Reasons = Callable[[str], dict[int, str]]


@pytest.fixture
def reasons(lake: Path) -> Reasons:
    """Why records of a topic became no rows, by offset."""

    def read(topic: str) -> dict[int, str]:
        files = [str(path) for path in lake.glob(f"warehouse/public/_frazil/{topic.upper()}-*/rejects-*.parquet")]
        return (
            dict(duckdb.execute('SELECT "offset", reason FROM read_parquet($1)', [files]).fetchall()) if files else {}
        )

    return read


@pytest.fixture(autouse=True)
def nothing_outside(lake: Path) -> Iterator[None]:
    """Nothing is written but the catalog and what is below the namespace's own directory."""
    before = names_in(lake)
    yield
    assert {name for name in names_in(lake) - before if not name.startswith("catalog.db")} <= {"warehouse"}
    assert names_in(lake / "warehouse") <= {"public"}
    for place in (*lake.parents, Path.cwd(), Path.home(), Path("/etc")):
        assert not [name for name in names_in(place) if "escaped" in name]


def names_in(directory: Path) -> set[str]:
    """What a directory holds; nothing if there is none."""
    return {path.name for path in directory.iterdir()} if directory.is_dir() else set()


def told_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that have a value, without RECORD_METADATA."""
    return {name: value for name, value in row.items() if value is not None and name != "RECORD_METADATA"}


def test_every_key_is_a_column_or_its_record_is_a_reject(connect, topic, rows, reasons: Reasons, broker: KafkaBroker):
    landing: list[dict[str, object]] = [
        {name: name for name in NAMES},
        *({name: f"{name} alone"} for name in NAMES[::7]),
        {"nested": {name: [name] for name in [*NAMES, *NO_COLUMNS] if name != "\ud800"}},
        {"*": "beside it", "RECORD_METADATA": 1},
    ]
    rejected = [{name: "x", "*": "y"} for name in NO_COLUMNS]
    produce(broker.bootstrap_servers, topic, [json.dumps(each) for each in (*landing, *rejected)])

    connector = connect(topic, **TOLERANT)
    caught_up(connector)

    landing[-1].pop("RECORD_METADATA")
    assert [told_columns(row) for row in rows(topic)] == landing
    found = reasons(topic)
    assert sorted(found) == list(range(len(landing), len(landing) + len(rejected)))
    for reason, expected in zip(found.values(), NO_COLUMNS.values(), strict=True):
        assert expected in reason
    assert connector.dropped() == {f"public.{topic.upper()}.RECORD_METADATA": 1}


def test_keys_that_spark_takes_for_one_are_one_column(connect, topic, rows, reasons: Reasons, broker: KafkaBroker):
    alike = [("i", "I", "ı", "İ"), ("straße", "STRASSE", "STRAẞE"), ("é", "É"), ("ς", "σ", "Σ")]
    values = [{name: f"{name}!"} for names in alike for name in names]
    both = [{names[0]: 1, names[-1]: 2} for names in alike]
    null = [{names[0]: "there", names[-1]: None} for names in alike]
    produce(broker.bootstrap_servers, topic, [json.dumps(each) for each in (*values, *both, *null)])

    caught_up(connect(topic, **TOLERANT))

    found = [told_columns(row) for row in rows(topic)]
    columns = [names[0] for names in alike for _ in names]
    assert found[: len(values)] == [
        {column: f"{name}!"} for column, name in zip(columns, (name for names in alike for name in names), strict=True)
    ]
    assert found[len(values) :] == [{names[0]: "there"} for names in alike]
    assert list(reasons(topic).values()) == ["two keys that differ only by case both have a value"] * len(alike)


def test_values_keys_and_headers_come_back_as_they_were_sent(
    connect, topic, rows, reasons: Reasons, broker: KafkaBroker
):
    texts = [*FRAGMENTS, "".join(NAMES), '{"a": "\\u0000"}', "[1, 2", "x" * 990_000, "é'\"" * 100_000]
    said = [text for text in texts if not any("\ud800" <= each <= "\udfff" for each in text)]
    keys = [text[:1000].encode("utf-8", "replace") or None for text in texts]
    keys[0] = b"\xff\xfe'\x00"
    headers = [(name, name.encode()) for name in NAMES] + [("", b"no name"), ("twice", b"1"), ("twice", b"2"), ("bad", b"\xff"), ("none", None)]  # fmt: skip
    values = [
        json.dumps(
            {"text": text, "list": [text[:1000]], "nested": {"text": text[:1000]}}, ensure_ascii=text not in said
        )
        for text in texts
    ]
    produce(broker.bootstrap_servers, topic, values, keys=keys, headers=headers)

    caught_up(connect(topic, **TOLERANT, **STRINGS))

    found = rows(topic)
    assert [row["text"] for row in found] == said
    assert [row["list"] for row in found] == [[text[:1000]] for text in said]
    assert [row["nested"] for row in found] == [{"text": text[:1000]} for text in said]
    assert [row["RECORD_METADATA"]["key"] for row in found] == [
        key.decode("utf-8", "replace") if key else None for key, text in zip(keys, texts, strict=True) if text in said
    ]
    told = {name: (value or b"").decode("utf-8", "replace") if value is not None else None for name, value in headers}
    assert all(row["RECORD_METADATA"]["headers"] == told for row in found)
    assert len(reasons(topic)) == len(texts) - len(said)
    assert all("surrogate" in reason for reason in reasons(topic).values())


def test_records_that_no_client_would_write_land(connect, make_topic, rows, broker: KafkaBroker):
    topic = make_topic(retention_ms="-1")
    headers = [(b"\xff\xfe", b"v"), (b"a", None), (b"\x1b[31m", b"\x9b")]
    for timestamp in (-1, 0, -(10**14)):
        produce_raw(
            broker.bootstrap_servers, topic, [(b"\xff", b'{"n": 1}', headers), (b"", b'{"n": 2}', [])], timestamp
        )

    connector = connect(topic, **STRINGS)
    caught_up(connector)

    found = rows(topic)
    told = [row["RECORD_METADATA"] for row in found]
    assert [row["n"] for row in found] == [1, 2] * 3
    assert [each["CreateTime"] for each in told] == [-1, -1, 0, 0, -(10**14), -(10**14)]
    assert [each["headers"] for each in told] == [{"\ufffd": "v", "a": None, "\x1b[31m": "\ufffd"}, None] * 3
    assert [each["key"] for each in told] == ["\ufffd", ""] * 3
    assert connector.status()[0].offset_token == "5"


def test_a_table_with_hostile_columns_is_filled(connect, topic, rows, spark: SparkSession, broker: KafkaBroker):
    names = [name for name in NAMES if name != "a.b"]
    fields = ", ".join(f"{quoted(name)}: STRING" for name in names)
    columns = ", ".join(f"{quoted(name)} STRING" for name in [*names, "a", 'x".y', "[0].z", "RECORD_METADATA "])
    spark.sql("CREATE NAMESPACE IF NOT EXISTS frazil.public")
    spark.sql(
        f"CREATE TABLE frazil.public.{topic.upper()} ({columns}, s STRUCT<{fields}>, RECORD_METADATA STRUCT<partition: INT, offset: BIGINT>) USING iceberg"
    )
    record = {name: f"{name}!" for name in [*names, "a", 'x".y', "[0].z", "RECORD_METADATA "]}
    record["s"] = {name: f"{name}?" for name in names}
    values = [json.dumps(record), json.dumps({name.swapcase(): value for name, value in record.items()}), "{}"]
    produce(broker.bootstrap_servers, topic, values)

    caught_up(connect(topic))

    found = [told_columns(row) for row in rows(topic)]
    assert found[0] == record
    assert found[1] == record
    assert found[2] == {}
    one = spark.table(f"frazil.public.{topic.upper()}").where(f"{quoted(NAMES[0])} = {json.dumps(NAMES[0] + '!')}")
    assert one.count() == 2


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("name", ["../../../escaped", 'x"; DROP TABLE y; --', "..", "[red]ı'\\"])
def test_a_connectors_name_leads_nowhere(connect, topic, rows, name: str, broker: KafkaBroker):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}', '{"n": 2, "": 3}'])

    connector = connect(topic, name=name, **TOLERANT)
    caught_up(connector)

    assert [told_columns(row) for row in rows(topic)] == [{"n": 1}]
    assert connector.status()[0].offset_token == "1"


@pytest.mark.parametrize(
    "table", ["../escaped", "..", "/etc/escaped", "..\\escaped", "_frazil", "_FRAZIL", "a\u202eb", "", "x" * 256]
)
def test_no_table_of_the_map_leads_out_of_the_namespace(connect, topic, table: str):
    with pytest.raises(InvalidConfiguration, match="topic2table"):
        connect(topic, begin=False, **{"snowflake.topic2table.map": f'{topic}:"{table}"'})


def test_no_name_put_together_from_a_topic_leads_out_of_the_namespace(connect, make_topic, broker: KafkaBroker):
    topic = create_topic(broker.bootstrap_servers, "hostile..topic")
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])

    connector = connect(
        topic,
        **{"snowflake.topic2table.map": 'hostile(.*)topic:"$1"', "snowflake.topic2table.map.regex.replacement": "true"},
    )
    until_state(connector, "FAILED")

    assert isinstance(connector.error, TableNameRefused)


@pytest.mark.parametrize("table", ["a'b``c", "$(id);--", "%2e%2e%2fescaped", "..."])
def test_a_table_may_be_called_what_stays_a_name(connect, topic, lake, spark: SparkSession, table: str, broker):
    produce(broker.bootstrap_servers, topic, ['{"n": 1}'])

    caught_up(connect(topic, **{"snowflake.topic2table.map": f'{topic}:"{table}"'}))

    assert [row["n"] for row in spark.table(f"frazil.public.{quoted(table)}").collect()] == [1]
    assert list((lake / "warehouse/public" / table / "data").glob("*.parquet"))
