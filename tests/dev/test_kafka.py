"""The local broker: it serves, it survives, and it never outlives its owner."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient
from tests.support.brokers import short_lived

from frazil.dev.directory import empty
from frazil.dev.errors import BrokerFailed, DirectoryInUse, NotABrokerDirectory, PortInUse
from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import offsets, produce, read
from frazil.testing.topics import create_topic, wait_until

pytestmark = pytest.mark.slow

QUICK_REJOIN = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""After a kill, a broker may only come back when its old session has ended."""


def test_a_broker_gives_back_what_was_produced(broker: KafkaBroker, topic: str) -> None:
    produce(broker.bootstrap_servers, topic, [b"first", b"second"])

    assert [message.value() for message in read(broker.bootstrap_servers, topic)] == [b"first", b"second"]


def test_a_broker_makes_no_topic_nobody_asked_for(broker: KafkaBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    assert admin.list_topics("never_made", 10).topics["never_made"].error is not None
    assert "never_made" not in admin.list_topics(timeout=10).topics


def test_records_survive_a_kill(tmp_path: Path) -> None:
    with short_lived(tmp_path / "a b", properties=QUICK_REJOIN) as broker:
        create_topic(broker.bootstrap_servers, "t")
        produce(broker.bootstrap_servers, "t", [b"1", b"2"])
        broker.kill()
        assert not broker.running

        broker.start()
        assert offsets(broker.bootstrap_servers, "t") == [0, 1]


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, properties={"log.retention.hours": "soon"})

    with pytest.raises(BrokerFailed, match=r"retention\.hours"):
        broker.start()
    assert not broker.running


def test_a_directory_in_use_is_refused_and_its_broker_not_disturbed(broker: KafkaBroker, topic: str) -> None:
    with pytest.raises(DirectoryInUse, match=str(broker.directory)):
        KafkaBroker(broker.directory).start()
    with pytest.raises(DirectoryInUse):
        empty(broker.directory)

    assert produce(broker.bootstrap_servers, topic, [b"still here"]) == [0]


def test_a_port_in_use_is_refused_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        with pytest.raises(PortInUse, match=str(port)):
            KafkaBroker(tmp_path, port).start()


def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = run_command(tmp_path)
    assert "127.0.0.1:" in ready_line(command)

    command.send_signal(signal.SIGTERM)

    assert command.wait(30) == 0


def test_the_broker_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    command = run_command(tmp_path)
    ready_line(command)
    brokers = [child for child in psutil.Process(command.pid).children() if "kafka.Kafka" in child.cmdline()]
    assert len(brokers) == 1

    command.kill()
    command.wait()

    wait_until(lambda: not brokers[0].is_running(), "the broker to end")


def test_only_the_directory_of_a_broker_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").write_text("chapter one")

    with pytest.raises(NotABrokerDirectory, match=str(tmp_path)):
        empty(tmp_path)
    assert (tmp_path / "thesis.odt").exists()

    (tmp_path / "server.properties").touch()
    empty(tmp_path)
    assert not tmp_path.exists()


def run_command(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(command_line(directory), stdout=subprocess.PIPE, text=True)


def ready_line(command: subprocess.Popen[str]) -> str:
    assert command.stdout is not None
    return command.stdout.readline()


def command_line(directory: Path) -> list[str]:
    call = f"kafka(port=0, directory=Path({str(directory)!r}))"
    return [sys.executable, "-c", f"from pathlib import Path; from frazil.dev.command import kafka; exit({call})"]
