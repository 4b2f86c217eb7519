"""Run a subject in a process of its own, watch what it costs, and show what came out.

A *subject* is a program that lands a topic: frazil, plain Spark, or the limit. It is told its job in a JSON file and
answers with another one. The clock and the CPU meter are here and not in the subjects, so that all are measured alike.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Self

import psutil
from rich.console import Console
from rich.table import Table

from frazil.dev.kafka import tail

SAMPLING: Final = 0.1
"""Seconds between two looks at a subject's processes."""

GONE_WITHIN: Final = 10.0
"""Seconds a subject's processes may take to end once it has answered."""

LIBRARIES: Final = ("frazil", "pyspark", "duckdb", "pyarrow", "confluent-kafka")


@dataclass(frozen=True, slots=True)
class Job:
    """What a subject is told."""

    bootstrap_servers: str
    topic: str
    partitions: int
    records: int
    """Records in the topic; 0 while a producer still adds to them."""

    record_bytes: float
    """Average size of a value."""

    home: str
    """A fresh directory: the catalog, the warehouse and the answer go there."""

    cores: int
    settings: Mapping[str, str] = field(default_factory=dict)
    """For frazil: connector properties over the usual ones."""

    options: Mapping[str, int] = field(default_factory=dict)
    """What only one subject understands."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a subject tells."""

    ended: float
    """When its last commit was done, in seconds since the epoch."""

    files: Sequence[str] = ()
    """The files it wrote, if it has no table that tells."""

    cycles: Sequence[Mapping[str, Any]] = ()
    """What it did, commit by commit."""


def told() -> Job:
    """In a subject: the job."""
    return Job(**json.loads(Path(sys.argv[1]).read_text()))


def tell(job: Job, answer: Answer) -> None:
    """In a subject: answer, and stay until the meter has looked once more."""
    _answer_file(job).write_text(json.dumps(asdict(answer)))
    time.sleep(3 * SAMPLING)


class Subject:
    """A running subject; as a context manager it leaves none of its processes behind.

    Args:
        program: a file beside this one.
        job: what it is told.
    """

    def __init__(self, program: str, job: Job) -> None:
        self._program = program
        self._job = job
        home = Path(job.home)
        home.mkdir(parents=True)
        told = home / "job.json"
        told.write_text(json.dumps(asdict(job)))
        self._log = home / "subject.log"
        self.started = time.time()
        """When its process was started, in seconds since the epoch."""

        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name(program)), str(told)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=home,
                start_new_session=True,  # Ctrl-C reaches us alone; we end it by its process ids
            )
        self.meter = Meter(self._process.pid)

    def __enter__(self) -> Self:
        self.meter.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.meter.stop()
        alive = psutil.wait_procs(self.meter.processes, timeout=GONE_WITHIN)[1] if self._process.poll() == 0 else []
        for process in alive or self.meter.processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()

    @property
    def ended(self) -> bool:
        """Whether its process has."""
        return self._process.poll() is not None

    def finish(self, timeout: float = 1800) -> Answer:
        """Close its input, which asks a subject that follows a producer to end, and wait for its answer.

        Raises:
            RuntimeError: it failed; the message has the end of its log.
        """
        if self._process.stdin:
            self._process.stdin.close()
        if self._process.wait(timeout) != 0:
            raise RuntimeError(f"{self._program} failed:\n{tail(self._log, 40)}")
        return Answer(**json.loads(_answer_file(self._job).read_text()))


