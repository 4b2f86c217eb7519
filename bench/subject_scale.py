"""Subject: a frazil connector on many partitions or many topics, one record in each of them, twice; then idle."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from common import Answer, Job, tell, told
from frazil import Connector
from frazil.cycle import CycleReport
from frazil.tables.jvm.session import DEFAULT_NAMESPACE, open_session
from frazil.tables.rules.tokens import decode, encode
from subject_frazil import as_row

_IDLE = 20
"""Idle cycles that are timed."""


def main() -> None:
    job = told()
    spark = open_session(Path(job.home), f"local[{job.cores}]", {"spark.driver.memory": "1g", **catalog(job)})
    connector = Connector.from_properties(properties(job), spark=spark)
    cycles: list[dict[str, Any]] = []
    connector.on_cycle(lambda report: note(cycles, report))
    states: dict[str, float] = {}
    connector.on_state(lambda state: states.setdefault(str(state), time.time()))
    produce(job)
    began = time.time()
    connector.start()
    connector.wait_until_caught_up()
    first = time.time()
    pause(connector)  # or it takes them in several cycles
    produce(job)
    resumed = time.time()
    connector.resume()
    connector.wait_until_caught_up()
    second = time.time()
    pause(connector)
    connector.status()
    status = timed(connector.status)
    ingestion = connector._ingestion  # noqa: SLF001 (what is timed here has no name outside)
    if ingestion is None:
        raise RuntimeError("the connector is not open")
    idle = sorted(timed(ingestion.cycle) for _ in range(_IDLE))[_IDLE // 2]
    (tokens, *_) = (opened.tokens for opened in ingestion.tables.values())
    text = encode(tokens)
    recall = timed(ingestion.recall)
    connector.stop()
    cycles.append(
        {
            "open": states["RUNNING"] - began,
            "open_again": opening(Connector.from_properties(properties(job), spark=spark)),
            "first": first - began,
            "second": second - resumed,
            "idle": idle,
            "recall": recall,
            "status": status,
            "token_bytes": len(text),
            "encode": timed(lambda: encode(tokens)),
            "decode": timed(lambda: decode(text)),
        }
    )
    tell(job, Answer(second, cycles=cycles))


def pause(connector: Connector) -> None:
    """Have it wait, with no cycle under way."""
    connector.pause()
    while str(connector.state) != "PAUSED":
        time.sleep(0.01)


def opening(connector: Connector) -> float:
    """How long a connector takes to open tables that exist, in seconds."""
    running = threading.Event()
    connector.on_state(lambda state: running.set() if str(state) == "RUNNING" else None)
    began = time.perf_counter()
    connector.start()
    running.wait()
    took = time.perf_counter() - began
    connector.stop()
    return took


def note(cycles: list[dict[str, Any]], report: CycleReport) -> None:
    if report.records:
        cycles.append({**as_row(report), "tables": len(report.snapshots)})


def produce(job: Job) -> None:
    """One record in each partition."""
    producer = Producer({"bootstrap.servers": job.bootstrap_servers, "log_level": 2})
    for topic in job.topic.split(","):
        for partition in range(job.partitions):
            producer.produce(topic, b'{"id": 1, "name": "one"}', partition=partition)
    producer.flush()


def timed(do: Any) -> float:
    """How long it takes, in seconds."""
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def catalog(job: Job) -> dict[str, str]:
    """Spark's settings of the catalog that the job names; the embedded one needs none."""
    return {key: value for key, value in job.settings.items() if key.startswith("spark.")}


def properties(job: Job) -> dict[str, str]:
    """The connector's."""
    return {
        "name": "bench",
        "connector.class": "frazil.KafkaConnector",
        "bootstrap.servers": job.bootstrap_servers,
        "topics": job.topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "frazil.home": job.home,
        "frazil.namespace": DEFAULT_NAMESPACE,
        **job.settings,
    }


if __name__ == "__main__":
    main()
