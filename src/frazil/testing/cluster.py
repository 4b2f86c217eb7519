"""A real Spark standalone cluster on this machine: a master and workers, each a process of its own.

    with SparkCluster(Path("cluster")) as cluster:
        frazil run --master {cluster.master} …

It is the Spark inside pyspark, bound to the loopback address. Should whoever started it die, a small watcher ends it.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from frazil.dev.jars import pyspark_jars
from frazil.dev.java import require_java
from frazil.dev.kafka import watch
from frazil.dev.ports import LOOPBACK, free_port
from frazil.testing.topics import wait_until

_DEPLOY: Final = "org.apache.spark.deploy"
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_PATIENCE: Final = 60.0
"""Seconds the cluster may take to start, or a process of it to end."""


class SparkCluster:
    """A master and workers; applications come to `master`.

    Args:
        directory: Where logs and the workers' directories go; made if missing.
        workers: How many workers.
        cores: Cores of each worker.
        memory: Memory of each worker, as Spark writes it.
        environment: Variables of the workers, which their executors inherit, instead of this process's; the Java that
            Spark finds in it has to be one.
    """

    def __init__(
        self,
        directory: Path,
        workers: int = 2,
        cores: int = 1,
        memory: str = "1g",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self._cores = cores
        self._memory = memory
        self._wanted = workers
        self._environment = dict(os.environ if environment is None else environment)
        self._port = free_port()
        self._page = free_port(self._port)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._watchers: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """What goes into `spark.master`."""
        return f"spark://{LOOPBACK}:{self._port}"

    def start(self) -> Self:
        """Start the cluster and return when all workers have joined.

        Raises:
            ProgramMissing: there is no Java.
            TimeoutError: it did not start; the logs in its directory say why.
        """
        require_java()
        self.directory.mkdir(parents=True, exist_ok=True)
        page = ["--host", LOOPBACK, "--port", str(self._port), "--webui-port", str(self._page)]
        self._spawn("master", "master.Master", *page)
        try:
            wait_until(lambda: self._alive() is not None, f"Spark's master, see {self.directory}", _PATIENCE)
            for _ in range(self._wanted):
                self.add_worker()
            wait_until(lambda: self._alive() == self._wanted, f"Spark's workers, see {self.directory}", _PATIENCE)
        except BaseException:
            self.stop()
            raise
        return self

    def add_worker(self) -> int:
        """Start another worker, without waiting until it has joined, and return its process id."""
        size = ["--cores", str(self._cores), "--memory", self._memory]
        where = ["--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(self.directory / "work")]
        return self._spawn(f"worker-{len(self._processes)}", "worker.Worker", *where, *size, self.master)

    def workers(self) -> list[psutil.Process]:
        """The workers' processes, oldest first."""
        return [psutil.Process(each.pid) for each in self._processes[1:] if each.poll() is None]

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks, of all applications."""
        return [each for worker in self.workers() for each in _children(worker) if _runs_tasks(each)]

    def stop(self) -> None:
        """End all of its processes, by their ids."""
        for watcher in self._watchers:
            watcher.kill()
            watcher.communicate()
        executors = self.executors()
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for executor in psutil.wait_procs(executors, timeout=_PATIENCE / 4)[1]:
            executor.kill()
        self._processes.clear()
        self._watchers.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, name: str, role: str, *arguments: str) -> int:
        spark = pyspark_jars().parent
        environment = {
            **self._environment,
            "SPARK_HOME": str(spark),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
        }
        with (self.directory / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(spark / "bin" / "spark-class"), f"{_DEPLOY}.{role}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
                cwd=self.directory,
            )
        self._processes.append(process)
        self._watchers.append(watch(process.pid))
        return process.pid

    def _alive(self) -> int | None:
        """How many workers the master has; None while it does not answer."""
        page = http.client.HTTPConnection(LOOPBACK, self._page, timeout=5)
        try:
            page.request("GET", "/json/")
            return int(json.load(page.getresponse())["aliveworkers"])
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            page.close()


def _children(worker: psutil.Process) -> list[psutil.Process]:
    """A worker's; one that ends while it is looked at has none."""
    try:
        return [*worker.children()]
    except psutil.NoSuchProcess:
        return []


def _runs_tasks(process: psutil.Process) -> bool:
    """Whether it is an executor; one that ends while it is looked at is none, and takes no other with it."""
    try:
        return _EXECUTOR in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
