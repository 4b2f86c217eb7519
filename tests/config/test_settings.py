from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config import TableMapping, load, refuse_shared_keys
from frazil.config.converters import AVRO, BYTES, JSON, STRING
from frazil.config.providers import ENVIRONMENT
from frazil.errors import InvalidConfiguration
from frazil.model import Conversion, ConverterSpec

from .connector import LEAST, SINK, STREAMING, problems, without


def test_the_least_configuration_has_the_documented_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAZIL_HOME", raising=False)

    settings = load(LEAST)

    assert (settings.name, settings.key, settings.source.topics) == (
        "orders-sink",
        "ORDERS_SINK_1813797765",
        ("orders",),
    )
    assert (settings.key_converter, settings.value_converter) == ("string", "json")
    assert (settings.errors_tolerance, settings.errors_log_enable, settings.tasks_max) == ("none", False, None)
    assert (settings.catalog, settings.namespace, settings.database, settings.home) == (
        None,
        None,
        None,
        "./frazil-data",
    )
    assert (settings.source.group_id, settings.source.auto_offset_reset) == ("connect-orders-sink", "earliest")
    assert (settings.commit_interval_ms, settings.cycle_max_bytes) == (1000, 512 * 1024 * 1024)
    assert (settings.on_data_loss, settings.snapshots_min_age_ms) == ("fail", 20 * 60 * 1000)
    assert (settings.stage_max_age_ms, settings.orphans_min_age_ms) == (3_600_000, 24 * 3_600_000)
    assert settings.disk_sync is True
    assert settings.tokens_retention_ms == 30 * 24 * 3_600_000
    assert settings.source.client == {"bootstrap.servers": "localhost:9092", "isolation.level": "read_uncommitted"}
    assert (settings.not_needed, settings.no_effect, dict(settings.spark)) == ((), (), {})


def test_orphans_and_tokens_may_stay_for_ever() -> None:
    assert load({**LEAST, "frazil.orphans.min.age": "Never"}).orphans_min_age_ms is None
    assert load({**LEAST, "frazil.tokens.retention": "never"}).tokens_retention_ms is None


def test_how_records_become_rows_has_the_connectors_defaults() -> None:
    settings = load(LEAST)

    assert settings.conversion == Conversion(value_converter=ConverterSpec("json", {"schemas.enable": "false"}))
    assert (settings.sanitize_table_names, settings.autocreate, settings.normalize_columns) == (True, "iceberg", False)
    assert not settings.topic2table_regex


def test_how_records_become_rows_can_be_written() -> None:
    keys = {
        "key.converter": BYTES,
        "header.converter": JSON,
        "header.converter.schemas.enable": "false",
        "snowflake.feature.structured.headers": "true",
        "snowflake.feature.structured.record.metadata.enabled": "False",
        "snowflake.metadata.createtime": "false",
        "snowflake.streaming.metadata.connectorPushTime": "FALSE",
        "behavior.on.null.values": "IGNORE",
        "frazil.time.zone": "Europe/Berlin",
        "frazil.numbers": "Round",
        "frazil.nested.type": "JSON",
    }

    assert load({**LEAST, **keys}).conversion == Conversion(
        key_converter=ConverterSpec("bytes"),
        value_converter=ConverterSpec("json", {"schemas.enable": "false"}),
        header_converter=ConverterSpec("json", {"schemas.enable": "false"}),
        structured_headers=True,
        structured_metadata=False,
        metadata=frozenset({"topic", "offset_and_partition"}),
        tombstones="ignore",
        time_zone="Europe/Berlin",
        numbers="round",
        nested_type="json",
    )


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("snowflake.metadata.topic", "topic"),
        ("snowflake.metadata.offset.and.partition", "offset_and_partition"),
        ("snowflake.metadata.createtime", "create_time"),
        ("snowflake.streaming.metadata.connectorPushTime", "push_time"),
    ],
)
def test_each_part_of_the_metadata_can_be_left_out(key: str, part: str) -> None:
    every = load(LEAST).conversion.metadata

    assert every is not None
    assert load({**LEAST, key: "false"}).conversion.metadata == every - {part}


