"""A file with keys of Kinesis becomes the settings of its source; what is wrong with it is in one report."""

from __future__ import annotations

import pickle

import pytest

from frazil.config import load, refuse_conflicts
from frazil.config.kinesis import KinesisSettings
from frazil.config.settings_base import keys_of
from frazil.errors import InvalidConfiguration
from frazil.names import sanitise
from frazil.secrets import is_secret

from .connector import problems as problems_of_kafka
from .kinesis import ARN, LEAST, Texts, loaded, problems, source

KEYS = {"frazil.kinesis.access.key.id": "AKIA", "frazil.kinesis.secret.access.key": "hush"}

ROWS = (
    ("frazil.kinesis.streams", "a,b", "a b", "('a', 'b')"),
    ("frazil.kinesis.streams.regex", "orders.*", "(", None),
    ("frazil.kinesis.application.name", "shop", None, None),
    ("frazil.kinesis.region", "us-gov-west-1", "Frankfurt", None),
    ("frazil.kinesis.endpoint", "http://127.0.0.1:4567", "localhost:4567", None),
    ("frazil.kinesis.consumer.type", "enhanced_fan_out", "EFO", "ENHANCED_FAN_OUT"),
    ("frazil.kinesis.initial.position", "latest", "earliest", "LATEST"),
    ("frazil.kinesis.initial.timestamp", "2026-07-29T12:00:00+02:00", "noon", "1785319200000"),
    ("frazil.kinesis.profile", "reader", None, None),
    ("frazil.kinesis.access.key.id", "AKIA", None, None),
    ("frazil.kinesis.secret.access.key", "hush", None, None),
    ("frazil.kinesis.session.token", "hush", None, None),
    ("frazil.kinesis.role.arn", "arn:aws:iam::123456789012:role/a/reader", "reader", None),
    ("frazil.kinesis.role.external.id", "7", None, None),
    ("frazil.kinesis.role.session.name", "orders", None, None),
    ("frazil.kinesis.max.records", "1", "10001", None),
    ("frazil.kinesis.poll.interval.ms", "200", "199", None),
    ("frazil.kinesis.read.rate", "1048576", "1 MB", None),
    ("frazil.kinesis.read.window.ms", "500", "0", None),
    ("frazil.kinesis.fan.out.window.ms", "60000", "4999", None),
    ("frazil.kinesis.discovery.interval.ms", "1000", "1s", None),
    ("errors.deadletterqueue.stream.name", "dead", "dead letters", None),
    ("frazil.output.stream", "out", "the output", None),
    ("frazil.output.order", "None", "shard", "none"),
    ("frazil.output.max.files", "0", "-1", None),
    ("frazil.output.max.age.ms", "60000", "1 h", None),
)

BESIDE: dict[str, Texts] = {
    "frazil.kinesis.access.key.id": KEYS,
    "frazil.kinesis.secret.access.key": KEYS,
    "frazil.kinesis.session.token": KEYS,
    "frazil.kinesis.initial.timestamp": {"frazil.kinesis.initial.position": "AT_TIMESTAMP"},
}
"""What some keys need beside them."""

REPLACES = {"frazil.kinesis.streams.regex": ["frazil.kinesis.streams"]}
"""What some keys stand instead of."""


def test_the_least_configuration_reads_from_the_oldest_record_by_polling_json_without_schemas() -> None:
    settings = load(LEAST)
    own = settings.source

    assert isinstance(own, KinesisSettings)
    assert (own.kind, own.topics, own.address) == ("kinesis", ("orders",), "eu-central-1")
    assert (own.initial_position, own.consumer_type) == ("TRIM_HORIZON", "SHARED_THROUGHPUT")
    assert settings.conversion.value_converter.kind == "json"
    assert own.client == {
        "region": "eu-central-1",
        "application": "orders-sink",
        "consumer_type": "SHARED_THROUGHPUT",
        "max_records": "10000",
        "poll_interval_ms": "1000",
        "read_rate": "2097152",
        "read_window_ms": "2000",
        "fan_out_window_ms": "10000",
    }
    assert pickle.loads(pickle.dumps(settings)) == settings


