"""Numbered records: the oracle knows each, and a test finds it in the rows by its number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from frazil.dev.kafka import KafkaBroker
from frazil.testing.produce import record
from frazil.testing.records import produce
from frazil.testing.report import OracleReport


def send(broker: KafkaBroker, topic: str, numbers: Iterable[int], *, partition: int = 0) -> None:
    """Produce records of these numbers, in `n`; the oracle wants numbers that rise."""
    values = [orjson.dumps({"n": number, **orjson.loads(record("r", partition, number))}) for number in numbers]
    produce(broker.bootstrap_servers, topic, values, partition=partition)


def numbers(rows: Iterable[dict[str, Any]], partition: int | None = None) -> list[int]:
    """The numbers of all rows, or of those from one partition, in order."""
    return sorted(row["n"] for row in rows if partition in (None, row["RECORD_METADATA"]["partition"]))


def clean_rows(report: OracleReport) -> int:
    """How many rows a table has that the oracle finds nothing wrong with."""
    assert report.clean, report
    return report.rows
