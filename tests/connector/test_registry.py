"""What a home remembers of its connectors: never in their way, and never believed longer than it is true."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import World, settings
from tests.memory import connector
from tests.support.disks import SmallDisk

from frazil.config import load
from frazil.connector import machine, recording
from frazil.connector.recording import Recorder
from frazil.connector.registered import STALE, Registered, parse
from frazil.connector.registry import Registry
from frazil.testing.topics import wait_until


def entry(**known: Any) -> Registered:
    """What this process would have noted a moment ago of a connector that runs in it."""
    now = Registered(
        name="shop",
        key="SHOP",
        source="kafka",
        public_client={"bootstrap.servers": "b:9092", "isolation.level": "read_committed"},
        connector=None,
        worker=None,
        state="RUNNING",
        pid=os.getpid(),
        started=psutil.Process().create_time(),
        host=socket.gethostname(),
        heard=time.time(),
    )
    return replace(now, **known)


def test_it_is_noted_as_whom_a_connector_reads_streams(tmp_path: Path) -> None:
    keys = {"frazil.kinesis.streams": "orders", "frazil.kinesis.region": "eu-central-1"}
    named = {"name": "shop", "frazil.kinesis.application.name": "Shop's"}
    reading = load({"connector.class": "frazil.KinesisConnector", **named, **keys})

    for each in (reading, settings()):
        Registry(tmp_path).recorder(each, None, None)("STOPPED")

    noted = {key: found.application for key, found in Registry(tmp_path).connectors().items()}
    assert noted == {reading.key: "Shop's", "SHOP": None}


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes are written again very soon."""
    monkeypatch.setattr(recording, "BEAT", 0.01)


@pytest.fixture
def disk(tmp_path: Path):
    with SmallDisk.mounted(tmp_path / "home") as mounted:
        yield mounted


def known(home: Path) -> Registered:
    return Registry(home).connectors()["SHOP"]


def until(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, what, 30)


def test_the_state_is_noted_and_read_back_with_what_reaches_the_brokers(tmp_path: Path):
    record = Registry(tmp_path).recorder(settings(), tmp_path / "shop.properties", None)
    record("RUNNING")

    found = known(tmp_path)
    assert found.current_state() == "RUNNING"
    assert (found.name, found.host, found.pid) == (settings().name, socket.gethostname(), os.getpid())
    assert found.connector == str(tmp_path / "shop.properties")
    record("FAILED")
    assert known(tmp_path).current_state() == "FAILED"


def test_a_full_disk_is_logged_once_and_the_state_is_noted_when_there_is_room(often: None, disk: SmallDisk):
    record = Registry(disk.root).recorder(settings(), None, None)
    disk.fill()

    with capture_logs() as logs:
        for state in ("OPENING", "RUNNING", "RETRYING"):
            record(state)
        warned = [each["event"] for each in logs if each["log_level"] == "warning"]
        disk.empty()
        until(lambda: "SHOP" in Registry(disk.root).connectors(), "the state to be noted")

    assert known(disk.root).state == "RETRYING"
    assert len(warned) == 1
    assert "it goes on" in warned[0]
    record("STOPPED")


def test_an_end_that_met_a_full_disk_is_noted_later(often: None, disk: SmallDisk):
    record = Registry(disk.root).recorder(settings(), None, None)
    disk.fill()
    record("FAILED")
    disk.empty()

    until(lambda: "SHOP" in Registry(disk.root).connectors(), "the end to be noted")
    assert known(disk.root).state == "FAILED"


def test_a_connector_goes_on_while_the_disk_of_its_home_is_full(often: None, disk: SmallDisk):
    world = World()
    world.cluster.create_topic("orders")
    world.produce(3)
    ingesting = connector(settings(frazil__commit__interval__ms="10"), world.cluster, world.catalog)
    ingesting.on_state(Registry(disk.root).recorder(ingesting.settings, None, None))
    disk.fill()

    ingesting.start()
    landed = ingesting.wait_until_caught_up(30)
    disk.empty()
    ingesting.stop()

    assert landed
    assert world.offsets() == [0, 1, 2]
    until(lambda: "SHOP" in Registry(disk.root).connectors(), "the end to be noted")
    assert known(disk.root).state == "STOPPED"


def test_a_state_is_noted_again_as_long_as_it_lasts_and_not_after_the_end(often: None, tmp_path: Path):
    record = Registry(tmp_path).recorder(settings(), None, None)
    record("RUNNING")
    first = known(tmp_path).heard

    until(lambda: known(tmp_path).heard != first, "the note to be renewed")
    record("STOPPED")
    ended = known(tmp_path)
    record("RUNNING")
    begun = known(tmp_path).heard
    until(lambda: known(tmp_path).heard != begun, "the note to be renewed")
    record("STOPPED")

    assert ended.state == "STOPPED"


