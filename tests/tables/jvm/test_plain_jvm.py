"""A JVM without Spark: reached with its token alone, and gone with its starter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from frazil.errors import ProgramMissing
from frazil.tables.jvm.plain_jvm import PlainJvm
from frazil.tables.jvm.spark_home import spark_home

pytestmark = pytest.mark.slow

STARTER = """
import sys
from pathlib import Path
from frazil.tables.jvm.plain_jvm import PlainJvm
from frazil.tables.jvm.spark_home import spark_home

jvm = PlainJvm([f"{spark_home()}/jars/*"], (), Path(sys.argv[1]))
print(jvm.gateway.jvm.java.lang.ProcessHandle.current().pid(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def jvm(tmp_path: Path):
    started = PlainJvm([f"{spark_home()}/jars/*"], (), tmp_path / "logs" / "java.log")
    yield started
    started.end()


def process_of(jvm: PlainJvm) -> psutil.Process:
    return psutil.Process(jvm.gateway.jvm.java.lang.ProcessHandle.current().pid())


def test_it_listens_on_this_machine_alone_and_answers_nobody_without_the_token(jvm: PlainJvm):
    listening = [each for each in process_of(jvm).net_connections() if each.status == psutil.CONN_LISTEN]
    (address,) = {each.laddr.ip.removeprefix("::ffff:") for each in listening}
    told = jvm.gateway.gateway_parameters
    stranger = JavaGateway(gateway_parameters=GatewayParameters(port=told.port, auth_token="a guess"))

    assert address == "127.0.0.1"
    with pytest.raises(Py4JError):
        stranger.jvm.java.lang.System.nanoTime()


def test_its_token_is_neither_on_its_command_line_nor_in_its_environment(jvm: PlainJvm):
    process, token = process_of(jvm), jvm.gateway.gateway_parameters.auth_token

    assert token
    assert token not in " ".join(process.cmdline())
    assert token not in " ".join(process.environ().values())


def test_what_spark_submit_is_given_it_does_not_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.catalog.lake.token=hush pyspark-shell")
    jvm = PlainJvm([f"{spark_home()}/jars/*"], (), tmp_path / "log")
    try:
        assert "PYSPARK_SUBMIT_ARGS" not in process_of(jvm).environ()
    finally:
        jvm.end()


def test_it_is_gone_when_it_is_ended(jvm: PlainJvm):
    process = process_of(jvm)

    jvm.end()

    assert not process.is_running()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_it_does_not_outlive_its_starter(tmp_path: Path, end: signal.Signals):
    command = [sys.executable, "-c", STARTER, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        java = psutil.Process(int(starter.stdout.readline()))
        os.kill(starter.pid, end)

    assert psutil.wait_procs([java], timeout=30)[1] == []


def test_a_jvm_that_does_not_start_names_its_log(tmp_path: Path):
    log = tmp_path / "log"
    jvm = PlainJvm([str(tmp_path)], (), log)

    with pytest.raises(ProgramMissing, match=str(log)):
        _ = jvm.gateway
    jvm.end()

    assert "py4j.GatewayServer" in log.read_text()


def test_where_there_is_no_java_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(ProgramMissing, match="JAVA_HOME"):
        PlainJvm([str(tmp_path)], (), tmp_path / "log")
