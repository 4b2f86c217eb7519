"""`frazil channels` and the commands below it in processes of their own: one small JVM, and no Spark in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
import psutil
import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.integration.conftest import Connect
from tests.support.connectors import KAFKA_JSON
from tests.support.disks import require_told, unsynced
from tests.support.processes import FRAZIL, Running, frazil, write_properties
from tests.support.rest import RestCatalog
from tests.support.sessions import Seen
from tests.support.waiting import caught_up, until_state

from frazil.dev.kafka import KafkaBroker
from frazil.dev.ports import LOOPBACK
from frazil.errors import Fenced
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

pytestmark = pytest.mark.slow

SECRET = "hush-hush"
RECALL_EVERY = "frazil.cycle.protocol._RECALL_EVERY"


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect: Connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


@pytest.fixture
def name(desk: Desk, topic: str, broker: KafkaBroker) -> str:
    """A connector that has landed ten records and is stopped."""
    produce(broker.bootstrap_servers, topic, [f'{{"n": {n}}}' for n in range(10)])
    connector = desk.run(topic, f"c-{topic}")
    caught_up(connector)
    connector.stop()
    return f"c-{topic}"


def test_channels_are_shown_and_no_spark_is_started(name: str, topic: str, lake: Path, tmp_path: Path):
    seen = Seen()
    log = lake / "logs" / "spark.log"
    log.unlink(missing_ok=True)  # other tests share the home
    command = [FRAZIL, "channels", "--home", str(lake), "--format", "json"]
    channels = json.loads(watched(command, seen, tmp_path / "said"))

    (channel,) = [each for each in channels if each["topic"] == topic]
    assert (channel["offset_token"], channel["latest_offset"], channel["lag_records"]) == ("9", 9, 0)
    assert any("py4j.GatewayServer" in each for each in seen.commands)
    assert not any("SparkSubmit" in each for each in seen.commands)
    assert not log.exists()


def test_a_reset_is_seen_by_spark_and_fences_the_connector_that_runs(
    desk: Desk, topic: str, lake: Path, broker: KafkaBroker, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    produce(broker.bootstrap_servers, topic, [f'{{"n": {n}}}' for n in range(10)])
    running = desk.run(topic, f"r-{topic}")
    caught_up(running)

    refused = frazil("channels", "reset", f"r-{topic}", "--to-earliest", "--home", lake)
    done = frazil("channels", "reset", f"r-{topic}", "--to-offset", "7", "--even-if-owned", "--home", lake)

    assert (refused.returncode, done.returncode) == (1, 0), done.stderr
    assert "--even-if-owned" in refused.stderr
    until_state(running, "FENCED")
    assert isinstance(running.error, Fenced)
    table = f"frazil.public.{topic.upper()}"
    (text,) = [
        each.text
        for each in spark.sql(f"SELECT summary['frazil.reset'] AS text FROM {table}.snapshots").collect()
        if each.text
    ]
    assert json.loads(text)["tokens"] == {f"{topic}-0": {"from": "9", "to": "6"}}
    caught_up(desk.run(topic, f"r-{topic}"))
    assert sorted(row.n for row in spark.sql(f"SELECT n FROM {table}").collect()) == [*range(7), 7, 7, 8, 8, 9, 9]


def test_a_table_takes_over_tokens(name: str, topic: str, lake: Path, spark: SparkSession):
    table = f"frazil.public.{topic.upper()}"
    spark.sql(f"CREATE TABLE {table}_COPY USING iceberg AS SELECT * FROM {table}")

    done = frazil("channels", "adopt", f"{topic}_copy", "--from", topic, "--home", lake, "--format", "json")
    nothing = frazil("channels", "prune", name, "--home", lake)

    assert (done.returncode, nothing.returncode) == (0, 0), done.stderr + nothing.stderr
    assert json.loads(done.stdout)["offset_tokens"] == {topic: ["9"]}
    assert "nothing to drop" in nothing.stdout


def test_what_a_command_writes_to_a_local_disk_is_synced_and_has_no_checksum_file(name: str, topic: str, lake: Path):
    require_told(lake)
    directory = lake / "warehouse" / "public" / topic.upper() / "metadata"
    before = {*directory.iterdir()}

    done = frazil("channels", "reset", name, "--to-offset", "3", "--home", lake)

    assert done.returncode == 0, done.stderr
    written = {*directory.iterdir()} - before
    assert {".json", ".avro"} <= {each.suffix for each in written}
    assert not [each for each in written if each.suffix == ".crc"]
    assert [each for each in written if unsynced(each)] == []


def test_a_rest_catalog_is_opened_with_a_secret_that_nobody_sees(
    spark: SparkSession, tmp_path: Path, topic: str, connect: Connect, broker: KafkaBroker, add_catalog
):
    behind = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path / 'catalog.db'}?busy_timeout=20000",
        "jdbc.schema-version": "V1",
        "warehouse": f"file://{tmp_path / 'warehouse'}",
    }
    with RestCatalog(spark, behind).serving() as address:
        produce(broker.bootstrap_servers, topic, ['{"n": 1}', '{"n": 2}'])
        connector = connect(topic, **{"frazil.catalog": add_catalog({"type": "rest", "uri": address})})
        caught_up(connector)
        connector.stop()
        key = connector.settings.key
        worker = write_properties(
            tmp_path / "worker.properties",
            spark__sql__catalog__lake="org.apache.iceberg.spark.SparkCatalog",
            spark__sql__catalog__lake__type="rest",
            spark__sql__catalog__lake__uri=address,
            spark__sql__catalog__lake__token=SECRET,
            bootstrap__servers=broker.bootstrap_servers,
        )
        file = write_properties(
            tmp_path / "c.properties",
            name=connector.settings.name,
            topics=topic,
            **KAFKA_JSON,
        )
        home = ["--home", str(tmp_path / "home"), "--worker", str(worker), "--format", "json"]
        seen = Seen()
        (channel,) = json.loads(watched([FRAZIL, "channels", *home], seen, tmp_path / "said"))
        done = frazil("channels", "reset", key, "--to-earliest", "--even-if-owned", "--connector", file, *home)
        again = frazil("channels", *home)

    assert (channel["offset_token"], channel["table"]) == ("1", f"public.{topic.upper()}")
    assert done.returncode == 0, done.stderr
    assert json.loads(again.stdout)[0]["offset_token"] == "-1"
    assert any("py4j.GatewayServer" in each for each in seen.commands)
    assert seen.showing(SECRET) == ([], [])
    assert not (tmp_path / "home" / "logs" / "spark.log").exists()


def test_a_catalog_that_does_not_answer_is_said_to_be_unavailable(tmp_path: Path):
    with closed_port() as port:
        worker = write_properties(
            tmp_path / "worker.properties",
            spark__sql__catalog__lake="org.apache.iceberg.spark.SparkCatalog",
            spark__sql__catalog__lake__type="rest",
            spark__sql__catalog__lake__uri=f"http://{LOOPBACK}:{port}",
        )
        done = frazil("channels", "--home", tmp_path, "--worker", worker)

    assert done.returncode == 1
    assert "[catalog_unavailable]" in done.stderr
    assert "Spark is started" not in done.stderr


def test_a_catalog_that_needs_spark_says_so_and_gets_it(tmp_path: Path):
    worker = write_properties(
        tmp_path / "worker.properties",
        spark__sql__catalog__spark_catalog="org.apache.iceberg.spark.SparkSessionCatalog",
        spark__sql__catalog__spark_catalog__type="hadoop",
        spark__sql__catalog__spark_catalog__warehouse=f"file://{tmp_path}/warehouse",
    )

    done = frazil("channels", "--home", tmp_path, "--worker", worker)

    assert done.returncode == 0, done.stderr
    assert "Spark is started, which takes longer" in done.stderr
    assert "SparkSessionCatalog" in done.stderr
    assert (tmp_path / "logs" / "spark.log").exists()


def test_watching_shows_a_document_a_line_and_ends_with_ctrl_c(name: str, topic: str, lake: Path, tmp_path: Path):
    said = tmp_path / "said"
    running = Running([FRAZIL, "channels", "--watch", "--home", str(lake), "--format", "json"], said)
    wait_until(lambda: said.read_text().count(f'"{topic}"') >= 2, "two looks")
    (java,) = [each for each in psutil.Process(running.process.pid).children(recursive=True) if "java" in each.name()]

    running.process.send_signal(signal.SIGINT)

    assert running.ended(20) == 130
    assert not java.is_running()
    documents = [json.loads(line) for line in said.read_text().splitlines() if line.startswith("[")]
    assert all(topic in [each["topic"] for each in document] for document in documents)
    assert "Traceback" not in said.read_text()


def test_no_jvm_outlives_a_command_that_is_killed(name: str, topic: str, lake: Path, tmp_path: Path):
    said = tmp_path / "said"
    running = Running([FRAZIL, "channels", "--watch", "--home", str(lake), "--format", "json"], said)
    running.until_it_says(topic)
    left = psutil.Process(running.process.pid).children(recursive=True)
    assert [each for each in left if "java" in each.name()]

    os.kill(running.process.pid, signal.SIGKILL)

    running.ended()
    assert psutil.wait_procs(left, timeout=30)[1] == []


def test_a_broker_that_does_not_answer_is_named_and_the_tokens_are_shown(name: str, topic: str, lake: Path):
    ours = next(each for each in (lake / "connectors").iterdir() if orjson.loads(each.read_bytes())["name"] == name)
    kept = ours.read_bytes()
    with silent_port() as port:
        entry = orjson.loads(kept)
        silent = {"bootstrap.servers": f"{LOOPBACK}:{port}"}
        ours.write_bytes(orjson.dumps({**entry, "connector": None, "public_client": silent}))
        done = frazil("channels", "--home", lake, "--format", "json")
    ours.write_bytes(kept)

    assert done.returncode == 0, done.stderr
    (channel,) = [each for each in json.loads(done.stdout) if each["topic"] == topic]
    assert (channel["offset_token"], channel["lag_records"]) == ("9", None)
    assert f"connector={name}" in done.stderr
    assert "no answer within 3 s" in done.stderr


def watched(command: list[str], seen: Seen, said: Path) -> str:
    """What a command prints; the processes that it starts are watched until it ends."""
    # To a file: a pipe that nobody reads meanwhile would have a long answer wait for ever.
    with said.open("w") as out, subprocess.Popen(command, stdout=out) as running:
        process = psutil.Process(running.pid)
        while running.poll() is None:
            with suppress(psutil.Error):
                seen.look([process, *process.children(recursive=True)])
            with suppress(subprocess.TimeoutExpired):
                running.wait(0.05)
    return said.read_text()


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses connections, and that nobody else gets."""
    with socket.socket() as reserved:
        reserved.bind((LOOPBACK, 0))
        yield reserved.getsockname()[1]
