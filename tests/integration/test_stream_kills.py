"""kill -9 of a connector on a stream while its shards are split and merged: each record once, each key in order."""

from __future__ import annotations

import itertools
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import orjson
import pytest
from tests.support.connectors import JSON
from tests.support.processes import FRAZIL, Running, frazil, write_properties

from frazil.dev.kinesis import LocalKinesis
from frazil.faults import Point
from frazil.testing import iceberg
from frazil.testing.stream_oracle import verify_stream
from frazil.testing.topics import wait_until

KEYS = [f"customer {number}" for number in range(20)]


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as running:
        yield running


class Producer:
    """Puts records without pause, from a thread of its own, and counts those that were acknowledged."""

    def __init__(self, kinesis: LocalKinesis, stream: str) -> None:
        self.sent: Counter[str] = Counter()
        self._client = kinesis.client("kinesis")
        self._stream = stream
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        assert self._failure is None

    def more(self) -> None:
        """Wait until each key has had another record."""
        before = dict(self.sent)
        wait_until(lambda: all(self.sent[key] > before.get(key, 0) for key in KEYS), "records of each key", 30)

    def _run(self) -> None:
        try:
            for key in itertools.cycle(KEYS):
                if self._stopping.wait(0.005):
                    return
                value = orjson.dumps({"key": key, "number": self.sent[key], "text": "x" * 100})
                self._client.put_record(StreamName=self._stream, Data=value, PartitionKey=key)
                self.sent[key] += 1
        except Exception as error:  # noqa: BLE001 (the test raises it)
            self._failure = error


class Survivors:
    """A stream, and the connector on it that is killed again and again."""

    def __init__(self, kinesis: LocalKinesis, directory: Path, **keys: str) -> None:
        self.stream = f"survivors_{uuid4().hex[:8]}"
        kinesis.provide(self.stream, 2)
        self.producer = Producer(kinesis, self.stream)
        self._client = kinesis.client("kinesis")
        self._directory = directory
        self._runs = itertools.count()
        self.home = directory / "home"
        self.file = write_properties(
            directory / "survivors.properties",
            name="survivors",
            **{
                "connector.class": "frazil.KinesisConnector",
                "frazil.kinesis.streams": self.stream,
                "frazil.kinesis.region": kinesis.region,
                "frazil.kinesis.endpoint": kinesis.endpoint,
                "frazil.kinesis.access.key.id": "local",
                "frazil.kinesis.secret.access.key": "local",
                "frazil.kinesis.poll.interval.ms": "200",
                "frazil.kinesis.discovery.interval.ms": "200",
                "frazil.commit.interval.ms": "200",
                "frazil.home": str(self.home),
                **JSON,
                **keys,
            },
        )

    def killed_at(self, point: Point, hit: int = 1, during: Callable[[], object] = lambda: None) -> None:
        """Run the connector until it is killed at a point; meanwhile do something."""
        log = self._log()
        command = [sys.executable, "-m", "frazil.testing.run", "--crash-at", point, "--hit", str(hit), "--"]
        running = Running([*command, "run", str(self.file)], log)
        during()
        assert running.ended(180) == -9, f"{point} was not reached: {log.read_text()}"

    def killed_after(self, rows: int, during: Callable[[], object]) -> None:
        """Run the connector, do something once it has opened its table, and kill it in the midst of what follows."""
        log = self._log()
        running = Running([FRAZIL, "run", str(self.file)], log)
        running.until_it_says("opened a table")
        during()
        before = sum(self.producer.sent.values())
        wait_until(lambda: sum(self.producer.sent.values()) > before + rows, f"{rows} more records", 60)
        running.kill()

    def split(self) -> None:
        """Split the shard with the most hash keys."""
        shard = max(self._open(), key=lambda each: _high(each) - _low(each))
        middle = str((_low(shard) + _high(shard)) // 2)
        self._client.split_shard(StreamName=self.stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=middle)
        self._settle()

    def merge(self) -> None:
        """Merge the first two shards."""
        one, other = sorted(self._open(), key=_low)[:2]
        self._client.merge_shards(
            StreamName=self.stream, ShardToMerge=one["ShardId"], AdjacentShardToMerge=other["ShardId"]
        )
        self._settle()

    def require_all(self) -> None:
        """Let a connector land the rest, and judge the table."""
        self.producer.stop()
        last = frazil("run", "--until-caught-up", self.file)
        assert last.returncode == 0, last.stderr
        metadata = iceberg.current_metadata(self.home / "catalog.db", "public", self.stream.upper())
        report = verify_stream(metadata, self.stream, self.producer.sent)
        assert report.clean, report
        assert report.rows == sum(self.producer.sent.values())

    def _log(self) -> Path:
        return self._directory / f"run-{next(self._runs)}.log"

    def _open(self) -> list[dict]:
        shards = self._client.list_shards(StreamName=self.stream)["Shards"]
        return [each for each in shards if "EndingSequenceNumber" not in each["SequenceNumberRange"]]

    def _settle(self) -> None:
        def is_active() -> bool:
            found = self._client.describe_stream_summary(StreamName=self.stream)["StreamDescriptionSummary"]
            return bool(found["StreamStatus"] == "ACTIVE")

        wait_until(is_active, "an active stream", 10)


def _low(shard: dict) -> int:
    return int(shard["HashKeyRange"]["StartingHashKey"])


def _high(shard: dict) -> int:
    return int(shard["HashKeyRange"]["EndingHashKey"])


@pytest.mark.slow
def test_kills_while_shards_are_split_and_merged(kinesis: LocalKinesis, tmp_path: Path) -> None:
    world = Survivors(kinesis, tmp_path)
    world.producer.start()
    world.producer.more()
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")

    world.killed_at("during_open")
    world.killed_at("after_stage")
    world.killed_at("before_swap", 3, during=world.split)
    world.merge()
    world.killed_at("after_swap", 1)
    for _ in range(3):
        world.split()
        world.producer.more()
    world.killed_at("before_acknowledge", 2)
    world.killed_at("after_plan", 4, during=world.merge)
    world.killed_after(random.Random(seed).randrange(1, 400), during=world.split)

    world.require_all()


@pytest.mark.slow
def test_kills_of_one_that_starts_at_the_latest_record(kinesis: LocalKinesis, tmp_path: Path) -> None:
    world = Survivors(kinesis, tmp_path, **{"frazil.kinesis.initial.position": "LATEST"})

    world.killed_at("after_plan")
    world.producer.start()
    world.producer.more()
    world.split()
    world.killed_at("before_swap", 2)
    world.killed_at("after_swap", 2, during=world.split)

    world.require_all()