def test_a_state_that_was_not_noted_again_for_long_is_not_believed():
    assert entry().current_state() == "RUNNING"
    assert entry(heard=time.time() - STALE - 1).current_state() == "UNKNOWN"
    assert entry(heard=time.time() - STALE - 1, state="FENCED").current_state() == "FENCED"


def test_a_connector_whose_process_is_gone_has_stopped_whatever_its_file_says():
    child = subprocess.Popen(["true"])
    started = psutil.Process(child.pid).create_time()
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, "a process that nobody has waited for")

    assert entry(pid=child.pid, started=started).current_state() == "STOPPED"
    child.wait()
    assert entry(pid=child.pid, started=started).current_state() == "STOPPED"
    assert entry(started=psutil.Process().create_time() - 60).current_state() == "STOPPED"


def test_of_a_connector_on_another_machine_only_what_it_notes_is_known():
    elsewhere = {"host": "elsewhere", "pid": 1, "started": 0.0}

    assert entry(**elsewhere).current_state() == "RUNNING"
    assert entry(**elsewhere, heard=time.time() - STALE - 1).current_state() == "STOPPED"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "TORN"}', '{"key": "TORN", "pid": "x"}', "\0\0\0\0"])
def test_a_file_that_is_torn_is_passed_over_and_told_of(tmp_path: Path, text: str):
    Registry(tmp_path).recorder(settings(), None, None)("STOPPED")
    torn = tmp_path / "connectors" / "TORN.json"
    torn.write_text(text)

    with capture_logs() as logs:
        found = Registry(tmp_path).connectors()

    assert list(found) == ["SHOP"]
    assert [each["file"] for each in logs] == [str(torn)]


def test_files_of_earlier_and_later_versions_are_read(tmp_path: Path):
    Registry(tmp_path).recorder(settings(), None, None)("STOPPED")
    file = tmp_path / "connectors" / "SHOP.json"
    written = orjson.loads(file.read_bytes())
    earlier = {key: value for key, value in written.items() if key not in ("host", "heard")}
    file.write_bytes(orjson.dumps({**earlier, "state": "RUNNING", "mood": "fine"}))

    assert known(tmp_path).current_state() == "RUNNING"


MAP, REGEX = "snowflake__topic2table__map", "snowflake__topic2table__map__regex__replacement"
VERBATIM = "snowflake__compatibility__enable__autogenerated__table__name__sanitization"
PIPES = r'orders:Raw,"shop\..*":"The Shop"'


@pytest.mark.parametrize(
    ("keys", "topic", "expected"),
    [
        ({}, "orders", "ORDERS"),
        ({}, "shop.orders", "SHOP_ORDERS_570428637"),
        ({VERBATIM: "false"}, "shop.orders", "shop.orders"),
        ({MAP: PIPES}, "orders", "RAW"),
        ({MAP: PIPES}, "shop.orders", "The Shop"),
        ({MAP: PIPES}, "returns", "RETURNS"),
        ({MAP: r'"shop\.(.*)":of_$1', REGEX: "true"}, "shop.orders", "OF_ORDERS"),
        ({VERBATIM: "false"}, "a/b", "a/b"),
    ],
)
def test_what_a_topic_is_mapped_to_is_known_when_the_connector_has_ended(
    tmp_path: Path, keys: dict[str, str], topic: str, expected: str
):
    Registry(tmp_path).recorder(settings(**keys), None, None)("STOPPED")

    assert known(tmp_path).mapped(topic) == expected


def test_processes_of_one_number_on_two_machines_share_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorders = []
    for host in ("one", "two"):
        monkeypatch.setattr(machine, "host", lambda host=host: host)
        recorders.append(Registry(tmp_path).recorder(settings(), None, None))

    def note(record: Recorder) -> None:
        for _ in range(30):
            record("RUNNING")

    with capture_logs() as logs, ThreadPoolExecutor(2) as pool:
        done = [pool.submit(note, each) for each in recorders]
        while not all(each.done() for each in done):
            for path in (tmp_path / "connectors").glob("*.json"):
                assert parse(path.read_bytes()).host in ("one", "two")
        for each in recorders:
            each("STOPPED")

    assert [each for each in logs if each["log_level"] == "warning"] == []
    assert [*(tmp_path / "connectors").iterdir()] == [tmp_path / "connectors" / "SHOP.json"]


@pytest.mark.parametrize(("ago", "state"), [(1, "RUNNING"), (STALE + 1, "STOPPED")])
def test_a_connector_in_another_container_is_believed_for_a_minute(ago: float, state: str) -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    found = entry(space="another boot-1", pid=child.pid, heard=time.time() - ago)

    assert found.current_state() == state
