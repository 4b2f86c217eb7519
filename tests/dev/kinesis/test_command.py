"""`frazil dev kinesis`: it serves, says how to use it, stops when told, and loses nothing when killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.dev.kinesis.support import client_at, data, put, records, refuses, running

from frazil.cli import main
from frazil.dev.errors import DirectoryUnusable, NotABrokerDirectory
from frazil.dev.kinesis import LocalKinesis
from frazil.dev.kinesis.command import kinesis as run_kinesis
from frazil.testing.kinesis import FaultsAt


def test_the_command_serves_its_streams_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with running(tmp_path, "--stream", "orders", "--shards", "3") as (process, endpoint, following):
        shards = client_at(endpoint).list_shards(StreamName="orders")["Shards"]
        process.send_signal(signal.SIGTERM)

        assert process.wait(30) == 0
    assert len(shards) == 3
    assert f"AWS_ENDPOINT_URL_KINESIS={endpoint}" in following


def test_records_survive_a_kill(tmp_path: Path) -> None:
    with running(tmp_path, "--stream", "orders") as (process, endpoint, _):
        put(client_at(endpoint), b"1", b"2")
        process.kill()
        process.wait()

    with LocalKinesis(tmp_path) as local:
        assert data(records(local.client())) == [b"1", b"2"]


def test_faults_are_set_on_a_server_of_another_process(tmp_path: Path) -> None:
    with running(tmp_path, "--stream", "orders", "--no-quotas") as (_, endpoint, _):
        faults = FaultsAt(endpoint)
        fault = faults.kms("KMSDisabledException", "PutRecord")

        with refuses("KMSDisabledException"):
            put(client_at(endpoint), b"x")
        assert [(each["number"], each["happened"]) for each in faults.all()] == [(fault.number, 1)]
        faults.remove(fault.number)
        put(client_at(endpoint), b"x")
        faults.fail("PutRecord", times=5)
        faults.clear()
        assert faults.all() == []


def test_only_the_directory_of_a_local_stream_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").write_text("chapter one")

    with pytest.raises(NotABrokerDirectory, match=str(tmp_path)):
        run_kinesis(0, tmp_path, fresh=True)

    assert (tmp_path / "thesis.odt").exists()


@pytest.mark.parametrize(
    "options", [("--stream", "a b"), ("--stream", "a", "--shards", "0"), ("--stream", "a", "--shards", "20001")]
)
def test_a_stream_that_cannot_be_is_told_at_once(
    tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", "kinesis", "--port", "0", "--dir", str(tmp_path), *options]) == 2

    assert f"--stream: '{options[1]}' with --shards" in capsys.readouterr().err


@pytest.mark.parametrize("server", ["kafka", "kinesis"])
def test_no_server_listens_on_a_port_that_is_none(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", server, "--port", "65536"]) == 2

    assert "--port" in capsys.readouterr().err


def test_records_cannot_be_kept_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(DirectoryUnusable, match=f"cannot keep its records in {tmp_path}/file: File exists"):
        run_kinesis(0, tmp_path / "file")


@pytest.mark.skipif(shutil.which("aws") is None, reason="the AWS CLI is not installed")
def test_the_aws_cli_works_unchanged(tmp_path: Path) -> None:
    with LocalKinesis() as local:
        environment = {
            **os.environ,
            "AWS_ENDPOINT_URL_KINESIS": local.endpoint,
            "AWS_DEFAULT_REGION": local.region,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        (tmp_path / "value").write_bytes(b"hello")

        def aws(*arguments: str) -> str:
            called = ["aws", "kinesis", *arguments, "--output", "text"]
            return subprocess.run(called, env=environment, check=True, capture_output=True, text=True).stdout

        aws("create-stream", "--stream-name", "orders", "--shard-count", "1")
        local.engine.settles_within = 0.0
        value = f"fileb://{tmp_path / 'value'}"
        aws("put-record", "--stream-name", "orders", "--partition-key", "k", "--data", value)
        shard = ["--shard-id", "shardId-000000000000", "--shard-iterator-type", "TRIM_HORIZON"]
        iterator = aws("get-shard-iterator", "--stream-name", "orders", *shard).strip()

        assert "aGVsbG8=" in aws("get-records", "--shard-iterator", iterator)