def test_the_metadata_can_be_left_out_whole() -> None:
    assert load({**LEAST, "snowflake.metadata.all": "false"}).conversion.metadata is None


def test_numbers_are_rounded_where_the_file_asks_for_the_classic_connectors_rules() -> None:
    classic = {"snowflake.validation": "Client_Side"}

    assert load({**LEAST, **classic}).numbers == "round"
    assert load({**LEAST, **classic, "frazil.numbers": "reject"}).numbers == "reject"
    assert load(LEAST).numbers == "reject"


@pytest.mark.parametrize(
    ("connector_class", "sanitised"), [("frazil.KafkaConnector", True), (SINK, True), (STREAMING, False)]
)
def test_names_of_tables_are_sanitised_as_the_connectors_class_does(connector_class: str, sanitised: bool) -> None:
    key = "snowflake.compatibility.enable.autogenerated.table.name.sanitization"
    told = {"snowflake.ingestion.method": "SNOWPIPE_STREAMING", "snowflake.enable.schematization": "true"}
    file = {**LEAST, **told, "connector.class": connector_class}

    assert load(file).sanitize_table_names is sanitised
    assert load({**file, key: str(not sanitised)}).sanitize_table_names is not sanitised


@pytest.mark.parametrize(("word", "meant"), [("snowflake", "iceberg"), ("ICEBERG", "iceberg"), ("None", "none")])
def test_snowflakes_tables_are_iceberg_tables_here(word: str, meant: str) -> None:
    assert load({**LEAST, "snowflake.autocreate.table.type": word}).autocreate == meant


def test_metadata_may_be_left_out_of_iceberg_tables_too() -> None:
    keys = {
        "snowflake.autocreate.table.type": "iceberg",
        "snowflake.metadata.topic": "false",
        "snowflake.validation": "client_side",
    }

    assert load({**LEAST, **keys}).autocreate == "iceberg"


def test_tables_may_use_groups_of_their_topics_where_the_file_says_so() -> None:
    mapped = {"snowflake.topic2table.map": "shop_(.*):sales_$1"}

    settings = load({**LEAST, **mapped, "snowflake.topic2table.map.regex.replacement": "TRUE"})

    assert settings.topic2table.resolve("shop_eu") == TableMapping("SALES_EU", quoted=False)
    assert load({**LEAST, **mapped}).topic2table.resolve("shop_eu") == TableMapping("SALES_$1", quoted=False)


@pytest.mark.parametrize("word", ["true", "false"])
def test_comparing_with_the_classic_connector_is_neither_needed_nor_done(word: str) -> None:
    key = "snowflake.streaming.validate.compatibility.with.classic"

    assert [given for given, _ in load({**LEAST, key: word}).no_effect] == [key]


