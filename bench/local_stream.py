"""How much a local stream takes and gives: records put by boto3 in processes of their own, then read back.

    python bench/local_stream.py [--records 200000] [--bytes 1024] [--shards 4] [--clients 2] [--json FILE]

The server has one core of the machine, and no quotas. What a client costs is not the server's, so the records that a
second of the server's CPU is enough for stand beside those that came in a second. docs/performance.md has figures.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import boto3
import psutil

from common import CONSOLE, Columns, described, machine, plain, show

STREAM: Final = "bench"
BATCH: Final = 500
"""Records of one PutRecords; the API takes no more."""

COLUMNS: Columns = {
    "what": ("what", str),
    "records": ("records", plain(0)),
    "records/s": ("rate", plain(0)),
    "MB/s": ("megabytes", plain(1)),
    "records per CPU-s of the server": ("per_cpu", plain(0)),
}


def main() -> None:
    asked = arguments()
    where = machine()
    CONSOLE.print(described(where))
    with tempfile.TemporaryDirectory() as directory, served(Path(directory), asked.shards) as (server, endpoint):
        share = asked.records // asked.clients
        putting = [(put, endpoint, share, asked.bytes)] * asked.clients
        reading = [(read, endpoint, f"shardId-{shard:012}", 0) for shard in range(asked.shards)]
        with ProcessPoolExecutor(max(asked.clients, asked.shards), get_context("spawn")) as clients:
            list(clients.map(_idle, range(max(asked.clients, asked.shards))))
            rows = [
                measured(name, server, asked.bytes, lambda work=work: sum(clients.map(_call, work)))
                for name, work in (("put", putting), ("read", reading))
            ]
    if rows[0]["records"] != rows[1]["records"]:
        raise SystemExit(f"{rows[0]['records']} were put, {rows[1]['records']} read")
    show(f"{asked.bytes} bytes a record, {asked.shards} shards, {asked.clients} clients", COLUMNS, rows)
    if asked.json:
        asked.json.write_text(json.dumps({"machine": where, "rows": rows}, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--bytes", type=int, default=1024, help="of a record's data")
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


@contextmanager
def served(directory: Path, shards: int, *, quotas: bool = False) -> Iterator[tuple[psutil.Process, str]]:
    """A server on one core, and its endpoint."""
    limits = "--quotas" if quotas else "--no-quotas"
    options = ["--port", "0", "--dir", str(directory), limits, "--stream", STREAM, "--shards", str(shards)]
    command = [sys.executable, "-c", "from frazil.cli import main; main()", "dev", "kinesis", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        ready = process.stdout.readline() if process.stdout else ""
        server = psutil.Process(process.pid)
        server.cpu_affinity([0])
        try:
            yield server, ready.split("ready at ")[1].split(";")[0]
        finally:
            process.terminate()


def measured(what: str, server: psutil.Process, size: int, work: Callable[[], int]) -> dict[str, Any]:
    """How many records a second `work` put or read, and what they cost the server."""
    began, spent = time.perf_counter(), cpu(server)
    records = work()
    seconds, spent = time.perf_counter() - began, cpu(server) - spent
    return {
        "what": what,
        "records": records,
        "rate": records / seconds,
        "megabytes": records * size / seconds / 1e6,
        "per_cpu": records / spent,
    }


def cpu(server: psutil.Process) -> float:
    times = server.cpu_times()
    return float(times.user + times.system)


def put(endpoint: str, records: int, size: int) -> int:
    kinesis, data = client(endpoint), bytes(size)
    for first in range(0, records, BATCH):
        keys = range(first, min(first + BATCH, records))
        answer = kinesis.put_records(
            StreamName=STREAM, Records=[{"Data": data, "PartitionKey": str(key)} for key in keys]
        )
        if answer["FailedRecordCount"]:
            raise SystemExit(f"records failed: {answer['Records']}")
    return records


def read(endpoint: str, shard: str, _: int) -> int:
    kinesis, found, behind = client(endpoint), 0, 1
    iterator = kinesis.get_shard_iterator(StreamName=STREAM, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    following = iterator["ShardIterator"]
    while behind:
        answer = kinesis.get_records(ShardIterator=following)
        found, following, behind = (
            found + len(answer["Records"]),
            answer["NextShardIterator"],
            answer["MillisBehindLatest"],
        )
    return found


def client(endpoint: str) -> Any:
    return boto3.client(
        "kinesis",
        "us-east-1",
        endpoint_url=endpoint,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106
    )


def _call(work: tuple[Any, ...]) -> int:
    function, *rest = work
    return int(function(*rest))


def _idle(_: int) -> None:
    # Each process of the pool has started and imported boto3 before anything is measured.
    time.sleep(0.5)


if __name__ == "__main__":
    main()
