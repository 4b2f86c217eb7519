"""`frazil channels release` as a user types it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from tests.dev.kinesis.support import make
from tests.support.connectors import KAFKA_JSON
from tests.support.processes import write_properties

from frazil.cli import main
from frazil.config import load
from frazil.connector.registry import Registry
from frazil.connector.states import State
from frazil.dev.kinesis import LocalKinesis


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as server:
        yield server


@pytest.fixture
def connector(local: LocalKinesis, tmp_path: Path) -> Path:
    """The file of a connector with a consumer of two streams, which is registered with the first."""
    kinesis = make(local, "orders")
    make(local, "returns")
    stream = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    for name in ("orders-app", "somebody-else"):
        kinesis.register_stream_consumer(StreamARN=stream, ConsumerName=name)
    return write_properties(
        tmp_path / "orders.properties",
        name="orders-app",
        connector__class="frazil.KinesisConnector",
        frazil__kinesis__streams="orders,returns",
        frazil__kinesis__region=local.region,
        frazil__kinesis__endpoint=local.endpoint,
        frazil__kinesis__access__key__id="local",
        frazil__kinesis__secret__access__key="local",
        frazil__kinesis__consumer__type="ENHANCED_FAN_OUT",
        frazil__home=str(tmp_path / "home"),
    )


def test_the_consumers_of_a_stopped_connector_are_deregistered_and_nobody_elses(
    local: LocalKinesis, connector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type_in("--connector", str(connector), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"stream": "orders", "consumer": "orders-app", "released": True},
        {"stream": "returns", "consumer": "orders-app", "released": False},
    ]
    assert registered(local) == ["somebody-else"]

    assert type_in("--connector", str(connector)) == 0
    assert "The consumer orders-app was not registered with orders." in capsys.readouterr().out


def test_a_connector_that_runs_keeps_its_consumers(
    local: LocalKinesis, connector: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = Registry(tmp_path / "home").recorder(load(connector, None), connector, None)
    note(State.RUNNING)
    try:
        code = type_in("--connector", str(connector))
    finally:
        note(State.STOPPED)

    assert (code, "[consumers_in_use]" in capsys.readouterr().err) == (1, True)
    assert registered(local) == ["orders-app", "somebody-else"]


def test_a_connector_for_kafka_has_no_consumers_to_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_properties(
        tmp_path / "c.properties", name="shop", topics="orders", bootstrap__servers="localhost:9092", **KAFKA_JSON
    )

    assert type_in("--connector", str(file)) == 2
    assert "Give the file of a frazil.KinesisConnector" in capsys.readouterr().err


def registered(local: LocalKinesis) -> list[str]:
    """The consumers of the stream `orders`."""
    kinesis = local.client()
    stream = kinesis.describe_stream_summary(StreamName="orders")["StreamDescriptionSummary"]["StreamARN"]
    return [each["ConsumerName"] for each in kinesis.list_stream_consumers(StreamARN=stream)["Consumers"]]


def type_in(*arguments: str) -> int:
    """Run the command in this process; its exit code."""
    try:
        return main(["channels", "release", *arguments])
    finally:
        structlog.reset_defaults()  # it logs to the standard error of the moment
