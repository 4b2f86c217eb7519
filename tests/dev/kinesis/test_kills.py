"""What was acknowledged is there: when the server is killed while many write, and when every other answer is a fault."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from tests.dev.kinesis.support import client, client_at, make, records, running

from frazil.dev.kinesis import LocalKinesis
from frazil.testing.topics import wait_until

WRITERS = 4
SHARDS = 2


def all_records(kinesis: Any) -> list[Any]:
    return [record for shard in range(SHARDS) for record in records(kinesis, shard)]


def test_what_was_acknowledged_survives_a_kill_while_many_write(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    killed = threading.Event()

    def write(endpoint: str, writer: int) -> None:
        kinesis = client_at(endpoint)
        while not killed.is_set():
            many = [{"Data": b"x" * 500, "PartitionKey": f"{writer}-{number}"} for number in range(100)]
            try:
                answered = kinesis.put_records(StreamName="orders", Records=many)
            except (BotoCoreError, ClientError):
                return
            acknowledged.extend(each["SequenceNumber"] for each in answered["Records"])

    options = ("--stream", "orders", "--shards", str(SHARDS), "--no-quotas")
    with running(tmp_path, *options) as (process, endpoint, _), ThreadPoolExecutor(WRITERS) as writers:
        for writer in range(WRITERS):
            writers.submit(write, endpoint, writer)
        wait_until(lambda: len(acknowledged) > 5000, "5,000 records")
        process.kill()
        killed.set()

    with LocalKinesis(tmp_path, quotas=False) as local:
        found = [record["SequenceNumber"] for record in all_records(client(local))]
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)


def test_whoever_tries_again_gets_every_record_in_through_a_storm_of_faults(local: LocalKinesis) -> None:
    make(local, shards=SHARDS)
    local.faults.chance = random.Random(5)
    local.faults.throttle("PutRecords", each_record=True, fraction=0.2)
    local.faults.fail("PutRecords", fraction=0.1)
    local.faults.fail("PutRecords", fraction=0.1, after=True)
    local.faults.reset("PutRecords", fraction=0.1, after=True)
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        kinesis = client(local)
        left = [{"Data": b"%d-%d" % (writer, number), "PartitionKey": f"{number}"} for number in range(200)]
        while left:
            try:
                answered = kinesis.put_records(StreamName="orders", Records=left[:50])["Records"]
            except (BotoCoreError, ClientError):
                continue
            acknowledged.extend(each["SequenceNumber"] for each in answered if "SequenceNumber" in each)
            left = [record for record, each in zip(left, answered, strict=False) if "ErrorCode" in each] + left[50:]

    with ThreadPoolExecutor(WRITERS) as writers:
        for done in [writers.submit(write, writer) for writer in range(WRITERS)]:
            done.result()

    local.faults.clear()
    found = all_records(client(local))
    assert {record["Data"] for record in found} == {b"%d-%d" % (w, n) for w in range(WRITERS) for n in range(200)}
    assert set(acknowledged) <= {record["SequenceNumber"] for record in found}
    assert len(acknowledged) == WRITERS * 200
