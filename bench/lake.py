"""Read back what a subject landed, with DuckDB and no code of frazil's own pipeline."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from frazil.tables.jvm.session import DEFAULT_NAMESPACE
from frazil.testing import iceberg
from workload import TABLE


@dataclass(frozen=True, slots=True)
class Landed:
    """What is in a table, or in some files."""

    rows: int
    distinct: int
    """Different pairs of partition and offset."""

    order_ids: int
    """Sum of the order ids."""

    nulls: int
    """Rows that lack a value every order has."""

    first_read: float
    """When the first records had come in from the broker, in seconds since the epoch (SnowflakeConnectorPushTime)."""

    files: int
    bytes: int

    def is_complete(self, records: int, *, short: bool = False) -> bool:
        """Whether these are the orders 0 to `records`, each once and whole, or all of them `short` ones."""
        whole = self.nulls == (records if short else 0) and self.order_ids == records * (records - 1) // 2
        return whole and self.rows == self.distinct == records


@dataclass(frozen=True, slots=True)
class Moments:
    """When a cycle began, and when its commit was done; in seconds since the epoch."""

    began: float
    visible: float


def files_of_table(home: Path) -> list[Path]:
    """The files of the table's current snapshot."""
    return [file.path for file in iceberg.data_files(_metadata(home))]


def landed(files: Sequence[Path]) -> Landed:
    """Read all rows of the files."""
    row = duckdb.execute(
        """
        SELECT count(*), count(DISTINCT (RECORD_METADATA.partition, RECORD_METADATA.offset)), sum(order_id),
               count_if(order_date IS NULL OR note IS NULL OR address.geo.lat IS NULL OR items[3].qty IS NULL
                        OR RECORD_METADATA.CreateTime IS NULL),
               min(RECORD_METADATA.SnowflakeConnectorPushTime)
        FROM read_parquet($files)
        """,
        {"files": list(map(str, files))},
    ).fetchone()
    rows, distinct, order_ids, nulls, first_read = map(int, row or ())
    return Landed(
        rows, distinct, order_ids, nulls, first_read / 1000, len(files), sum(file.stat().st_size for file in files)
    )


def streamed(home: Path) -> tuple[int, int, int]:
    """Rows of a table of a stream's records, how many places in shards they have, and the sum of their order ids."""
    row = duckdb.execute(
        """
        SELECT count(*), count(DISTINCT (kinesisMetadata.shardId, kinesisMetadata.sequenceNumber)), sum(order_id)
        FROM read_parquet($files)
        """,
        {"files": list(map(str, files_of_table(home)))},
    ).fetchone()
    rows, places, order_ids = map(int, row or ())
    return rows, places, order_ids


def commits(home: Path) -> int:
    """How many commits have brought rows so far; none while there is no table."""
    try:
        return sum(int(snapshot["summary"].get("added-records", 0)) > 0 for snapshot in _metadata(home)["snapshots"])
    except (LookupError, OSError, sqlite3.OperationalError):
        return 0


def latencies(
    home: Path,
    moments: Mapping[int, Moments],
    since: float,
    until: float,
    created: str = "RECORD_METADATA.CreateTime",
) -> dict[str, Any]:
    """How old the records that were created between two moments were when they were in the table, in ms.

    Args:
        home: where the table is.
        moments: of every snapshot that brought rows.
        since: in seconds since the epoch, as `until`.
        until: excluded.
        created: when a record was, in ms since the epoch, as an expression of its row.
    """
    files = _snapshots_of_files(home)
    committed = {snapshot["snapshot-id"]: snapshot["timestamp-ms"] for snapshot in _metadata(home)["snapshots"]}
    brought = [
        {
            "file": path,
            "began": moments[snapshot].began * 1000,
            "committed": committed[snapshot],
            "visible": moments[snapshot].visible * 1000,
        }
        for path, snapshot in files.items()
    ]
    with duckdb.connect() as connection:
        connection.register("brought", pa.Table.from_pylist(brought))
        found = connection.execute(
            f"""
            WITH landed AS (
                SELECT {created} AS created, brought.*
                FROM read_parquet($files, filename = true) JOIN brought ON filename = file
            )
            SELECT count(*) AS records,
                   quantile_cont(committed - created, [0.5, 0.95, 1]) AS latency,
                   quantile_cont(visible - created, [0.5, 0.95, 1]) AS visible,
                   quantile_cont(greatest(began - created, 0), [0.5, 0.95, 1]) AS wait
            FROM landed WHERE created >= $since * 1000 AND created < $until * 1000
            """,
            {"files": list(files), "since": since, "until": until},
        )
        names = [column[0] for column in found.description or ()]
        return dict(zip(names, found.fetchone() or (), strict=True))


def _snapshots_of_files(home: Path) -> dict[str, int]:
    """Which snapshot added each live file."""
    current = next(iceberg.ancestors(_metadata(home)))
    found: dict[str, int] = {}
    for manifest in iceberg.read_avro(iceberg.local(current["manifest-list"])):
        for entry in iceberg.read_avro(iceberg.local(manifest["manifest_path"])):
            if entry["status"] != iceberg.DELETED:
                # An entry without a snapshot has that of its manifest.
                path = str(iceberg.local(entry["data_file"]["file_path"]))
                found[path] = entry["snapshot_id"] or manifest["added_snapshot_id"]
    return found


def _metadata(home: Path) -> dict[str, Any]:
    return iceberg.read_metadata(iceberg.current_metadata(home / "catalog.db", DEFAULT_NAMESPACE, TABLE))
