from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config import Target, load, refuse_shared_keys
from frazil.config.converters import BYTES, JSON, STRING
from frazil.errors import InvalidConfiguration

from .connector import LEAST, SINK, STREAMING, problems, without


def test_the_least_configuration_has_the_documented_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAZIL_HOME", raising=False)

    settings = load(LEAST)

    assert (settings.name, settings.key, settings.topics) == ("orders-sink", "ORDERS_SINK_1813797765", ("orders",))
    assert (settings.key_converter, settings.value_converter) == ("string", "json")
    assert (settings.errors_tolerance, settings.errors_log_enable, settings.tasks_max) == ("none", False, None)
    assert (settings.catalog, settings.namespace, settings.database, settings.home) == (
        None,
        None,
        None,
        "./frazil-data",
    )
    assert (settings.group_id, settings.auto_offset_reset) == ("connect-orders-sink", "earliest")
    assert (settings.commit_interval_ms, settings.cycle_max_bytes) == (1000, 512 * 1024 * 1024)
    assert (settings.on_data_loss, settings.snapshots_min_age_ms) == ("fail", 20 * 60 * 1000)
    assert settings.consumer == {"bootstrap.servers": "localhost:9092", "isolation.level": "read_uncommitted"}
    assert (settings.not_needed, settings.no_effect, dict(settings.spark)) == ((), (), {})


def test_every_setting_can_be_written() -> None:
    settings = load(
        {
            **LEAST,
            "topics": " orders , payments,orders",
            "key.converter": JSON,
            "key.converter.schemas.enable": "FALSE",
            "errors.tolerance": "ALL",
            "errors.log.enable": "True",
            "tasks.max": "4",
            "snowflake.topic2table.map": "orders:sales",
            "frazil.catalog": "lake",
            "frazil.namespace": "shop.raw",
            "snowflake.schema.name": "PUBLIC",
            "snowflake.database.name": "DB",
            "frazil.home": "/data",
            "consumer.override.group.id": "mine",
            "consumer.override.auto.offset.reset": "latest",
            "consumer.override.isolation.level": "read_committed",
            "frazil.commit.interval.ms": "0",
            "frazil.cycle.max.bytes": "1048576",
            "frazil.on.data.loss": "skip",
            "frazil.snapshots.min.age": "2 h",
            "spark.master": "local[2]",
        }
    )

    assert settings.topics == ("orders", "payments")
    assert (settings.key_converter, settings.errors_tolerance, settings.errors_log_enable) == ("json", "all", True)
    assert settings.topic2table.resolve("orders") == Target("SALES", quoted=False)
    assert (settings.catalog, settings.namespace, settings.database) == ("lake", "shop.raw", "DB")
    assert (settings.home, settings.tasks_max, settings.group_id) == ("/data", 4, "mine")
    assert (settings.auto_offset_reset, settings.isolation_level) == ("latest", "read_committed")
    assert (settings.commit_interval_ms, settings.cycle_max_bytes) == (0, 1 << 20)
    assert (settings.on_data_loss, settings.snapshots_min_age_ms) == ("skip", 7_200_000)
    assert settings.spark == {"spark.master": "local[2]"}


def test_a_snowflake_connector_file_runs_and_its_account_keys_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "snowflake.properties"
    file.write_text(
        f"name=orders\nconnector.class={SINK}\ntopics=orders\ntasks.max=8\n"
        "snowflake.ingestion.method=snowpipe_streaming\nsnowflake.enable.schematization=true\n"
        "snowflake.url.name=xy.eu.snowflakecomputing.com:443\nsnowflake.user.name=me\n"
        "snowflake.private.key=${file:/etc/key:pem}\nsnowflake.role.name=r\n"
        "snowflake.database.name=DB\nsnowflake.schema.name=RAW\njmx=true\n"
        f"value.converter={JSON}\nvalue.converter.schemas.enable=false\nkey.converter={STRING}\n"
    )

    settings = load(file, worker={"bootstrap.servers": "kafka:9092", "plugin.path": "/p"})

    assert settings.not_needed == (
        "snowflake.private.key",
        "snowflake.role.name",
        "snowflake.url.name",
        "snowflake.user.name",
    )
    assert [key for key, _ in settings.no_effect] == ["jmx", "plugin.path"]
    assert (settings.namespace, settings.bootstrap_servers) == ("RAW", "kafka:9092")


