"""Subject: a frazil connector in default settings, onto a table that it makes itself, until it has caught up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common import Job, tell, told
from frazil import Connector
from frazil.tables.jvm.session import DEFAULT_NAMESPACE, open_session
from subject_frazil import answer, as_row
from workload import TABLE


def main() -> None:
    job = told()
    connector = connector_for(job)
    cycles: list[dict[str, Any]] = []
    connector.on_cycle(lambda report: cycles.append(as_row(report)) if report.records else None)
    connector.start(until_caught_up=True)
    connector.wait()
    if connector.error:
        raise connector.error
    tell(job, answer(cycles))


def connector_for(job: Job) -> Connector:
    """A connector that has its session, with the heap that is the default."""
    home = Path(job.home)
    spark = open_session(home, f"local[{job.cores}]", {"spark.driver.memory": "1g"})
    properties = {
        "name": "bench",
        "connector.class": "frazil.KafkaConnector",
        "bootstrap.servers": job.bootstrap_servers,
        "topics": job.topic,
        "snowflake.topic2table.map": f"{job.topic}:{TABLE}",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "frazil.home": str(home),
        "frazil.namespace": DEFAULT_NAMESPACE,
        "frazil.commit.interval.ms": "0",
        **job.settings,
    }
    return Connector.from_properties(properties, spark=spark)


if __name__ == "__main__":
    main()