@pytest.mark.parametrize(("key", "good", "read"), [(key, good, read) for key, good, _, read in ROWS])
def test_a_good_value_arrives(key: str, good: str, read: str | None) -> None:
    found = source({**BESIDE.get(key, {}), key: good}, REPLACES.get(key, ()))
    (name,) = [name for name, field in KinesisSettings.model_fields.items() if key in keys_of(field)]

    assert str(getattr(found, name)) == (read or good)


@pytest.mark.parametrize(("key", "bad"), [(key, bad) for key, _, bad, _ in ROWS if bad])
def test_a_bad_value_is_one_problem_that_names_the_key_and_says_what_to_write(key: str, bad: str) -> None:
    found = problems({**BESIDE.get(key, {}), key: bad}, without=REPLACES.get(key, ()))

    assert list(found) == [key]
    assert repr(bad) in found[key]
    assert "write" in found[key] or "use" in found[key]


def test_every_key_has_a_row() -> None:
    assert sorted(key for key, _, _, _ in ROWS) == sorted(KinesisSettings.setting_keys())


def test_all_problems_are_in_one_report() -> None:
    bad = {key: bad for key, _, bad, _ in ROWS if bad and key not in REPLACES}

    found = problems({**bad, "tasks.max": "0", "topics": "orders", "frazil.kinesis.initial.position": "AT_TIMESTAMP"})

    assert list(found) == sorted({*bad, "tasks.max", "topics"} - {"frazil.kinesis.initial.position"})


def test_streams_may_be_given_by_their_arns_which_name_the_region() -> None:
    found = source({"frazil.kinesis.streams": f"{ARN}, returns"}, ["frazil.kinesis.region"])

    assert (found.topics, found.region) == (("orders", "returns"), "eu-central-1")
    assert {key: value for key, value in found.client.items() if key.startswith("arn.")} == {"arn.orders": ARN}


def test_arns_that_do_not_go_together_are_refused() -> None:
    elsewhere = ARN.replace("eu-central-1", "us-east-1").replace("orders", "returns")
    namesake = ARN.replace("123456789012", "210987654321")
    streams = "frazil.kinesis.streams"

    assert "is in eu-central-1 or us-east-1" in problems({streams: f"{ARN},{elsewhere}"})[streams]
    assert "several of its streams" in problems({streams: f"{ARN},{namesake}"})[streams]
    assert list(problems({streams: elsewhere})) == ["frazil.kinesis.region"]


def test_streams_are_named_or_matched_and_not_both() -> None:
    pattern = {"frazil.kinesis.streams.regex": "orders.*"}

    assert list(problems(pattern)) == ["frazil.kinesis.streams.regex"]
    assert list(problems({}, without=["frazil.kinesis.streams"])) == ["frazil.kinesis.streams"]


def test_the_region_is_asked_for() -> None:
    found = problems({}, without=["frazil.kinesis.region"])

    assert found == {"frazil.kinesis.region": "is missing. Write frazil.kinesis.region=eu-central-1."}


def test_the_application_is_the_identity_and_either_name_stands_for_the_other() -> None:
    application = {"frazil.kinesis.application.name": "orders-app"}
    both, alone = loaded(application), loaded(application, ["name"])

    assert (both.name, both.key) == ("orders-sink", sanitise("orders-app"))
    assert (alone.name, alone.key) == ("orders-app", sanitise("orders-app"))
    assert source({}).application_name == "orders-sink"
    assert list(problems({}, without=["name"])) == ["name"]


def test_connectors_of_one_application_cannot_run_together() -> None:
    application = {"frazil.kinesis.application.name": "orders-app"}

    with pytest.raises(InvalidConfiguration, match=r"'b' and 'a' both become .* Rename one application\."):
        refuse_conflicts([loaded({**application, "name": "a"}), loaded({**application, "name": "b"})])