def test_the_header_converter_comes_from_the_worker_file_when_the_connector_names_none() -> None:
    worker = {"header.converter": JSON, "header.converter.schemas.enable": "false"}

    assert load(LEAST, worker).header_converter == "json"
    assert load({**LEAST, "header.converter": JSON}, worker).conversion.header_converter.kind == "json_envelope"


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
            "frazil.stage.max.age": "90 min",
            "frazil.orphans.min.age": "3 d",
            "frazil.disk.sync": "false",
            "spark.master": "local[2]",
        }
    )

    assert settings.source.topics == ("orders", "payments")
    assert (settings.key_converter, settings.errors_tolerance, settings.errors_log_enable) == ("json", "all", True)
    assert settings.topic2table.resolve("orders") == TableMapping("SALES", quoted=False)
    assert (settings.catalog, settings.namespace, settings.database) == ("lake", "shop.raw", "DB")
    assert (settings.home, settings.tasks_max, settings.source.group_id) == ("/data", 4, "mine")
    assert (settings.source.auto_offset_reset, settings.source.isolation_level) == ("latest", "read_committed")
    assert (settings.commit_interval_ms, settings.cycle_max_bytes) == (0, 1 << 20)
    assert (settings.on_data_loss, settings.snapshots_min_age_ms) == ("skip", 7_200_000)
    assert (settings.stage_max_age_ms, settings.orphans_min_age_ms) == (5_400_000, 3 * 24 * 3_600_000)
    assert settings.disk_sync is False
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
    assert (settings.namespace, settings.source.bootstrap_servers) == ("RAW", "kafka:9092")


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
        ("frazil.stage.max.age", "999", "'999' is too short; write 1s or more"),
        ("frazil.stage.max.age", "13h", "'13h' is too long; write 12h or less"),
        ("frazil.stage.max.age", "never", "'never' is no duration"),
        ("frazil.orphans.min.age", "23 h", "'23 h' is too short; write 24h or more"),
        ("frazil.orphans.min.age", "someday", "'someday' is no duration"),
        ("frazil.tokens.retention", "0", "'0' is too short; write 1s or more"),
        ("frazil.on.data.loss", "cry", "write 'fail' or 'skip'"),
        ("frazil.catalog", "a.b", "spark.sql.catalog.X"),
        ("frazil.namespace", "a..b", "'a..b' is no namespace"),
        ("bootstrap.servers", "localhost", "write host:port"),
        ("snowflake.topic2table.map", "a", "':' expected at position 1"),
        ("consumer.auto.offset.reset", "by_duration:P1D", "write 'earliest', 'latest' or 'none'"),
        ("key.converter", "io.confluent.connect.avro.AvroConverter", "schema.registry.url is missing"),
        ("value.converter", "com.acme.AvroConverter", "write one of"),
        ("value.converter", "acme.shop:Lines", "cannot be made: ModuleNotFoundError"),
        ("value.converter.schemas.enable", "yes", "neither true nor false"),
        ("errors.deadletterqueue.topic.name", "dead letters", "cannot be a Kafka topic"),
        ("snowflake.enable.schematization", "no", "neither true nor false"),
        ("snowflake.ingestion.method", "SNOWPIPE", "Write SNOWPIPE_STREAMING"),
        ("header.converter", "org.acme.Headers", "SimpleHeaderConverter"),
        ("consumer.interceptor.classes", "org.acme.Spy", "Remove the key"),
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


def test_all_that_is_wrong_with_transforms_and_predicates_is_found() -> None:
    found = problems(
        {
            "transforms": "route, lost, drop",
            "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": "(",
            "transforms.route.replacement": "$1",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "old",
            "predicates": "older",
            "predicates.older.type": "NoPredicate",
        }
    )

    assert list(found) == [
        "predicates.older.type",
        "transforms",
        "transforms.drop.predicate",
        "transforms.route.regex",
        "transforms.route.replacement",
    ]


def test_an_unknown_key_is_a_problem_with_the_nearest_known_one() -> None:
    assert "frazil.commit.interval.ms" in problems({"frazil.commit.intervall.ms": "5"})["frazil.commit.intervall.ms"]
    assert "nor one like it" in problems({"zzz": "5"})["zzz"]


def test_the_classic_connector_has_to_be_told_what_its_default_would_not_do() -> None:
    key = "snowflake.ingestion.method"

    assert "is missing" in problems({"connector.class": SINK})[key]
    assert load({**LEAST, "connector.class": SINK, key: "SNOWPIPE_STREAMING"}).connector_class == SINK
    assert load({**LEAST, "connector.class": STREAMING}).connector_class == STREAMING


def test_keys_become_columns_unless_it_is_the_classic_connector_or_whole_records_are_wanted() -> None:
    classic = {**LEAST, "connector.class": SINK, "snowflake.ingestion.method": "SNOWPIPE_STREAMING"}
    key = "snowflake.enable.schematization"

    assert load(LEAST).schematization
    assert load({**LEAST, "connector.class": STREAMING}).schematization
    assert not load(classic).schematization
    assert load({**classic, key: "TRUE"}).schematization
    assert load({**LEAST, key: "false"}).conversion.whole_records


@pytest.mark.parametrize("given", [{}, {"snowflake.enable.schematization": "true"}])
def test_only_json_has_keys_to_make_columns_of(given: dict[str, str]) -> None:
    text = problems({"value.converter": STRING, **given})["snowflake.enable.schematization"]

    assert "write false for whole records in RECORD_CONTENT" in text
    assert load(
        {**LEAST, "value.converter": STRING, "snowflake.enable.schematization": "false"}
    ).conversion.whole_records


