"""Subject: the limit. One process per core, no Spark, no table: librdkafka → Arrow → DuckDB → Parquet.

With the option `checked=1` (`limit`) every record is checked as frazil checks it. With `checked=0` (`bare-limit`) bad
values would become NULL in silence, as `from_json` has it. Nothing built from these libraries can be much faster, so
the distance to it is what frazil costs.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition

from common import Answer, Job, tell, told
from frazil.model import Conversion
from frazil.pipes.default.pipe import DefaultPipe
from frazil.records.batches import topics
from frazil.records.convert import RecordConverter
from frazil.sources.kafka.consumers import consumer_config
from frazil.sources.kafka.reader import SCHEMA
from frazil.staging.project import Projector
from stagings import TABLES

Land: TypeAlias = Callable[[list[pa.RecordBatch], Path], None]
"""Writes batches of records to a file."""

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
    """Land every partition whose turn it is; no garbage is collected, for that is no check's business."""
    gc.freeze()
    gc.disable()
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    land = checked(connection, job.topic) if job.options["checked"] else unchecked(connection, job.topic)
    consumer = Consumer(consumer_config({"bootstrap.servers": job.bootstrap_servers, "group.id": "limit"}))
    partitions = range(number, job.partitions, job.cores)
    left = {partition: len(range(partition, job.records, job.partitions)) for partition in partitions}
    ready.wait()
    for count, batches in enumerate(chunks(consumer, job.topic, left)):
        land(batches, Path(job.home, f"{number}-{count}.parquet"))
    consumer.close()


def checked(connection: duckdb.DuckDBPyConnection, topic: str) -> Land:
    """Every value is checked against its column, bad records would be rejects: what a task of frazil's does."""
    pipe = DefaultPipe(TABLES["nested, structs"].columns, Conversion())
    converter = RecordConverter(Conversion())
    projector = Projector(connection, pipe, topic)

    def land(batches: list[pa.RecordBatch], path: Path) -> None:
        now = time.time_ns() // 1_000_000
        converted = [converter.convert(batch, now) for batch in batches]
        tables, records = ([getattr(each, name) for each in converted] for name in ("table", "records"))
        projector.project(pa.concat_tables(tables), pa.concat_tables(records), path)

    return land


def unchecked(connection: duckdb.DuckDBPyConnection, topic: str) -> Land:
    """The fastest statement there is."""

    def land(batches: list[pa.RecordBatch], path: Path) -> None:
        chunk = pa.Table.from_batches(batches)
        texts = {name: chunk.column(name).cast(pa.string()) for name in ("key", "value")}
        for name, column in texts.items():
            chunk = chunk.set_column(chunk.schema.get_field_index(name), name, column)
        now = pa.repeat(pa.scalar(time.time_ns() // 1_000_000, pa.int64()), chunk.num_rows)
        connection.register("chunk", chunk.append_column("read", now))
        connection.execute(COPY % {"topic": topic, "path": path})

    return land


def chunks(consumer: Consumer, topic: str, left: dict[int, int]) -> Iterator[list[pa.RecordBatch]]:
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
            yield batches
            batches = []
    if batches:
        yield batches


def to_arrow(messages: list[Message]) -> pa.RecordBatch:
    """Messages as `frazil.sources.kafka.reader.SCHEMA` has them, without headers, in as few calls as frazil's."""
    values = list(map(Message.value, messages))
    ends = np.fromiter(accumulate(map(len, values), initial=0), np.int32, len(values) + 1)
    columns: dict[str, pa.Array] = {
        "topic": topics(str(messages[0].topic()), len(messages)),
        "partition": pa.array(list(map(Message.partition, messages)), pa.int32()),
        "offset": pa.array(list(map(Message.offset, messages)), pa.int64()),
        "timestamp": pa.array([stamp for _, stamp in map(Message.timestamp, messages)], pa.int64()),
        "log_append_time": pa.array(np.zeros(len(messages), bool)),
        "key": pa.array(list(map(Message.key, messages)), pa.binary()),
        "value": pa.Array.from_buffers(
            pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
        ),
    }
    arrays = [columns.get(each.name, pa.nulls(len(messages), each.type)) for each in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


if __name__ == "__main__":
    main()