def test_what_is_a_secret_is_in_the_client_and_nowhere_else() -> None:
    secrets = {**KEYS, "frazil.kinesis.session.token": "hush-2", "frazil.kinesis.role.external.id": "hush-3"}
    role = {"frazil.kinesis.role.arn": "arn:aws:iam::123456789012:role/reader"}
    settings = loaded({**secrets, **role})
    own = settings.source

    assert {"AKIA", "hush", "hush-2", "hush-3"} <= {*own.client.values()}
    assert not {*secrets.values()} & {*own.public_client.values()}
    assert not any(value in repr(settings) + repr(own) for value in secrets.values())
    assert all(is_secret(key) for key in secrets)


@pytest.mark.parametrize(
    ("read", "without"),
    [
        ({"frazil.kinesis.streams": "a, dead"}, ()),
        ({"frazil.kinesis.streams": ARN}, ()),
        ({"frazil.kinesis.streams.regex": "d.*"}, ["frazil.kinesis.streams"]),
    ],
)
@pytest.mark.parametrize("key", ["errors.deadletterqueue.stream.name", "frazil.output.stream"])
def test_a_stream_that_is_written_to_and_read_as_well_is_refused(read: Texts, without: list[str], key: str) -> None:
    name = ARN.rpartition("/")[2] if ARN in read.values() else "dead"

    found = problems({**read, key: name}, without=without)

    assert list(found) == [key]
    assert f"is {name!r}, which" in found[key]


def test_rejected_and_accepted_records_go_to_two_streams() -> None:
    found = problems({"errors.deadletterqueue.stream.name": "other", "frazil.output.stream": "other"})

    assert list(found) == ["frazil.output.stream"]
    assert "Write another stream" in found["frazil.output.stream"]


def test_a_connector_of_kafka_has_no_output_stream() -> None:
    assert list(problems_of_kafka({"frazil.output.stream": "out"})) == ["frazil.output.stream"]


def test_a_dead_letter_stream_beside_a_pattern_that_does_not_match_all_of_it_is_taken() -> None:
    beside = {"frazil.kinesis.streams.regex": "dea", "errors.deadletterqueue.stream.name": "dead"}

    assert source(beside, ["frazil.kinesis.streams"]).dead_letter_stream == "dead"


def test_credentials_go_together_or_are_refused() -> None:
    profile = {"frazil.kinesis.profile": "reader"}

    assert list(problems({"frazil.kinesis.access.key.id": "AKIA"})) == ["frazil.kinesis.access.key.id"]
    assert list(problems({"frazil.kinesis.secret.access.key": "hush"})) == ["frazil.kinesis.secret.access.key"]
    assert list(problems({"frazil.kinesis.session.token": "hush"})) == ["frazil.kinesis.session.token"]
    assert list(problems({**KEYS, **profile})) == ["frazil.kinesis.profile"]
    assert "hush" not in str(problems({"frazil.kinesis.secret.access.key": "hush"}))


@pytest.mark.parametrize(
    "key",
    [
        "frazil.kinesis.access.key.id",
        "frazil.kinesis.secret.access.key",
        "frazil.kinesis.session.token",
        "frazil.kinesis.role.external.id",
    ],
)
def test_credentials_are_taken_without_the_line_break_that_files_end_with_and_refused_with_one_inside(key: str) -> None:
    assert {"hush"} < {*source({**KEYS, key: " hush\n"}).client.values()}

    found = problems({**KEYS, key: "hu\nsh"})

    assert found == {key: "holds blanks or letters that no credentials have; write it as AWS gave it."}


@pytest.mark.parametrize("secret", ["http://user:hush@kinesis", "https://kinesis/?X-Amz-Security-Token=hush", "k#hush"])
def test_what_is_secret_in_an_endpoint_is_not_shown(secret: str) -> None:
    found = problems({"frazil.kinesis.endpoint": secret})

    assert "hush" not in found["frazil.kinesis.endpoint"]


