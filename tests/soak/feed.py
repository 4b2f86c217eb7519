"""What keeps coming in: a steady stream of good records, and everything else a topic can hold.

Good records come from `frazil.testing.produce`, in a process of its own. Records that fit no table, tombstones, and
transactions, some of which are aborted, come from a thread here. What became of each is asked of the broker at the end
(`tests.soak.census`), so nothing has to be known about what was under way when the broker died.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException, Message, Producer
from tests.soak.habitat import STEADY, TOPIC, Habitat

from frazil.testing.produce import record

_EVERY = 0.2
"""Seconds between two handfuls of odd records."""

_ODD = (b"no JSON", b'"a text"', b'{"seq": "not a number"}', b"\xff\xfe", None, None)
"""Values that fit no table, and tombstones."""

_PATIENCE = 20.0
"""Seconds a step of a transaction may take."""


class Feed:
    """Fills the steady partitions with good records, all with odd ones, and the last with transactions."""

    def __init__(self, habitat: Habitat, rate: float, seed: int) -> None:
        """Feed `rate` good records a second."""
        self._habitat = habitat
        self._bootstrap = habitat.broker.bootstrap_servers
        self._rate = rate
        self._seed = seed
        self._stopping = threading.Event()
        self._odd = threading.Thread(target=self._produce_odd, name="odd records", daemon=True)
        self._transactions = threading.Thread(target=self._produce_transactions, name="transactions", daemon=True)
        self._steady: subprocess.Popen[bytes] | None = None

    @property
    def acknowledged(self) -> Path:
        """The file with `partition,offset,seq` of every good record that was acknowledged; whole once stopped."""
        return self._habitat.directory / "acknowledged.csv"

    @property
    def _committed(self) -> Path:
        """The same of transactions, as long as the other file is another process's."""
        return self._habitat.directory / "committed.csv"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "frazil.testing.produce", "--bootstrap", self._bootstrap]
        command += ["--topic", TOPIC, "--partitions", str(STEADY), "--rate", str(self._rate)]
        with (self._habitat.directory / "producer.log").open("wb") as log:
            self._steady = subprocess.Popen([*command, "--wal", str(self.acknowledged)], stdout=log, stderr=log)
        self._odd.start()
        self._transactions.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._steady is not None and self._steady.poll() is None:
            self._steady.kill()
        self._stopping.set()

    def stop(self) -> bool:
        """Stop, wait for what is in flight, and say whether all went well."""
        assert self._steady is not None
        self._steady.terminate()
        self._stopping.set()
        for thread in (self._odd, self._transactions):
            thread.join()
        done = self._steady.wait(120) == 0
        if self._committed.exists():
            with self.acknowledged.open("a") as file:
                file.write(self._committed.read_text())
        return done

    def _produce_odd(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "enable.idempotence": True, "log_level": 0})
        draw = Random(self._seed)
        # A table gets its columns from its first records: odd ones among them would make columns that all of them fit.
        while not self._habitat.watch.landings() and not self._stopping.wait(_EVERY):
            pass
        while not self._stopping.wait(_EVERY):
            value = draw.choice(_ODD)
            for partition in range(STEADY + 1):
                producer.produce(TOPIC, value, partition=partition)
            producer.poll(0)
        producer.flush()

    def _produce_transactions(self) -> None:
        draw = Random(self._seed)
        producer: Producer | None = None
        number = 0
        while not self._stopping.wait(_EVERY * 2):
            try:
                producer = producer or self._transactional()
                self._transaction(producer, number, commit=draw.random() < 0.7)
            except KafkaException:
                # A new one aborts what the old one left open; init_transactions waits for a broker that is away.
                producer = None
            number += 10
        if producer is None:
            self._abort_what_is_open()

    def _transactional(self) -> Producer:
        client = {"bootstrap.servers": self._bootstrap, "transactional.id": "soak", "transaction.timeout.ms": 10_000}
        producer = Producer({**client, "log_level": 0})
        producer.init_transactions(_PATIENCE)
        return producer

    def _abort_what_is_open(self) -> None:
        try:
            self._transactional()
        except KafkaException:
            # The broker aborts it itself after the timeout; whoever reads to the end waits for that.
            return

    def _transaction(self, producer: Producer, number: int, *, commit: bool) -> None:
        lines: list[str] = []

        def delivered(_: object, message: Message) -> None:
            lines.append(f"{message.partition()},{message.offset()},{number + len(lines)}\n")

        producer.begin_transaction()
        for seq in range(number, number + 10):
            value = record("transactions", STEADY, seq)
            producer.produce(TOPIC, value, partition=STEADY, on_delivery=delivered)
        if not commit:
            producer.flush(_PATIENCE)
            producer.abort_transaction(_PATIENCE)
            return
        producer.commit_transaction(_PATIENCE)
        with self._committed.open("a") as file:
            file.writelines(lines)
