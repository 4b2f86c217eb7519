"""How long a person waits for `frazil channels` and what it costs, beside another version of frazil.

    python bench/commands.py [--runs 5] [--before DIRECTORY]

`--before` names the `src` directory of another checkout, whose commands take turns with ours. Everything runs as from
a shell, against a broker and the embedded catalog with a landed table; the first run of each is not counted.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil
from rich.table import Table

import frazil
from common import CONSOLE
from frazil.dev.kafka import KafkaBroker
from frazil.testing.records import produce
from frazil.testing.topics import create_topic

FRAZIL: Final = str(Path(sys.executable).with_name("frazil"))
TOPIC: Final = "shop.orders"
NAME: Final = "shop"
PR_SET_CHILD_SUBREAPER: Final = 36
COMMANDS: Final = (
    ("channels",),
    ("channels", "--format", "json"),
    ("channels", "reset", NAME, "--to-latest", "--dry-run"),
    ("channels", "reset", NAME, "--to-latest"),
)


def main() -> None:
    asked = arguments()
    # What a process leaves behind when it ends becomes our child.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sources = {"now": Path(frazil.__file__).parents[1]} | ({"before": asked.before} if asked.before else {})
    shown = Table("command", "version", "seconds", "CPU seconds")
    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory, KafkaBroker(Path(directory, "broker")) as up:
        home = landed(Path(directory), up.bootstrap_servers)
        for command in COMMANDS:
            times = {version: [run(command, home, source)] for version, source in sources.items()}
            for _ in range(asked.runs):
                for version, source in sources.items():
                    times[version].append(run(command, home, source))
            for version, found in times.items():
                wall, cpu = (statistics.median(each) for each in zip(*found[1:], strict=True))
                shown.add_row(f"frazil {' '.join(command)}", version, f"{wall:.2f}", f"{cpu:.2f}")
    CONSOLE.print(shown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=Path, help="the src directory of another checkout")
    return parser.parse_args()


def landed(directory: Path, bootstrap_servers: str) -> Path:
    """A home whose connector has landed a topic of four partitions."""
    create_topic(bootstrap_servers, TOPIC, 4)
    for partition in range(4):
        produce(bootstrap_servers, TOPIC, [f'{{"id": {n}}}' for n in range(1000)], partition=partition)
    file = directory / "shop.properties"
    file.write_text(
        f"name={NAME}\nconnector.class=frazil.KafkaConnector\ntopics={TOPIC}\nbootstrap.servers={bootstrap_servers}\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
    )
    home = directory / "home"
    subprocess.run([FRAZIL, "run", "--until-caught-up", "--home", str(home), str(file)], check=True)
    return home


def run(command: tuple[str, ...], home: Path, source: Path) -> tuple[float, float]:
    """Seconds on the clock and of CPU, those of the JVM included."""
    known = {each.pid for each in psutil.Process().children()}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(
        [FRAZIL, *command, "--home", str(home)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    wall = time.monotonic() - began
    reap(known)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reap(known: set[int]) -> None:
    """Wait for the processes that a command left to us, such as Spark's JVM, so that their CPU time counts."""
    for each in psutil.Process().children():
        if each.pid not in known:
            os.waitpid(each.pid, 0)


if __name__ == "__main__":
    main()