def test_values_without_keys_may_become_columns_where_transforms_may_wrap_them() -> None:
    hoisted = {"transforms": "wrap", "transforms.wrap.type": "HoistField$Value", "transforms.wrap.field": "line"}

    settings = load({**LEAST, "value.converter": STRING, **hoisted})

    assert settings.schematization
    assert [each.name for each in settings.conversion.transforms] == ["wrap"]


def test_json_converters_expect_schemas_unless_they_are_told_that_there_are_none() -> None:
    said = load(LEAST).conversion
    unsaid = load({**without("value.converter.schemas.enable"), "key.converter": JSON}).conversion

    assert (said.value_converter.kind, unsaid.value_converter.kind, unsaid.key_converter.kind) == (
        "json",
        "json_envelope",
        "json_envelope",
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [(AVRO, "avro"), ("ProtobufConverter", "protobuf"), ("json_schema", "json_schema"), ("LongConverter", "long")],
)
def test_a_converter_is_named_by_its_class_the_end_of_that_or_a_short_name(name: str, kind: str) -> None:
    given = {**LEAST, "key.converter": name, "key.converter.schema.registry.url": "http://localhost:8081"}

    assert load(given).conversion.key_converter.kind == kind


def test_what_a_registry_needs_to_know_is_no_part_of_what_settings_show() -> None:
    given = {
        **LEAST,
        "value.converter": AVRO,
        "value.converter.schema.registry.url": "http://localhost:8081",
        "value.converter.basic.auth.credentials.source": "USER_INFO",
        "value.converter.basic.auth.user.info": "me:hush",
    }

    settings = load(given)

    assert settings.conversion.value_converter.options["basic.auth.user.info"] == "me:hush"
    assert "hush" not in repr(settings)


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

    settings = load(without("value.converter.schemas.enable"), worker)

    assert settings.conversion.value_converter.kind == "json_envelope"


def test_later_layers_win() -> None:
    settings = load(
        {**LEAST, "consumer.fetch.min.bytes": "2", "frazil.commit.interval.ms": "2"},
        worker={"consumer.fetch.min.bytes": "1", "consumer.client.rack": "w", "frazil.commit.interval.ms": "1"},
        overrides={"frazil.commit.interval.ms": "3", "consumer.override.fetch.min.bytes": "4"},
    )

    assert settings.commit_interval_ms == 3
    assert settings.source.client["fetch.min.bytes"] == "4"
    assert settings.source.client["client.rack"] == "w"


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

    assert settings.source.client == {
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

    assert settings.source.group_id == "override"


SECRETS = {
    "snowflake.private.key": "hush1",
    "snowflake.private.key.passphrase": "hush2",
    "consumer.sasl.password": "hush3",
    "spark.hadoop.fs.s3a.secret.key": "hush4",
}


def test_secrets_are_in_no_repr() -> None:
    assert "hush" not in repr(load({**LEAST, **SECRETS})) + str(load({**LEAST, **SECRETS}))


def test_secrets_are_in_no_error() -> None:
    misspelt = {"snowflake.private.keyy": "hush5", "snowflake.jdbc.map": "hush6", "sasl.password": "hush7"}
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
    assert "not a regular expression" in problems({"topics.regex": pattern}, without=["topics"])["topics.regex"]


declarations = ("config.providers", "config.providers.env.class", "config.providers.env.param.allowlist.pattern")
others = ("topics.regex", "tasks.max", "transforms", "consumer.group.id", "snowflake.topic2table.map")
keys = st.sampled_from([*LEAST, *SECRETS, *others, *declarations])
texts = st.text() | st.sampled_from(["env", ENVIRONMENT, "${env:HOME}", "${file:/etc/hostname:x}", "${", "${a:b:c}"])
mappings = st.dictionaries(keys | st.text(), texts)


@given(mappings, mappings)
def test_any_mapping_gives_settings_or_one_named_error(connector: dict[str, str], worker: dict[str, str]) -> None:
    with contextlib.suppress(InvalidConfiguration):
        load(connector, worker)