def test_an_initial_timestamp_belongs_to_the_position_of_its_name() -> None:
    timestamp = {"frazil.kinesis.initial.timestamp": "1785319200000"}
    position = {"frazil.kinesis.initial.position": "AT_TIMESTAMP"}

    assert source({**timestamp, **position}).initial_timestamp_ms == 1785319200000
    assert list(problems(position)) == ["frazil.kinesis.initial.timestamp"]
    assert dict(loaded(timestamp).no_effect) == {
        "frazil.kinesis.initial.timestamp": "it is for frazil.kinesis.initial.position=AT_TIMESTAMP"
    }


def test_keys_of_the_other_way_to_read_are_listed_without_effect() -> None:
    keys = {"frazil.kinesis.fan.out.window.ms": "60000", "frazil.kinesis.read.rate": "1048576"}
    fan_out = {"frazil.kinesis.consumer.type": "ENHANCED_FAN_OUT"}

    assert [*dict(loaded(keys).no_effect)] == ["frazil.kinesis.fan.out.window.ms"]
    assert [*dict(loaded({**keys, **fan_out}).no_effect)] == ["frazil.kinesis.read.rate"]
    assert [*dict(loaded({"frazil.kinesis.role.session.name": "x"}).no_effect)] == ["frazil.kinesis.role.session.name"]


def test_an_application_that_registers_a_consumer_has_a_name_that_a_consumer_can_have() -> None:
    fan_out = {"frazil.kinesis.consumer.type": "ENHANCED_FAN_OUT"}

    assert list(problems({**fan_out, "name": "orders sink"})) == ["name"]
    assert list(problems({**fan_out, "frazil.kinesis.application.name": "a/b"})) == ["frazil.kinesis.application.name"]
    assert loaded({"name": "orders sink"}).name == "orders sink"


def test_keys_of_kafka_that_mean_what_kinesis_calls_otherwise_are_refused_with_that_name() -> None:
    found = problems({"topics": "orders", "topics.regex": "o.*", "errors.deadletterqueue.topic.name": "dead"})

    assert list(found) == ["errors.deadletterqueue.topic.name", "topics", "topics.regex"]
    assert found["topics"] == "names topics of Kafka. Write frazil.kinesis.streams."


def test_keys_of_kafka_that_mean_nothing_here_are_listed_with_the_reason() -> None:
    given = {
        "bootstrap.servers": "b:9092",
        "consumer.override.group.id": "g",
        "key.converter": "io.confluent.connect.avro.AvroConverter",
        "key.converter.schema.registry.url": "http://registry",
        "header.converter": "nothing.of.the.kind",
    }

    settings = loaded(given)

    assert [*dict(settings.no_effect)] == sorted(given)
    assert settings.key_converter == "string"


def test_keys_of_kinesis_are_unknown_to_kafka() -> None:
    assert list(problems_of_kafka({"frazil.kinesis.region": "eu-central-1"})) == ["frazil.kinesis.region"]


def test_a_misspelt_key_is_compared_with_those_of_kinesis() -> None:
    assert "Did you mean frazil.kinesis.region?" in problems({"frazil.kinesis.regoin": "x"})["frazil.kinesis.regoin"]


def test_a_converter_that_is_given_or_that_the_worker_has_reads_the_values() -> None:
    envelope = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}

    assert loaded(envelope).conversion.value_converter.kind == "json_envelope"
    assert load(LEAST, envelope).conversion.value_converter.kind == "json_envelope"


def test_records_go_to_tables_by_their_streams() -> None:
    settings = loaded({"frazil.kinesis.streams": "orders,returns", "snowflake.topic2table.map": 'orders:"Orders"'})

    assert [settings.table_of(each).name for each in settings.source.topics] == ["Orders", "RETURNS"]


def test_a_dead_letter_stream_has_no_effect_where_the_first_rejected_record_stops_the_connector() -> None:
    dead = {"errors.deadletterqueue.stream.name": "dead"}

    assert [*dict(loaded(dead).no_effect)] == ["errors.deadletterqueue.stream.name"]
    assert loaded({**dead, "errors.tolerance": "all"}).no_effect == ()
