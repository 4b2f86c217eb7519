"""Subject: the limit. One process per core, no Spark, no checks, no table: librdkafka → Arrow → DuckDB → Parquet.

Nothing built from these libraries can be much faster, so the distance to it is what frazil costs.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition

from common import Answer, Job, tell, told
from frazil.sources.kafka.reader import consumer_config

CHUNK = 64 * 1024 * 1024
"""Bytes of values in one file, as frazil's chunks."""

ORDER = """{
    "order_id": "BIGINT", "customer_name": "VARCHAR", "order_total": "DOUBLE", "isPaid": "BOOLEAN",
    "order_date": "TIMESTAMPTZ", "status": "VARCHAR",
    "items": [{"sku": "VARCHAR", "qty": "INTEGER", "price": "DOUBLE"}],
    "address": {"city": "VARCHAR", "zip": "VARCHAR", "geo": {"lat": "DOUBLE", "lon": "DOUBLE"}}, "note": "VARCHAR"
}"""

COPY = f"""
    COPY (SELECT struct_pack(topic := '%(topic)s', "partition" := "partition", "offset" := "offset", "key" := "key",
                     schema_id := NULL::INTEGER, key_schema_id := NULL::INTEGER, "CreateTime" := "timestamp",
                     "LogAppendTime" := NULL::BIGINT, "SnowflakeConnectorPushTime" := read,
                     headers := NULL::MAP(VARCHAR, VARCHAR)) AS RECORD_METADATA, unnest(parsed)
          FROM (SELECT *, from_json(value, '{ORDER}') AS parsed FROM chunk))
    TO '%(path)s' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, FIELD_IDS 'auto', RETURN_STATS)"""


def main() -> None:
    job = told()
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(job.cores + 1)
    workers = [context.Process(target=work, args=(job, number, ready)) for number in range(job.cores)]
    for worker in workers:
        worker.start()
    ready.wait()
    for worker in workers:
        worker.join()
    ended = time.time()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a worker failed")
    tell(job, Answer(ended, files=sorted(map(str, Path(job.home).glob("*.parquet")))))


def work(job: Job, number: int, ready: Barrier) -> None:
    """Land every partition whose turn it is."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    consumer = Consumer(consumer_config({"bootstrap.servers": job.bootstrap_servers, "group.id": "limit"}))
    partitions = range(number, job.partitions, job.cores)
    left = {partition: len(range(partition, job.records, job.partitions)) for partition in partitions}
    ready.wait()
    for count, chunk in enumerate(chunks(consumer, job.topic, left)):
        connection.register("chunk", chunk)
        connection.execute(COPY % {"topic": job.topic, "path": f"{job.home}/{number}-{count}.parquet"})
    consumer.close()


def chunks(consumer: Consumer, topic: str, left: dict[int, int]) -> Iterator[pa.Table]:
    """Read partitions until nothing is left of them; `left` counts down."""
    consumer.assign([TopicPartition(topic, partition, 0) for partition, records in left.items() if records])
    batches: list[pa.RecordBatch] = []
    while any(left.values()):
        messages = [message for message in consumer.consume(20_000, 0.1) if message.error() is None]
        if not messages:
            continue
        for message in messages:
            left[message.partition()] -= 1
        batches.append(to_arrow(messages))
        if sum(batch.column("value").nbytes for batch in batches) >= CHUNK:
            yield pa.Table.from_batches(batches)
            batches.clear()
    if batches:
        yield pa.Table.from_batches(batches)


def to_arrow(messages: list[Message]) -> pa.RecordBatch:
    """Messages as columns, values as text."""
    columns: dict[str, Any] = {
        "partition": pa.array([message.partition() for message in messages], pa.int32()),
        "offset": pa.array([message.offset() for message in messages], pa.int64()),
        "timestamp": pa.array([message.timestamp()[1] for message in messages], pa.int64()),
        "key": pa.array([message.key() for message in messages], pa.binary()).cast(pa.string()),
        "value": pa.array([message.value() for message in messages], pa.binary()).cast(pa.string()),
        "read": pa.repeat(pa.scalar(time.time_ns() // 1_000_000, pa.int64()), len(messages)),
    }
    return pa.record_batch(columns)


if __name__ == "__main__":
    main()