def test_all_problems_are_reported_at_once() -> None:
    found = problems({"tasks.max": "0", "errors.tolerance": "some", "transforms": "route"}, without=("name", "topics"))

    assert list(found) == ["errors.tolerance", "name", "tasks.max", "topics", "transforms"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("name", "a\x00b", "control character"),
        ("connector.class", "org.acme.Sink", "'org.acme.Sink' is not possible; write 'frazil.KafkaConnector'"),
        ("topics", "a b", "'a b' cannot be a Kafka topic"),
        ("topics", " , ", "names no topic"),
        ("topics", "..", "'..' cannot be a Kafka topic"),
        ("topics.regex", "a.*", "together with topics"),
        ("tasks.max", "many", "'many' is no whole number of at least 1"),
        ("tasks.max", "1_0", "'1_0' is no whole number"),
        ("errors.log.enable", "yes", "'yes' is neither true nor false"),
        ("frazil.cycle.max.bytes", "1000", "at least 1048576"),
        ("frazil.commit.interval.ms", "-1", "at least 0"),
        ("frazil.snapshots.min.age", "soon", "'soon' is no duration"),
        ("frazil.on.data.loss", "cry", "write 'fail' or 'skip'"),
        ("frazil.catalog", "a.b", "spark.sql.catalog.X"),
        ("frazil.namespace", "a..b", "'a..b' is no namespace"),
        ("bootstrap.servers", "localhost", "write host:port"),
        ("snowflake.topic2table.map", "a", "':' expected at position 1"),
        ("consumer.auto.offset.reset", "by_duration:P1D", "write 'earliest', 'latest' or 'none'"),
        ("key.converter", "io.confluent.connect.avro.AvroConverter", "is not built yet"),
        ("value.converter", STRING, "is not built yet"),
        ("value.converter.schemas.enable", "true", "Write false"),
        ("errors.deadletterqueue.topic.name", "dlq", "not built yet"),
        ("snowflake.enable.schematization", "false", "Write true"),
        ("snowflake.ingestion.method", "SNOWPIPE", "Write SNOWPIPE_STREAMING"),
        ("header.converter", "org.acme.Headers", "SimpleHeaderConverter"),
        ("consumer.ssl.truststore.location", "/t.jks", "ssl.ca.location"),
        ("consumer.override.sasl.jaas.config", "…", "sasl.username and sasl.password"),
    ],
)
def test_a_value_that_cannot_be_run_is_refused_with_what_to_write(key: str, value: str, text: str) -> None:
    assert text in problems({key: value})[key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transforms", ""),
        ("errors.deadletterqueue.topic.name", " "),
        ("snowflake.streaming.classic.offset.migration", "skip"),
        ("snowflake.ingestion.method", "snowpipe_streaming"),
    ],
)
def test_a_value_that_asks_for_what_frazil_does_anyway_is_accepted(key: str, value: str) -> None:
    assert load({**LEAST, key: value}).no_effect == ()


def test_settings_of_transforms_mean_nothing_where_none_is_named() -> None:
    assert load({**LEAST, "transforms.route.type": "X"}).no_effect == (
        ("transforms.route.type", "`transforms` names none"),
    )


def test_an_unknown_key_is_a_problem_with_the_nearest_known_one() -> None:
    assert "frazil.commit.interval.ms" in problems({"frazil.commit.intervall.ms": "5"})["frazil.commit.intervall.ms"]
    assert "nor one like it" in problems({"zzz": "5"})["zzz"]


@pytest.mark.parametrize("key", ["snowflake.ingestion.method", "snowflake.enable.schematization"])
def test_the_classic_connector_has_to_be_told_what_its_defaults_would_not_do(key: str) -> None:
    told = {"snowflake.ingestion.method": "SNOWPIPE_STREAMING", "snowflake.enable.schematization": "true"}

    assert "is missing" in problems({"connector.class": SINK, **told}, without=(key,))[key]
    assert load({**LEAST, "connector.class": SINK, **told}).connector_class == SINK
    assert load({**LEAST, "connector.class": STREAMING}).connector_class == STREAMING


def test_json_converters_have_to_say_that_there_are_no_schemas() -> None:
    assert (
        "default is true" in problems({}, without=["value.converter.schemas.enable"])["value.converter.schemas.enable"]
    )
    assert "default is true" in problems({"key.converter": JSON})["key.converter.schemas.enable"]


def test_a_missing_value_converter_is_reported_with_its_missing_setting() -> None:
    found = problems({}, without=["value.converter", "value.converter.schemas.enable"])

    assert sorted(found) == ["value.converter", "value.converter.schemas.enable"]


def test_converters_come_from_the_worker_file_when_the_connector_names_none() -> None:
    worker = {
        "key.converter": BYTES,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }

    settings = load(without("value.converter", "value.converter.schemas.enable"), worker)

    assert (settings.key_converter, settings.value_converter) == ("bytes", "json")


def test_a_connector_that_names_a_converter_inherits_none_of_the_workers_settings_for_it() -> None:
    worker = {"value.converter": JSON, "value.converter.schemas.enable": "false"}

    found = problems({}, worker, without=["value.converter.schemas.enable"])

    assert list(found) == ["value.converter.schemas.enable"]


def test_later_layers_win() -> None:
    settings = load(
        {**LEAST, "consumer.fetch.min.bytes": "2", "frazil.commit.interval.ms": "2"},
        worker={"consumer.fetch.min.bytes": "1", "consumer.client.rack": "w", "frazil.commit.interval.ms": "1"},
        overrides={"frazil.commit.interval.ms": "3", "consumer.override.fetch.min.bytes": "4"},
    )

    assert settings.commit_interval_ms == 3
    assert settings.consumer["fetch.min.bytes"] == "4"
    assert settings.consumer["client.rack"] == "w"


