"""How fast a connector reads streams, whether it reads all that shards give, and how old records are in the table.

    python bench/kinesis.py [--only throughput quotas latency sending] [--runs 3] [--json FILE]

The server is a local stream in a process of its own, on one core, and is in nobody's figures. `throughput` reads a
backlog of 1 KB records that has no quotas, `quotas` a backlog of shards that give 2 MiB a second each, and `latency`
follows a producer of 200 records a second. `sending` lands the backlog of `throughput` twice, the second time with an
output stream. docs/performance.md has figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, Final

import lake
from common import CONSOLE, Columns, Job, Subject, described, machine, medians, plain, show
from frazil.dev.kinesis.orders_producer import OrdersToStream
from frazil.dev.orders import order, text
from latency import moments, wait_until_started
from local_stream import BATCH, STREAM, client, served
from workload import sized

BYTES: Final = 1_000
"""Of a record's data."""

GIVEN: Final = 2 * (1 << 20)
"""Bytes of data and partition keys that a shard gives in a second."""

OUTPUT: Final = "bench-output"
"""The stream that accepted records go on to."""

ARRIVED: Final = "epoch_ms(kinesisMetadata.approximateArrival)"

COLUMNS: Mapping[str, Columns] = {
    "throughput": {
        "run": ("run", str),
        "records/s": ("records_s", plain(0)),
        "MB/s": ("mb_s", plain(1)),
        "wall s": ("wall_s", plain(2)),
        "CPU-s": ("cpu_s", plain(2)),
        "MB per CPU-s": ("mb_cpu_s", plain(1)),
        "commits": ("commits", plain(0)),
        "right": ("right", lambda found: "yes" if found else "NO"),
    },
    "quotas": {
        "run": ("run", str),
        "seconds": ("seconds", plain(1)),
        "MB/s": ("mb_s", plain(2)),
        "of what shards give": ("share", lambda found: f"{found:.1%}"),
        "commits": ("commits", plain(0)),
        "cores": ("cores", plain(2)),
        "behind": ("behind", lambda found: "all the time" if found else "NOT ALL THE TIME"),
    },
    "latency": {
        "run": ("run", str),
        "records": ("records", plain(0)),
        "p50 ms": ("p50", plain(0)),
        "p95 ms": ("p95", plain(0)),
        "max ms": ("max", plain(0)),
        "cores": ("cores", plain(2)),
        "right": ("right", lambda found: "yes" if found else "NO"),
    },
    "sending": {
        "run": ("run", str),
        "landed MB/s": ("mb_s", plain(1)),
        "with an output": ("mb_s_with", plain(1)),
        "ratio": ("ratio", plain(2)),
        "sent MB/s": ("sent_mb_s", plain(1)),
        "right": ("right", lambda found: "yes" if found else "NO"),
    },
}


def main() -> None:
    asked = arguments()
    results: dict[str, Any] = {"machine": machine()}
    CONSOLE.print(described(results["machine"]))
    for name in asked.only:
        results[name] = []
        for run in range(1, asked.runs + 1):
            directory = Path(tempfile.mkdtemp(prefix="frazil-bench-"))
            try:
                row = {"run": run, **MEASURED[name](asked, directory)}
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            results[name].append(row)
        middle = {**medians(results[name]), "run": "median"}
        show(name, COLUMNS[name], [*results[name], middle])
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED), metavar="NAME")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--records", type=int, default=500_000, help="of the backlog without quotas")
    parser.add_argument("--shards", type=int, default=16, help="that it is in")
    parser.add_argument("--cores", type=int, default=1, help="Spark's local[N]")
    parser.add_argument(
        "--seconds", type=int, default=60, help="how long rates under quotas and latencies are measured"
    )
    parser.add_argument("--warmup", type=int, default=10, help="seconds before that, once it has begun to commit")
    parser.add_argument("--rate", type=int, default=200, help="records per second whose latency is measured")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    return parser.parse_args()


