"""What tests put into a topic and find in it: records, tombstones, transactions, and the gaps they leave."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from frazil.testing.topics import PATIENCE


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes | str | None],
    *,
    partition: int = 0,
    keys: Iterable[bytes | str | None] | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
    timestamp: int | None = None,
) -> list[int]:
    """Produce `values` to one partition and return their offsets; None is a tombstone."""
    return _send(Producer(_exactly_once(bootstrap)), topic, partition, values, keys, headers, timestamp)


def produce_transaction(
    bootstrap: str, topic: str, values: Iterable[bytes | str | None], *, partition: int = 0, commit: bool = True
) -> list[int]:
    """Produce `values` in one transaction and commit or abort it; its marker takes the offset after the last."""
    producer = Producer({**_exactly_once(bootstrap), "transactional.id": f"test-{uuid.uuid4()}"})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    offsets = _send(producer, topic, partition, values)
    if commit:
        producer.commit_transaction(PATIENCE)
    else:
        producer.abort_transaction(PATIENCE)
    return offsets


def read(bootstrap: str, topic: str, partition: int = 0, isolation: str = "read_uncommitted") -> list[Message]:
    """Every record a partition holds now, from its beginning to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "frazil-testing",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found: list[Message] = []
    try:
        while (message := consumer.poll(PATIENCE)) is not None:
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own codes are spelled so)
                return found
            else:
                raise KafkaException(error)
        raise TimeoutError(f"{topic}-{partition} was not read to its end within {PATIENCE:.0f} s")
    finally:
        consumer.close()


def offsets(bootstrap: str, topic: str, partition: int = 0, isolation: str = "read_uncommitted") -> list[int]:
    """The offsets in a partition that hold a record."""
    return [message.offset() or 0 for message in read(bootstrap, topic, partition, isolation)]


def gaps(bootstrap: str, topic: str, partition: int = 0, isolation: str = "read_uncommitted") -> set[int]:
    """The offsets below the end of a partition that hold no record: what the oracle must not miss."""
    admin = Consumer({"bootstrap.servers": bootstrap, "group.id": "frazil-testing"})
    try:
        _, end = admin.get_watermark_offsets(TopicPartition(topic, partition), PATIENCE)
    finally:
        admin.close()
    return set(range(end)) - set(offsets(bootstrap, topic, partition, isolation))


def _exactly_once(bootstrap: str) -> dict[str, str | int | float | bool | None]:
    return {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, "log_level": 2}


def _send(
    producer: Producer,
    topic: str,
    partition: int,
    values: Iterable[bytes | str | None],
    keys: Iterable[bytes | str | None] | None = None,
    headers: Sequence[tuple[str, bytes | None]] = (),
    timestamp: int | None = None,
) -> list[int]:
    acknowledged: list[int] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        acknowledged.append(message.offset() or 0)

    given = list(values)
    for value, key in zip(given, keys if keys is not None else [None] * len(given), strict=True):
        options = {} if timestamp is None else {"timestamp": timestamp}
        producer.produce(
            topic, value, key, partition=partition, headers=list(headers), on_delivery=delivered, **options
        )
        producer.poll(0)
    producer.flush(PATIENCE)
    if len(acknowledged) != len(given):
        raise TimeoutError(f"{len(given) - len(acknowledged)} records for {topic} were not acknowledged")
    return acknowledged
