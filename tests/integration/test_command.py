"""The `frazil` command as a user types it."""

from __future__ import annotations

import csv
import io
import json
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.support.connectors import JSON
from tests.support.processes import FRAZIL, Running, frazil, write_properties

from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce
from frazil.testing.topics import create_topic, wait_until

CHANNEL_FIELDS = [
    "connector", "channel", "topic", "partition", "table", "pipe", "offset_token", "latest_offset", "lag_records",
    "lag_seconds", "rows_inserted", "rows_parsed", "rows_error", "records_lost", "last_error", "state", "reason",
    "last_commit_time", "owner_epoch", "read_through", "retention_used", "application", "dropped",
    "set_aside", "refused", "rejects_wait", "output_files", "output_seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_properties(
        tmp_path_factory.mktemp("worker") / "worker.properties",
        bootstrap__servers=broker.bootstrap_servers,
        key__converter="org.apache.kafka.connect.storage.StringConverter",
        **JSON,
    )


@pytest.fixture(scope="module")
def landed(broker: KafkaBroker, worker: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which two connectors, one of them from a JSON file, have landed their topics."""
    home = tmp_path_factory.mktemp("landed")
    for topic in ("fruit", "veg-etables"):
        create_topic(broker.bootstrap_servers, topic, 2)
        produce(broker.bootstrap_servers, topic, [f'{{"id": {n}, "tags": ["a", {n}]}}' for n in range(10)], partition=1)
    first = write_properties(
        home / "fruit.properties",
        name="fruit-sink",
        connector__class="com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector",
        topics="fruit",
        snowflake__url__name="acme.snowflakecomputing.com",
        snowflake__private__key="MIIabc",
    )
    second = home / "vegetables.json"
    second.write_text(
        json.dumps({"name": "v", "config": {"connector.class": "frazil.KafkaConnector", "topics": "veg-etables"}})
    )
    done = frazil("run", "--worker", worker, "--home", home, "--until-caught-up", first, second)
    assert done.returncode == 0, done.stderr
    assert "MIIabc" not in done.stdout + done.stderr
    assert "snowflake.private.key" in done.stderr
    return home


def test_channels_shows_tokens_and_lag_while_nothing_runs(landed: Path, broker: KafkaBroker):
    produce(broker.bootstrap_servers, "fruit", ['{"id": 10}'], partition=1)

    done = frazil("channels", "--home", landed, "--format", "json")

    assert done.returncode == 0, done.stderr
    channels = json.loads(done.stdout)
    assert [list(channel) for channel in channels] == [CHANNEL_FIELDS] * 4
    fruit = next(each for each in channels if each["topic"] == "fruit" and each["partition"] == 1)
    assert fruit["channel"] == f"{fruit['connector']}_fruit_1"
    assert (fruit["table"], fruit["pipe"], fruit["state"], fruit["owner_epoch"]) == (
        "public.FRUIT",
        "FRUIT-STREAMING",
        "STOPPED",
        1,
    )
    assert (fruit["offset_token"], fruit["latest_offset"], fruit["lag_records"]) == ("9", 10, 1)
    assert fruit["lag_seconds"] > 0
    assert (fruit["rows_inserted"], fruit["rows_parsed"], fruit["rows_error"]) == (10, 10, 0)
    vegetables = next(each for each in channels if each["topic"] == "veg-etables" and each["partition"] == 1)
    assert vegetables["table"].startswith("public.VEG_ETABLES_")
    assert (vegetables["lag_records"], vegetables["lag_seconds"]) == (0, 0.0)


def test_pipes_are_listed_and_explained_with_records_of_the_topic_and_of_a_file(landed: Path, tmp_path: Path):
    sample = tmp_path / "sample.jsonl"
    sample.write_text('{"id": 7, "colour": "red"}\n\n{"id": "seven"}\n')

    listed = frazil("pipes", "--home", landed, "--format", "json")
    last = frazil("explain", "fruit", "--records", "2", "--home", landed, "--format", "json")
    tried = frazil("explain", "fruit", "--sample", sample, "--home", landed, "--format", "json")
    shown = frazil("explain", "FRUIT-STREAMING", "--sample", sample, "--home", landed)
    unknown = frazil("explain", "bread", "--home", landed)

    pipes = {each["pipe"]: each for each in json.loads(listed.stdout)}
    assert pipes["FRUIT-STREAMING"]["topics"] == ["fruit"]
    assert pipes["FRUIT-STREAMING"]["kind"] == "default"
    trials = json.loads(last.stdout)["trials"]
    assert [(each["partition"], each["becomes"]) for each in trials] == [(1, "row"), (1, "row")]
    assert all(each["row"]["id"] == json.loads(each["value"])["id"] for each in trials)
    first, second = json.loads(tried.stdout)["trials"]
    assert (first["row"]["id"], first["dropped"]) == (7, ["colour"])
    assert (second["becomes"], second["column"], second["row"]) == ("reject", "id", None)
    assert "'seven'" in second["reason"]
    assert "DuckDB runs:" in shown.stdout
    assert unknown.returncode == 1
    assert "FRUIT-STREAMING" in unknown.stderr


def test_sql_prints_rows_as_json_objects_csv_and_a_table(landed: Path):
    query = "select id, tags, record_metadata.offset as place from Fruit where id < 2 order by id"

    as_json = frazil("sql", "--home", landed, "--format", "json", query)
    as_csv = frazil("sql", "--home", landed, "--format", "csv", f"with x as ({query}) select id, place from x")
    refused = frazil("sql", "--home", landed, "delete from fruit")
    missing = frazil("sql", "--home", landed, "select * from bread")

    assert json.loads(as_json.stdout) == [
        {"ID": 0, "TAGS": ["a", 0], "PLACE": 0},
        {"ID": 1, "TAGS": ["a", 1], "PLACE": 1},
    ]
    assert list(csv.reader(io.StringIO(as_csv.stdout))) == [["ID", "PLACE"], ["0", "0"], ["1", "1"]]
    assert (refused.returncode, missing.returncode) == (1, 1)
    assert "DELETE" in refused.stderr
    assert "FRUIT" in missing.stderr


def test_a_wrong_configuration_is_reported_whole_with_exit_code_2(tmp_path: Path):
    file = write_properties(
        tmp_path / "wrong.properties",
        name="wrong",
        connector__class="frazil.KafkaConnector",
        topics="a",
        errors__tolerance="some",
        transforms="x",
        snowflake__private__key="SECRET",
    )

    done = frazil("run", file)

    assert done.returncode == 2
    for key in ("errors.tolerance", "transforms", "value.converter", "bootstrap.servers"):
        assert key in done.stderr
    assert "SECRET" not in done.stderr
    assert frazil("validate", file).returncode == 2


def test_a_connector_stops_cleanly_on_sigterm_and_a_failed_one_ends_the_process_with_1(
    worker: Path, broker: KafkaBroker, tmp_path: Path
):
    for topic in ("good-ones", "bad-ones"):
        create_topic(broker.bootstrap_servers, topic)
    produce(broker.bootstrap_servers, "bad-ones", ["no json"])
    files = [
        write_properties(
            tmp_path / f"{topic}.properties", name=topic, topics=topic, connector__class="frazil.KafkaConnector"
        )
        for topic in ("good-ones", "bad-ones")
    ]
    log = tmp_path / "log"
    running = Running([FRAZIL, "run", "--worker", str(worker), "--home", str(tmp_path / "home"), *map(str, files)], log)
    running.until_it_says("[5015]")
    produce(broker.bootstrap_servers, "good-ones", ['{"n": 1}'])
    wait_until(lambda: (tmp_path / "home/warehouse/public").exists(), "tables to appear")

    running.process.send_signal(signal.SIGTERM)

    assert running.ended(12) == 1
    said = log.read_text()
    assert "topic bad-ones, partition 0, offset 0" in said
    assert "Traceback" not in said


def test_a_running_connector_can_be_watched_and_a_sigterm_to_all_processes_ends_it_with_0(
    worker: Path, broker: KafkaBroker, tmp_path: Path
):
    create_topic(broker.bootstrap_servers, "quiet")
    produce(broker.bootstrap_servers, "quiet", ['{"n": 1}', '{"n": 2}'])
    file = write_properties(
        tmp_path / "quiet.properties", name="quiet", topics="quiet", connector__class="frazil.KafkaConnector"
    )
    home = tmp_path / "home"
    running = Running([FRAZIL, "run", "--worker", str(worker), "--home", str(home), str(file)], tmp_path / "log")
    running.until_it_says("changed columns")

    counted = frazil("sql", "--home", home, "--format", "json", "select sum(n) as total from quiet")
    watched = frazil("channels", "--home", home, "--format", "json")
    # A service manager signals the JVM and the Python workers as well.
    process = psutil.Process(running.process.pid)
    family = [*reversed(process.children(recursive=True)), process]
    for each in family:
        with suppress(psutil.NoSuchProcess):  # it ended with another one
            each.send_signal(signal.SIGTERM)

    assert running.ended(10) == 0
    assert json.loads(counted.stdout) == [{"TOTAL": 3}]
    (channel,) = json.loads(watched.stdout)
    assert (channel["state"], channel["offset_token"], channel["lag_records"]) == ("RUNNING", "1", 0)
    assert "Traceback" not in (tmp_path / "log").read_text()