def test_a_blank_value_counts_as_not_written_and_takes_a_key_of_the_file_away_on_the_command_line() -> None:
    settings = load(
        {**LEAST, "transforms": "route", "frazil.commit.interval.ms": " "},
        worker={"frazil.commit.interval.ms": "7"},
        overrides={"transforms": ""},
    )

    assert settings.commit_interval_ms == 7


def test_keys_of_the_kafka_connect_worker_are_tolerated_in_its_file_and_listed() -> None:
    worker = {"rest.port": "8083", "offset.storage.file.filename": "/o", "sasl.jaas.config": "hush", "group.id": "g"}

    settings = load(LEAST, worker)

    assert [key for key, _ in settings.no_effect] == sorted(worker)
    assert "rest.port" in problems(worker)


def test_consumer_keys_become_librdkafkas() -> None:
    settings = load(
        {
            **LEAST,
            "consumer.fetch.max.wait.ms": "5",
            "consumer.sasl.mechanism": "PLAIN",
            "consumer.sasl.password": " hush ",
            "consumer.ssl.endpoint.identification.algorithm": "",
            "consumer.receive.buffer.bytes": "-1",
            "consumer.queued.min.messages": "7",
            "consumer.bootstrap.servers": "other:9092",
            "consumer.max.poll.records": "500",
            "consumer.override.enable.auto.commit": "true",
        }
    )

    assert settings.consumer == {
        "bootstrap.servers": "other:9092",
        "isolation.level": "read_uncommitted",
        "fetch.wait.max.ms": "5",
        "sasl.mechanisms": "PLAIN",
        "sasl.password": " hush ",
        "ssl.endpoint.identification.algorithm": "none",
        "socket.receive.buffer.bytes": "0",
        "queued.min.messages": "7",
    }
    assert [key for key, _ in settings.no_effect] == [
        "consumer.max.poll.records",
        "consumer.override.enable.auto.commit",
    ]


def test_override_keys_of_a_consumer_win_over_plain_ones() -> None:
    settings = load({**LEAST, "consumer.group.id": "plain", "consumer.override.group.id": "override"})

    assert settings.group_id == "override"


SECRETS = {
    "snowflake.private.key": "hush1",
    "snowflake.private.key.passphrase": "hush2",
    "consumer.sasl.password": "hush3",
    "spark.hadoop.fs.s3a.secret.key": "hush4",
}


def test_secrets_are_in_no_repr() -> None:
    assert "hush" not in repr(load({**LEAST, **SECRETS})) + str(load({**LEAST, **SECRETS}))


def test_secrets_are_in_no_error() -> None:
    misspelt = {"snowflake.private.keyy": "hush5", "consumer.sasl.jaas.config": "hush6", "sasl.password": "hush7"}
    overrides = {"snowflake.streaming.client.provider.override.map": "token=hush8"}

    with pytest.raises(InvalidConfiguration) as caught:
        load({**LEAST, **SECRETS, **misspelt}, None, overrides)

    assert len(caught.value.problems) == 4
    assert "hush" not in str(caught.value)


def test_settings_cannot_be_changed_but_can_be_pickled() -> None:
    settings = load({**LEAST, "snowflake.topic2table.map": "orders:sales"})

    with pytest.raises(ValueError, match="frozen"):
        settings.name = "other"
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_connectors_whose_names_become_the_same_key_cannot_run_together() -> None:
    one, other = load({**LEAST, "name": "orders"}), load({**LEAST, "name": "ORDERS"})

    refuse_shared_keys([one, load(LEAST)])
    with pytest.raises(InvalidConfiguration, match="both become ORDERS"):
        refuse_shared_keys([one, other])
    with pytest.raises(InvalidConfiguration, match="both become ORDERS"):
        refuse_shared_keys([one, one])


def test_the_home_is_frazil_home_unless_the_configuration_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_HOME", "/somewhere")

    assert load(LEAST).home == "/somewhere"
    assert load(LEAST, overrides={"frazil.home": "/else"}).home == "/else"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="nowhere"):
        load(Path(tmp_path / "nowhere.properties"))


@pytest.mark.parametrize("pattern", ["(", r"\Qa\E", "[a-z&&[^b]]", "(?<n>a)", "a{99999999999}"])
def test_a_pattern_that_java_and_python_read_differently_is_refused(pattern: str) -> None:
    assert "no regular expression" in problems({"topics.regex": pattern}, without=["topics"])["topics.regex"]


keys = st.sampled_from([*LEAST, *SECRETS, "topics.regex", "tasks.max", "transforms", "consumer.group.id"]) | st.text()


@given(st.dictionaries(keys, st.text()), st.dictionaries(keys, st.text()))
def test_any_mapping_gives_settings_or_one_named_error(connector: dict[str, str], worker: dict[str, str]) -> None:
    with contextlib.suppress(InvalidConfiguration):
        load(connector, worker)
