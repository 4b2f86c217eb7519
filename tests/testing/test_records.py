"""Records, the gaps between them, and the log of what was acknowledged."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from frazil.dev.kafka import KafkaBroker
from frazil.testing.oracle import read_wal
from frazil.testing.produce import record
from frazil.testing.records import gaps, offsets, produce, produce_transaction, read
from frazil.testing.topics import (
    COMPACTED,
    add_partitions,
    alter_topic,
    create_topic,
    delete_records,
    delete_topic,
    wait_until,
)

MakeTopic = Callable[..., str]


def test_a_record_proves_its_own_integrity() -> None:
    value = json.loads(record("run", 3, 7))

    assert (value["run"], value["partition"], value["seq"]) == ("run", 3, 7)
    assert value["sha256"] == hashlib.sha256(value["payload"].encode()).hexdigest()
    assert record("run", 3, 7) == record("run", 3, 7) != record("run", 3, 8)


def test_what_is_acknowledged_is_written_down_as_it_stands_in_the_log(
    broker: KafkaBroker, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, wal = make_topic(partitions=2), tmp_path / "acked.csv"
    options = ["--bootstrap", broker.bootstrap_servers, "--topic", topic, "--partitions", "2", "--rate", "2000"]
    command = [sys.executable, "-m", "frazil.testing.produce", *options, "--wal", str(wal)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as producer:
        wait_until(lambda: wal.exists() and read_wal(wal).num_rows > 100, "100 acknowledged records")
        producer.send_signal(signal.SIGTERM)
        printed, _ = producer.communicate(timeout=30)

    written = [tuple(line.values()) for line in read_wal(wal).to_pylist()]

    assert producer.returncode == 0
    assert int(printed) == len(written)
    logs = [(place, message) for place in range(2) for message in read(broker.bootstrap_servers, topic, place)]
    assert sorted(written) == [(place, one.offset(), json.loads(one.value() or b"")["seq"]) for place, one in logs]


def test_transactions_leave_their_markers_and_aborted_records_as_gaps(broker: KafkaBroker, topic: str) -> None:
    bootstrap = broker.bootstrap_servers
    assert produce(bootstrap, topic, [b"0", None]) == [0, 1]
    assert produce_transaction(bootstrap, topic, [b"2", b"3"], commit=True) == [2, 3]  # its marker is 4
    assert produce_transaction(bootstrap, topic, [b"5"], commit=False) == [5]  # its marker is 6

    assert gaps(bootstrap, topic) == {4, 6}
    assert gaps(bootstrap, topic, isolation="read_committed") == {4, 5, 6}
    assert [message.value() for message in read(bootstrap, topic, isolation="read_committed")] == [
        b"0",
        None,
        b"2",
        b"3",
    ]


def test_compaction_makes_gaps_while_a_test_waits(broker: KafkaBroker, make_topic: MakeTopic) -> None:
    topic = create_topic(broker.bootstrap_servers, make_topic() + "_compacted", 1, COMPACTED)
    produce(broker.bootstrap_servers, topic, [b"old", b"new", b"other"], keys=[b"k", b"k", b"j"])

    def only_the_new() -> bool:
        # A segment is closed, and then compacted, when a record comes that is `segment.ms` younger.
        produce(broker.bootstrap_servers, topic, [b"tick"], keys=[b"tick"])
        return offsets(broker.bootstrap_servers, topic)[:2] == [1, 2]

    wait_until(only_the_new, "the old value to be compacted away")
    assert 0 in gaps(broker.bootstrap_servers, topic)


def test_topics_can_grow_shrink_and_go(broker: KafkaBroker, topic: str) -> None:
    bootstrap = broker.bootstrap_servers
    produce(bootstrap, topic, [b"0", b"1", b"2"])

    alter_topic(bootstrap, topic, {"max.message.bytes": "1000"})
    delete_records(bootstrap, topic, 0, before=2)
    add_partitions(bootstrap, topic, 2)
    produce(bootstrap, topic, [b"elsewhere"], partition=1)

    assert (offsets(bootstrap, topic, 0), offsets(bootstrap, topic, 1)) == ([2], [0])
    with pytest.raises(KafkaException, match="too large"):
        produce(bootstrap, topic, [b"x" * 2000])
    delete_topic(bootstrap, topic)
