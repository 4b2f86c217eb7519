"""Subject: plain PySpark, as a user writes it by hand.

Offset ranges are spread over Spark tasks; a Python function reads them with a Kafka consumer (`mapInArrow`); Spark
parses the JSON (`from_json`) and appends to Iceberg. No tokens and no checks: a bad value becomes NULL, and a restart
begins anew.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from common import Answer, Job, tell, told
from frazil.config import ConnectorSettings
from frazil.sources.kafka.consumers import consumer_config
from frazil.tables.jvm.session import PACKAGES, embedded_catalog
from workload import FULL_NAME, METADATA, ORDER, create_table

RECORDS = "partition int, offset bigint, timestamp bigint, key binary, value binary, read bigint"
Batches = Iterator[pa.RecordBatch]


def main() -> None:
    job = told()
    spark = session(job)
    create_table(spark)
    cycles: list[dict[str, Any]] = []
    for number, ranges in enumerate(batches(job)):
        append(spark, job, ranges)
        records = sum(end - start for _, start, end in ranges)
        cycles.append({"number": number, "records": records, "committed": time.time()})
    tell(job, Answer(cycles[-1]["committed"], cycles=cycles))
    spark.stop()


def session(job: Job) -> SparkSession:
    """A session of its own making: the same catalog as frazil's, no setting of frazil's, and a generous heap."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # spark.pyspark.python counts only with spark-submit
    builder = SparkSession.builder.master(f"local[{job.cores}]")
    settings = {
        "spark.jars.packages": PACKAGES,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Workers import this module, unless it is the program itself.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
        **embedded_catalog(Path(job.home)),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def append(spark: SparkSession, job: Job, ranges: list[tuple[int, int, int]]) -> None:
    """Land ranges, each a partition, a first offset and the one after the last; a task for each."""
    schema = "partition int, start bigint, end bigint"
    offsets = spark.createDataFrame(spark.sparkContext.parallelize(ranges, len(ranges)), schema)
    rows(offsets.mapInArrow(reader(job), RECORDS), job.topic).writeTo(FULL_NAME).append()


def batches(job: Job) -> list[list[tuple[int, int, int]]]:
    """The topic in appends of as many bytes as a cycle of frazil's: one range of each partition."""
    most = ConnectorSettings.model_fields["cycle_max_bytes"].default
    step = int(most / job.record_bytes / job.partitions)
    ends = [len(range(number, job.records, job.partitions)) for number in range(job.partitions)]
    return [
        [(number, start, min(start + step, end)) for number, end in enumerate(ends) if start < end]
        for start in range(0, max(ends), step)
    ]


def reader(job: Job) -> Callable[[Batches], Batches]:
    """The function that reads ranges in a Python worker, with the same fetch settings as frazil's readers."""
    topic = job.topic
    settings = consumer_config({"bootstrap.servers": job.bootstrap_servers, "group.id": "plain-spark"})

    def read(ranges: Batches) -> Batches:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(settings)
        for partition, start, end in (each.values() for batch in ranges for each in batch.to_pylist()):
            consumer.assign([TopicPartition(topic, partition, start)])
            position = start
            while position < end:
                found = consumer.consume(20_000, 0.1)
                messages = [message for message in found if message.error() is None and message.offset() < end]
                if messages:
                    position = messages[-1].offset() + 1
                    yield to_arrow(messages)
        consumer.close()

    return read


def to_arrow(messages: list[Any]) -> pa.RecordBatch:
    """Messages as the columns of `RECORDS`."""
    return pa.record_batch(
        {
            "partition": pa.array([message.partition() for message in messages], pa.int32()),
            "offset": pa.array([message.offset() for message in messages], pa.int64()),
            "timestamp": pa.array([message.timestamp()[1] for message in messages], pa.int64()),
            "key": pa.array([message.key() for message in messages], pa.binary()),
            "value": pa.array([message.value() for message in messages], pa.binary()),
            "read": pa.repeat(pa.scalar(time.time_ns() // 1_000_000, pa.int64()), len(messages)),
        }
    )


def rows(records: DataFrame, topic: str) -> DataFrame:
    """Records as rows of the table."""
    null = f.lit(None)
    fields = {
        "topic": f.lit(topic),
        "partition": f.col("partition"),
        "offset": f.col("offset"),
        "key": f.col("key").cast("string"),
        "schema_id": null,
        "key_schema_id": null,
        "CreateTime": f.col("timestamp"),
        "LogAppendTime": null,
        "SnowflakeConnectorPushTime": f.col("read"),
        "headers": null,
    }
    metadata = f.struct(*(column.alias(name) for name, column in fields.items())).cast(METADATA)
    parsed = f.from_json(f.col("value").cast("string"), ORDER)
    return records.select(metadata.alias("RECORD_METADATA"), parsed.alias("parsed")).select(
        "RECORD_METADATA", "parsed.*"
    )


if __name__ == "__main__":
    main()