def throughput(asked: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Land a backlog that may be read as fast as it can."""
    with served(directory / "stream", asked.shards) as (_, endpoint):
        return backlog(asked, directory, endpoint, {})


def sending(asked: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Land that backlog without an output stream, then with one."""
    with served(directory / "one", asked.shards) as (_, endpoint):
        alone = backlog(asked, directory / "alone", endpoint, {})
    with served(directory / "two", asked.shards) as (_, endpoint):
        client(endpoint).create_stream(StreamName=OUTPUT, ShardCount=1)
        beside = backlog(asked, directory / "beside", endpoint, {"frazil.output.stream": OUTPUT})
        count, seconds = arrivals(endpoint)
    return {
        "mb_s": alone["mb_s"],
        "mb_s_with": beside["mb_s"],
        "ratio": beside["mb_s"] / alone["mb_s"],
        "sent_mb_s": count * BYTES / seconds / 1e6,
        "right": alone["right"] and beside["right"],
    }


def backlog(asked: argparse.Namespace, directory: Path, endpoint: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Land a backlog that may be read as fast as it can."""
    load(endpoint, asked.records)
    settings = {"frazil.kinesis.read.rate": str(1 << 30), "frazil.commit.interval.ms": "0", **settings}
    job = job_for(endpoint, directory, asked, asked.shards, asked.records, settings)
    with Subject("subject_kinesis.py", job) as subject:
        answer = subject.finish()
    began, size = answer.cycles[0]["began"], asked.records * BYTES
    wall, cpu = answer.ended - began, subject.meter.cpu(began, answer.ended)
    wanted = (asked.records, asked.records, asked.records * (asked.records - 1) // 2)
    return {
        "records_s": asked.records / wall,
        "mb_s": size / wall / 1e6,
        "wall_s": wall,
        "cpu_s": cpu,
        "mb_cpu_s": size / cpu / 1e6,
        "commits": len(answer.cycles),
        "right": lake.streamed(Path(job.home)) == wanted,
        "cycles": answer.cycles,
    }


def quotas(asked: argparse.Namespace, directory: Path, shards: int = 8) -> dict[str, Any]:
    """Land a backlog that gets no shorter than quotas allow while it is measured."""
    seconds = asked.seconds + asked.warmup + 20
    records = shards * seconds * GIVEN // BYTES
    with served(directory / "stream", shards) as (_, endpoint):
        load(endpoint, records)
    with served(directory / "stream", shards, quotas=True) as (_, endpoint):
        job = job_for(endpoint, directory, asked, shards, records, {}, catch_up=0)
        with Subject("subject_kinesis.py", job) as subject:
            wait_until_started(subject, Path(job.home))
            time.sleep(asked.warmup)
            since = time.time()
            time.sleep(asked.seconds)
            until = time.time()
            answer = subject.finish()
    counted = [cycle for cycle in answer.cycles if since <= cycle["committed"] < until]
    lasted = counted[-1]["committed"] - counted[0]["committed"]
    keys = sum(len(str(number)) for number in range(0, records, 1000)) / len(range(0, records, 1000))
    rate = sum(cycle["records"] for cycle in counted[1:]) * (BYTES + keys) / lasted
    return {
        "seconds": lasted,
        "mb_s": rate / 1e6,
        "share": rate / (shards * GIVEN),
        "commits": len(counted),
        "cores": subject.meter.cpu(since, until) / (until - since),
        "behind": sum(cycle["records"] for cycle in answer.cycles) < records,
        "cycles": answer.cycles,
    }


def latency(asked: argparse.Namespace, directory: Path, shards: int = 4) -> dict[str, Any]:
    """Follow a producer of steady rate, and look at every record of the measured time."""
    with served(directory / "stream", shards, quotas=True) as (_, endpoint):
        job = job_for(endpoint, directory, asked, shards, 0, {})
        with Subject("subject_kinesis.py", job) as subject:
            producer = OrdersToStream(client(endpoint), STREAM, asked.rate, "bench").start()
            wait_until_started(subject, Path(job.home))
            time.sleep(asked.warmup)
            since = time.time()
            time.sleep(asked.seconds)
            until = time.time()
            produced = len(producer.stop())
            answer = subject.finish()
    times = lake.latencies(Path(job.home), moments(answer), since, until, ARRIVED)
    p50, p95, most = times["latency"]
    wanted = (produced, produced, produced * (produced - 1) // 2)
    return {
        "records": times["records"],
        "p50": p50,
        "p95": p95,
        "max": most,
        "cores": subject.meter.cpu(since, until) / (until - since),
        "right": lake.streamed(Path(job.home)) == wanted,
        "cycles": answer.cycles,
    }


MEASURED: Final[Mapping[str, Callable[[argparse.Namespace, Path], dict[str, Any]]]] = {
    "throughput": throughput,
    "quotas": quotas,
    "latency": latency,
    "sending": sending,
}


def arrivals(endpoint: str) -> tuple[int, float]:
    """How many records came to the output stream, and the seconds from the first to the last."""
    kinesis, found = client(endpoint), []
    iterator = kinesis.get_shard_iterator(
        StreamName=OUTPUT, ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]
    while (answer := kinesis.get_records(ShardIterator=iterator))["Records"]:
        found += [each["ApproximateArrivalTimestamp"].timestamp() for each in answer["Records"]]
        iterator = answer["NextShardIterator"]
    return len(found), found[-1] - found[0]


def job_for(
    endpoint: str,
    directory: Path,
    asked: argparse.Namespace,
    shards: int,
    records: int,
    settings: Mapping[str, str],
    **options: int,
) -> Job:
    """What the subject is told."""
    return Job(endpoint, STREAM, shards, records, BYTES, str(directory / "home"), asked.cores, dict(settings), options)


def load(endpoint: str, records: int, processes: int = 2) -> None:
    """Put orders of `BYTES` bytes each, in processes of their own."""
    CONSOLE.log(f"loading {records:,} orders")
    share = -(-records // processes)
    firsts = range(0, records, share)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        list(pool.map(_put, [(endpoint, first, min(first + share, records)) for first in firsts]))


def _put(given: tuple[str, int, int]) -> None:
    endpoint, first, last = given
    kinesis, rng = client(endpoint), Random(first)
    notes = text(rng, 1 << 20)
    for begin in range(first, last, BATCH):
        numbers = range(begin, min(begin + BATCH, last))
        documents = [sized(order(number, rng), BYTES, notes, rng.randrange((1 << 20) - BYTES)) for number in numbers]
        records = [
            {"Data": document, "PartitionKey": str(number)} for number, document in zip(numbers, documents, strict=True)
        ]
        answer = kinesis.put_records(StreamName=STREAM, Records=records)
        if answer["FailedRecordCount"]:
            raise RuntimeError(f"records failed: {answer['Records']}")


if __name__ == "__main__":
    main()
