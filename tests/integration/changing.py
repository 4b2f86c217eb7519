"""A table that somebody changes while a connector fills it: at a given place of a cycle, or while there is nothing to do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import orjson
from pyspark.sql import SparkSession
from tests.support.waiting import caught_up, until_state

from frazil import Connector
from frazil.dev.kafka import KafkaBroker
from frazil.tables.jvm.session import EMBEDDED, iceberg_catalog
from frazil.testing import iceberg
from frazil.testing.crash import halt_at
from frazil.testing.oracle import verify
from frazil.testing.produce import record
from frazil.testing.records import produce
from frazil.testing.topics import wait_until

When = Literal["idle", "after_plan", "after_stage", "before_swap"]
"""Where a table changes: with nothing to read, or at a fault point of a cycle that reads."""

WHEN: tuple[When, ...] = get_args(When)

BATCH = 5
"""Records of one cycle."""

RECALL_EVERY = "frazil.cycle.protocol._RECALL_EVERY"
"""How long an idle connector takes to look at its tables: nobody here waits for half a minute."""

NUMBERS = ("promoted", "relaxed", "required", "dropped", "renamed", "retyped", "added")
"""Keys that hold the record's number, for somebody to change their columns; the last has none yet."""

COLUMNS = (
    "run STRING, partition INT, seq BIGINT, payload STRING, sha256 STRING, nested STRUCT<a: BIGINT>, "
    "promoted INT, relaxed BIGINT NOT NULL, required BIGINT, dropped BIGINT, renamed BIGINT, retyped BIGINT, "
    "RECORD_METADATA STRUCT<topic: STRING, partition: INT, offset: BIGINT>"
)


@dataclass
class Stream:
    """A topic, the connector that reads it, and the table that somebody else changes."""

    spark: SparkSession
    broker: KafkaBroker
    lake: Path
    topic: str
    connector: Connector | None = None
    table_of: str | None = None
    """The topic that the table is named after, if it is another one."""

    sent: int = 0
    gone: set[int] = field(default_factory=set)
    """Offsets whose rows somebody deleted."""

    @property
    def name(self) -> str:
        """The table, as Iceberg's procedures take it."""
        return f"public.{(self.table_of or self.topic).upper()}"

    @property
    def table(self) -> str:
        """The table, as SQL takes it."""
        return f"{EMBEDDED}.{self.name}"

    def create(self) -> None:
        """Make the table, with a row of somebody else's."""
        self.sql(
            f"CREATE NAMESPACE IF NOT EXISTS {EMBEDDED}.public",
            f"CREATE TABLE {{table}} ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version'='2')",
            "INSERT INTO {table} (seq, relaxed) VALUES (-1, -1)",
        )

    def sql(self, *statements: str) -> None:
        """Run statements in which `{table}` and `{name}` stand for the table."""
        for statement in statements:
            self.spark.sql(statement.format(table=self.table, name=self.name))

    def java(self) -> Any:
        """Iceberg's own table, freshly loaded."""
        catalog = iceberg_catalog(self.spark, EMBEDDED, self.lake)
        return catalog.loadTable(self.spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse(self.name))

    def snapshot(self) -> int:
        """The current snapshot."""
        return int(self.java().currentSnapshot().snapshotId())

    def expire(self, *snapshots: int) -> None:
        """Expire these snapshots, or all but the current one."""
        change = self.java().expireSnapshots().cleanExpiredMetadata(True)
        for each in snapshots:
            change = change.expireSnapshotId(each)
        if not snapshots:
            change = change.expireOlderThan(2**62).retainLast(1)
        change.commit()

    def send(self) -> None:
        """Produce one cycle's records."""
        numbers = range(self.sent, self.sent + BATCH)
        produce(self.broker.bootstrap_servers, self.topic, [_record(number) for number in numbers])
        self.sent += BATCH

    def land(self) -> None:
        """Produce one cycle's records and have them committed."""
        self.send()
        caught_up(self.connector)

    def catch_up(self) -> None:
        """Wait for the rows themselves after a change: tokens in memory may still be those from before."""
        expected = self.sent - len(self.gone)
        caught_up(self.connector)
        wait_until(
            lambda: self.spark.catalog.tableExists(self.table) and len(self.offsets()) >= expected,
            f"{expected} rows to be in {self.name}",
        )

    def offsets(self, condition: str = "true") -> list[int]:
        """The offsets of rows that meet a condition, as Spark finds them."""
        where = f"RECORD_METADATA.topic = '{self.topic}' AND ({condition})"
        found = self.spark.sql(f"SELECT RECORD_METADATA.offset AS at FROM {self.table} WHERE {where}")
        return sorted(row["at"] for row in found.collect())

    def change(self, when: When, what: Callable[[Stream], object]) -> None:
        """Change the table at that place of a cycle, or while there is nothing to read.

        Nobody looks at the table before the change is whole.
        """
        self.connector.pause()
        until_state(self.connector, "PAUSED")
        if when == "idle":
            what(self)
            self.connector.resume()
            return
        self.send()
        with halt_at(when) as gate:
            self.connector.resume()
            assert gate.reached.wait(60), f"{when} was not reached: {self.connector.error}"
            what(self)

    def require_exactly_once(self, *, files: bool = True) -> None:
        """What was sent is in the table once, but for what somebody deleted; `files` holds no deletes to be applied."""
        expected = [offset for offset in range(self.sent) if offset not in self.gone]
        if not files:
            assert self.offsets() == expected
            return
        metadata = iceberg.current_metadata(self.lake / "catalog.db", *self.name.split("."))
        report = verify(metadata, self.connector.settings.key, self.topic, gaps={0: self.gone})
        assert report.clean, report
        assert report.rows == len(expected)


def alternating(*ways: str) -> list[tuple[When, str]]:
    """Every place once, with one of the ways that a test may take there."""
    return list(zip(WHEN, itertools.cycle(ways), strict=False))


def _record(number: int) -> bytes:
    plain = orjson.loads(record("r", 0, number))
    return orjson.dumps(plain | dict.fromkeys(NUMBERS, number) | {"nested": {"a": number, "b": number}})
