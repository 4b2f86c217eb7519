"""Subject: a frazil connector that reads a local stream in default settings, onto a table that exists."""

from __future__ import annotations

from pathlib import Path

from common import Job, told
from frazil import Connector
from frazil.tables.jvm.session import DEFAULT_NAMESPACE, open_session
from subject_frazil import run
from workload import STREAM_METADATA, TABLE, create_table


def main() -> None:
    job = told()
    run(job, connector_for(job))


def connector_for(job: Job) -> Connector:
    """A connector that has its session and its table."""
    home = Path(job.home)
    spark = open_session(home, f"local[{job.cores}]", {})
    create_table(spark, metadata=STREAM_METADATA)
    properties = {
        "name": "bench",
        "connector.class": "frazil.KinesisConnector",
        "frazil.kinesis.streams": job.topic,
        "frazil.kinesis.region": "us-east-1",
        "frazil.kinesis.endpoint": job.bootstrap_servers,
        "frazil.kinesis.access.key.id": "local",
        "frazil.kinesis.secret.access.key": "local",
        "snowflake.topic2table.map": f"{job.topic}:{TABLE}",
        "frazil.home": str(home),
        "frazil.namespace": DEFAULT_NAMESPACE,
        **job.settings,
    }
    return Connector.from_properties(properties, spark=spark)


if __name__ == "__main__":
    main()
