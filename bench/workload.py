"""What all subjects land: a topic of web-shop orders, and the table they go to."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import orjson
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from frazil.dev.orders import order, text
from frazil.tables.jvm.session import DEFAULT_NAMESPACE, EMBEDDED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE: Final = "ORDERS"
FULL_NAME: Final = f"{EMBEDDED}.{DEFAULT_NAMESPACE}.{TABLE}"

ORDER: Final = (
    "order_id bigint, customer_name string, order_total double, isPaid boolean, order_date timestamp, status string, "
    "items array<struct<sku: string, qty: int, price: double>>, "
    "address struct<city: string, zip: string, geo: struct<lat: double, lon: double>>, note string"
)
"""The columns of a record, in Spark's words; Spark's `timestamp` is Iceberg's `timestamptz`."""

METADATA: Final = (
    "struct<topic: string, partition: int, offset: bigint, key: string, schema_id: int, key_schema_id: int, "
    "CreateTime: bigint, LogAppendTime: bigint, SnowflakeConnectorPushTime: bigint, headers: map<string, string>>"
)
"""RECORD_METADATA as frazil creates it."""

STREAM_METADATA: Final = (
    "kinesisMetadata struct<stream: string, shardId: string, approximateArrival: timestamp, partitionKey: string, "
    "sequenceNumber: string, subSequenceNumber: bigint, shardedSequenceNumber: string>"
)
"""kinesisMetadata as frazil creates it."""

SHORT: Final = 300
"""Orders that are to have fewer bytes lack some keys."""

_NOTES: Final = 1 << 24
"""Bytes of the text that notes of another size are cut from."""


def create_topic(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Make the topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)


def load(bootstrap_servers: str, topic: str, partitions: int, records: int, record_bytes: int | None = None) -> int:
    """Fill a new topic with orders 0 to `records`, lz4 on the wire and on disk; return the bytes of their values.

    With `record_bytes` they have about as many bytes each: their notes are cut or grow; below `SHORT` they have none.
    """
    create_topic(bootstrap_servers, topic, partitions)
    producer = order_producer(bootstrap_servers)
    rng, size = Random(0), 0
    notes = text(Random(1), _NOTES) if record_bytes else b""
    for number in range(records):
        value = order(number, rng)
        if record_bytes:
            value = sized(value, record_bytes, notes, rng.randrange(_NOTES - record_bytes))
        size += len(value)
        send(producer, topic, value, b"%d" % number, number % partitions)
    producer.flush()
    return size


def sized(value: bytes, size: int, notes: bytes, begin: int) -> bytes:
    """An order of another size: its note is cut from `notes`, from `begin` on."""
    if size < SHORT:
        # Without its date, items, address and note.
        found = orjson.loads(value)
        return orjson.dumps(
            {key: found[key] for key in ("order_id", "customer_name", "order_total", "isPaid", "status")}
        )
    before = value[: value.rindex(b'"note":"') + len(b'"note":"')]
    return before + notes[begin : begin + max(1, size - len(before) - 2)] + b'"}'


def order_producer(bootstrap_servers: str, largest: int = 1_000_000) -> Producer:
    """A producer whose batches are large and compressed; its records have at most `largest` bytes."""
    return Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "compression.type": "lz4",
            "enable.idempotence": True,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "message.max.bytes": largest,
            "queue.buffering.max.messages": 500_000,
            "log_level": 2,  # a broker that just started asks it to retry, which is not worth a line
        }
    )


def send(producer: Producer, topic: str, value: bytes, key: bytes, partition: int) -> None:
    """Produce one record, waiting while the producer's queue is full."""
    while True:
        try:
            producer.produce(topic, value, key, partition=partition)
        except BufferError:
            producer.poll(0.1)
        else:
            return


LAYOUTS = {
    "plain": ("", ""),
    "day": ("PARTITIONED BY (days(order_date))", ""),
    "bucket(16)": ("PARTITIONED BY (bucket(16, order_id))", ""),
    "hour": ("PARTITIONED BY (hours(order_date))", ""),
    "bucket(16), hour": ("PARTITIONED BY (bucket(16, order_id), hours(order_date))", ""),
    "bucket(16) of a text": ("PARTITIONED BY (bucket(16, note))", ""),
    "sorted": ("", "WRITE ORDERED BY order_date, order_id"),
}
"""Ways in which the table may be laid out: what CREATE TABLE says of it, and ALTER TABLE."""


def create_table(spark: SparkSession, layout: str = "plain", metadata: str = f"RECORD_METADATA {METADATA}") -> None:
    """Create the table in the embedded catalog; the codec is what frazil writes anyway."""
    partitioned, ordered = LAYOUTS[layout]
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.{DEFAULT_NAMESPACE}")
    spark.sql(
        f"CREATE TABLE {FULL_NAME} ({metadata}, {ORDER}) USING iceberg {partitioned} TBLPROPERTIES ("
        "'format-version' = '3', 'write.parquet.compression-codec' = 'zstd', 'write.parquet.compression-level' = '1')"
    )
    if ordered:
        spark.sql(f"ALTER TABLE {FULL_NAME} {ordered}")
