"""A connector class brings the settings of its source; one that frazil does not have needs no other change."""

from __future__ import annotations

import pickle

import pytest

from frazil.config import load, reference
from frazil.config.kafka import KafkaSettings
from frazil.config.providers import ENVIRONMENT
from frazil.errors import InvalidConfiguration

from . import connector
from .connector import Texts
from .streams import CLASS, LEAST, StreamsSettings, register


@pytest.fixture(autouse=True)
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def problems(changes: Texts, worker: Texts | None = None, without: tuple[str, ...] = ()) -> Texts:
    given = {key: value for key, value in {**LEAST, **changes}.items() if key not in without}
    with pytest.raises(InvalidConfiguration) as caught:
        load(given, worker)
    return {problem.key: problem.text for problem in caught.value.problems}


def test_a_connector_without_brokers_loads() -> None:
    settings = load({**LEAST, "tasks.max": "3"})

    assert isinstance(settings.source, StreamsSettings)
    assert (settings.source.kind, settings.source.topics, settings.source.region) == (
        "tests-streams",
        ("orders", "returns"),
        "n-1",
    )
    assert (settings.key, settings.tasks_max, settings.source.address) == ("ORDERS_SINK_1813797765", 3, "n-1")
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_connector_classes_of_kafka_bring_kafkas_settings() -> None:
    assert isinstance(load(connector.LEAST).source, KafkaSettings)


def test_all_problems_of_a_source_and_its_connector_are_in_one_report() -> None:
    found = problems(
        {"streams": "a b", "tasks.max": "0", "frazil.home.": "x", "errors.tolerance": "some"},
        without=("streams.region",),
    )

    assert list(found) == ["errors.tolerance", "frazil.home.", "streams", "streams.region", "tasks.max"]
    assert found["streams.region"] == "is missing. Write streams.region=north."
    assert "'a b' cannot be" in found["streams"]


def test_keys_of_another_source_are_unknown() -> None:
    others = {
        "topics": "orders",
        "bootstrap.servers": "b:9092",
        "consumer.group.id": "g",
        "consumer.fetch.min.bytes": "1",
    }

    assert list(problems(others)) == sorted(others)
    assert list(connector.problems({"streams.region": "north"})) == ["streams.region"]


def test_an_unknown_key_is_compared_with_those_of_the_source() -> None:
    assert "Did you mean streams.region?" in problems({"streams.regoin": "north"})["streams.regoin"]


def test_a_worker_file_of_kafkas_gives_what_counts_for_the_source_and_lists_the_rest() -> None:
    worker = {"bootstrap.servers": "b:9092", "consumer.fetch.min.bytes": "1", "streams.region": "south"}
    given = {key: value for key, value in LEAST.items() if key != "streams.region"}

    settings = load(given, worker)

    assert settings.source.address == "s-1"
    assert [key for key, _ in settings.no_effect] == ["bootstrap.servers", "consumer.fetch.min.bytes"]


def test_what_came_from_a_provider_is_in_no_repr_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = {"config.providers": "env", "config.providers.env.class": ENVIRONMENT}
    monkeypatch.setenv("HUSH", "hush")

    settings = load({**LEAST, "streams": "${env:HUSH}", "streams.token": "hush"}, worker)

    assert settings.source.client["token"] == "hush"
    assert settings.source.topics == ("hush",)
    assert "hush" not in repr(settings) + repr(settings.source)


def test_a_class_nobody_brought_names_all_there_are() -> None:
    text = problems({"connector.class": CLASS.lower()})["connector.class"]

    assert text == (
        "'tests.streamsconnector' is not possible; write 'frazil.KafkaConnector', "
        "'com.snowflake.kafka.connector.SnowflakeSinkConnector', "
        "'com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector', 'frazil.KinesisConnector' "
        "or 'tests.StreamsConnector'."
    )


def test_the_page_of_all_keys_has_those_of_the_source() -> None:
    page = reference.page()

    assert "### What is read of streams" in page
    assert "| `streams.region` | must be given | Where they are. |" in page