class Meter:
    """Samples the CPU and the memory of a process and of all that descend from it.

    What a child had used when it ended is in its parent's account, so nothing is lost with short-lived processes.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._times = [time.time()]
        self._used = [0.0]
        self._known: dict[int, psutil.Process] = {pid: self._root}
        self.peak = 0
        """Most bytes resident in all processes at once, shared pages counted in each."""

        self._highest: dict[int, tuple[str, int]] = {}
        """What each process is, and the most bytes it ever had resident."""

        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def processes(self) -> list[psutil.Process]:
        """All processes seen so far that still run; the numbers of those that ended may be others' by now."""
        return [process for process in self._known.values() if process.is_running()]

    @property
    def peaks(self) -> dict[str, list[int]]:
        """The most bytes each process ever had resident, by what it is: `driver`, `jvm` or `worker`."""
        found: dict[str, list[int]] = {}
        for role, peak in self._highest.values():
            found.setdefault(role, []).append(peak)
        return {role: sorted(peaks, reverse=True) for role, peaks in found.items()}

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling."""
        self._stopping.set()
        self._thread.join()

    def cpu(self, since: float, until: float) -> float:
        """CPU-seconds, user and system, between two moments; interpolated between samples."""
        return self._at(until) - self._at(since)

    def _run(self) -> None:
        while not self._stopping.wait(SAMPLING):
            try:
                processes = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self._known.update({process.pid: process for process in processes})
            now, used, resident = time.time(), 0.0, 0
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
                    used += sum(process.cpu_times()[:4])  # its own and its ended children's, user and system
                    resident += process.memory_info().rss
                    self._look_at_peak(process)
            if used >= self._used[-1]:  # less: the subject is ending, and takes its account with it
                self._times.append(now)
                self._used.append(used)
            self.peak = max(self.peak, resident)

    def _look_at_peak(self, process: psutil.Process) -> None:
        highest = next((line for line in _lines(f"/proc/{process.pid}/status") if line.startswith("VmHWM")), None)
        if highest is None:
            return
        if process.pid == self._root.pid:
            role = "driver"
        else:
            role = "worker" if "pyspark.worker" in process.cmdline() else "jvm"
        self._highest[process.pid] = (role, int(highest.split()[1]) * 1024)

    def _at(self, moment: float) -> float:
        after = bisect.bisect_left(self._times, moment)
        if after == 0 or after == len(self._times):
            return self._used[min(after, len(self._used) - 1)]
        begin, end = self._times[after - 1], self._times[after]
        share = (moment - begin) / (end - begin)
        return self._used[after - 1] + share * (self._used[after] - self._used[after - 1])


def machine() -> dict[str, Any]:
    """What a reader must know about where figures were measured."""
    models = {line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")}
    return {
        "cores": os.cpu_count(),
        "cpu": ", ".join(sorted(models)) or platform.machine(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "stolen_before": round(psutil.cpu_times_percent(interval=1).steal),
        **{name: version(name) for name in LIBRARIES},
    }


def described(found: Mapping[str, Any]) -> str:
    """The machine in one line."""
    libraries = ", ".join(f"{name} {found[name]}" for name in LIBRARIES)
    return (
        f"{found['cores']} cores, {found['cpu']}, {found['memory_gb']} GB; Python {found['python']}, {libraries}; "
        f"before the start: load {found['load_before']}, {found['stolen_before']} % of the time stolen by others"
    )


Columns = Mapping[str, tuple[str, Callable[[Any], str]]]
"""By heading: the key of a row, and how its value is written."""


def show(title: str, columns: Columns, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table, missing values blank; the first column is text."""
    CONSOLE.print(f"\n[bold]{title}[/bold]")
    table = Table()
    for number, heading in enumerate(columns):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*("" if row.get(key) is None else form(row[key]) for key, form in columns.values()))
    CONSOLE.print(table)


def medians(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row of the medians of those columns that are numbers in every row."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, int | float) and not isinstance(value, bool)]
    return {key: statistics.median(row[key] for row in rows) for key in numbers}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that is not below `share` of them."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def plain(digits: int) -> Callable[[Any], str]:
    """Write a number with that many digits after the point."""
    return lambda value: f"{value:,.{digits}f}"


CONSOLE: Final = Console(width=None if sys.stdout.isatty() else 150, log_path=False)


def _answer_file(job: Job) -> Path:
    return Path(job.home) / "answer.json"


def _lines(path: str) -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from Path(path).read_text().splitlines()
