"""`frazil run`, without Spark: connectors over memory, and what they depend on over the network."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cycle.memory import World
from tests.memory import connector
from tests.support.processes import write_properties

import frazil.cli.app
import frazil.cli.run
from frazil.cli.app import main
from frazil.config import ConnectorSettings
from frazil.connector import Connector
from frazil.errors import BrokerUnavailable
from frazil.testing.schema_registry import served

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the file of a connector, with a home of its own."""

    def written(name: str, topics: str = "orders", **keys: str) -> str:
        given = {
            "name": name,
            "connector__class": "frazil.KafkaConnector",
            "topics": topics,
            "bootstrap__servers": "memory:9092",
            "frazil__home": str(tmp_path / "home"),
            "frazil__commit__interval__ms": "10",
            "value__converter": "org.apache.kafka.connect.json.JsonConverter",
            "value__converter__schemas__enable": "false",
        }
        return str(write_properties(tmp_path / f"{name}.properties", **{**given, **keys}))

    return written


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Topics and tables in memory, which connectors find in place of brokers and Spark."""
    made = World()
    made.cluster.create_topic("orders")
    made.produce(3)

    def in_memory(settings: ConnectorSettings, _session: None) -> Connector:
        return connector(settings, made.cluster, made.catalog)

    monkeypatch.setattr(frazil.cli.run, "start_spark", lambda *_: None)
    monkeypatch.setattr(frazil.cli.run, "stop_session", lambda _: None)
    monkeypatch.setattr(frazil.cli.run, "Connector", in_memory)
    return made


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that connectors depend on answers."""
    monkeypatch.setattr("frazil.connector.preflight._ask", lambda _: None)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is not to be started, and what does not answer is asked once."""

    def start(*_: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr(frazil.cli.run, "start_spark", start)
    monkeypatch.setattr(frazil.cli.run, "_PATIENCE", 0.0)


@contextmanager
def silent() -> Iterator[str]:
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def closed() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.usefixtures("reachable")
def test_a_run_until_caught_up_ends_with_0_once_everything_has_landed(world: World, write: Write) -> None:
    assert main(["run", "--until-caught-up", "--timeout", "60", write("shop")]) == 0
    assert world.offsets() == [0, 1, 2]


@pytest.mark.usefixtures("reachable")
def test_a_timeout_ends_a_run_that_cannot_catch_up_with_a_code_of_its_own(world: World, write: Write) -> None:
    def refuse(request: str) -> None:
        if request == "read":
            raise BrokerUnavailable("memory:9092", "give the records", "it is down")

    world.cluster.on_request = refuse

    assert main(["run", "--until-caught-up", "--timeout", "0.5", write("shop")]) == 4
    assert world.offsets() == []


@pytest.mark.usefixtures("reachable")
def test_a_connector_that_failed_counts_for_more_than_one_that_is_late(world: World, write: Write) -> None:
    world.cluster.create_topic("late")
    world.produce(1, topic="late")
    is_late = threading.Event()

    def refuse(request: str) -> None:
        if request == "read":
            is_late.set()
            raise BrokerUnavailable("memory:9092", "give the records", "it is down")

    world.cluster.on_request = refuse
    files = write("shop", "missing"), write("late", "late")

    assert main(["run", "--until-caught-up", "--timeout", "2", *files]) == 1
    assert is_late.is_set()


@pytest.mark.parametrize("options", [["--timeout", "5"], ["--until-caught-up", "--timeout", "0"]])
def test_a_timeout_needs_a_run_that_ends_by_itself_and_some_time(write: Write, options: list[str]) -> None:
    assert main(["run", *options, write("shop")]) == 2


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("servers", "reason"),
    [(closed, "Connection refused"), (lambda: "nowhere.invalid:9092", "Failed to resolve")],
)
def test_a_wrong_broker_is_named_before_spark_starts(
    write: Write, capsys: pytest.CaptureFixture[str], servers: Callable[[], str], reason: str
) -> None:
    address = servers()

    assert main(["run", "--until-caught-up", write("shop", bootstrap__servers=address)]) == 1

    said = capsys.readouterr()
    assert re.search(f"broker_unavailable.*{address}.*{reason}", said.out + said.err)


@pytest.mark.usefixtures("no_spark")
def test_a_broker_that_says_nothing_is_named_before_spark_starts(
    write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.connector.preflight._AN_ANSWER", 0.5)
    with silent() as address:
        assert main(["run", "--until-caught-up", write("shop", bootstrap__servers=address)]) == 1

    said = capsys.readouterr()
    assert f"broker_unavailable] the broker at {address}" in said.out + said.err


@pytest.mark.usefixtures("no_spark")
def test_a_schema_registry_that_does_not_answer_is_named_before_spark_starts(
    write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.connector.preflight.kinds.require_reachable", lambda *_: None)
    address = closed()
    avro = {
        "value__converter": "io.confluent.connect.avro.AvroConverter",
        "value__converter__schema__registry__url": f"http://{address}",
    }

    assert main(["run", "--until-caught-up", write("shop", **avro)]) == 1

    said = capsys.readouterr()
    assert re.search(f"registry_unavailable.*{address}", said.out + said.err)


def test_a_schema_registry_that_answers_lets_a_run_start(
    world: World, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.connector.preflight.kinds.require_reachable", lambda *_: None)
    with served() as registry:
        avro = {
            "value__converter": "io.confluent.connect.avro.AvroConverter",
            "value__converter__schema__registry__url": registry.url,
        }
        assert main(["run", "--until-caught-up", "--timeout", "60", write("shop", **avro)]) == 0
        assert registry.requests
    assert world.offsets() == [0, 1, 2]


def test_a_run_until_caught_up_runs_the_connectors_whose_brokers_answer(
    world: World, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frazil.cli.run, "_PATIENCE", 0.0)

    def ask(settings: ConnectorSettings) -> None:
        if settings.name == "away":
            raise BrokerUnavailable("away:9092", "describe the cluster", "Connection refused")

    monkeypatch.setattr("frazil.connector.preflight._ask", ask)

    assert main(["run", "--until-caught-up", "--timeout", "60", write("away", "returns"), write("shop")]) == 1
    assert world.offsets() == [0, 1, 2]


def test_a_broker_that_is_back_within_seconds_does_not_end_a_run_until_caught_up(
    world: World, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.connector.preflight._BETWEEN", 0.0)
    away = [1, 2, 3]

    def ask(_: ConnectorSettings) -> None:
        if away:
            away.pop()
            raise BrokerUnavailable("memory:9092", "describe the cluster", "Connection refused")

    monkeypatch.setattr("frazil.connector.preflight._ask", ask)

    assert main(["run", "--until-caught-up", "--timeout", "60", write("shop")]) == 0
    assert world.offsets() == [0, 1, 2]


def test_a_run_without_an_end_says_that_its_broker_is_away_and_starts(
    world: World, write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping = threading.Event()

    @contextmanager
    def stopped_when_landed() -> Iterator[threading.Event]:
        yield stopping

    def swap(request: str) -> None:
        if request == "read":
            stopping.set()

    monkeypatch.setattr(frazil.cli.app, "stop_signals", stopped_when_landed)
    world.cluster.on_request = swap

    assert main(["run", write("shop", bootstrap__servers=closed())]) == 0

    said = capsys.readouterr()
    assert re.search("cannot work yet.*Connection refused", said.out + said.err)
    assert world.offsets() == [0, 1, 2]
