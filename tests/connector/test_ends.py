"""What a connector reads from is opened by the kind of its source alone."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from tests.config import connector as kafka
from tests.config import streams

from frazil.config import ConnectorSettings, load
from frazil.connector.brokers import Brokers
from frazil.connector.ends import SparkEnds
from frazil.connector.registered import Registered
from frazil.sources import kinds


class Streams:
    """Not a source, but what stands for one."""

    def __init__(self, *what: Any) -> None:
        self.what = what
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_source(settings: ConnectorSettings, own: streams.StreamsSettings) -> Streams:
        return Streams(settings.name, own.region, own.topics)

    def observe(client: Mapping[str, str], topics: Collection[str]) -> Streams:
        return Streams(client, topics)

    source = ModuleType("streams_of_tests.source")
    source.open_source, source.observe = open_source, observe  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "streams_of_tests", ModuleType("streams_of_tests"))
    monkeypatch.setitem(sys.modules, "streams_of_tests.source", source)
    monkeypatch.setattr(kinds, "_packages", {**kinds._packages})
    kinds.register(streams.StreamsSettings.kind, "streams_of_tests")
    streams.register(monkeypatch)


def test_a_connector_opens_the_source_that_its_class_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.connector.ends.StagingJob", lambda *_: None)

    opened = SparkEnds(load(streams.LEAST), cast("SparkSession", None)).source()

    assert isinstance(opened, Streams)
    assert opened.what == ("orders-sink", "n-1", ("orders", "returns"))


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_kafka_is_opened_with_what_its_clients_need(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    monkeypatch.setattr("frazil.connector.ends.StagingJob", lambda *_: None)
    settings = load({**kafka.LEAST, "consumer.isolation.level": level, "consumer.fetch.min.bytes": "7"})
    wanted = {"bootstrap.servers": "localhost:9092", "isolation.level": level, "fetch.min.bytes": "7"}

    opened = SparkEnds(settings, cast("SparkSession", None)).source()
    looking = kinds.observe("kafka", settings.source.client, ["orders"])

    assert wanted.items() <= dict(opened.reader().client).items()
    assert wanted.items() <= dict(looking.reader().client).items()
    opened.close()
    looking.close()


def test_a_command_looks_at_the_source_of_a_connector_that_ran() -> None:
    entry = Registered("orders-sink", "ORDERS", "tests-streams", {"region": "s-1"}, None, None, "RUNNING", 1, 0.0)

    with Brokers().source("ORDERS", entry, ["orders"]) as opened:
        assert isinstance(opened, Streams)
        assert opened.what == ({"region": "s-1"}, ["orders"])
        assert not opened.closed

    assert opened.closed
