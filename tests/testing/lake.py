"""Build Iceberg tables without frazil and without a catalog service: just enough of the format for the oracle."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from frazil.testing.produce import record

TOPIC = "orders"
CONNECTOR = "SINK"
OUT = PyArrowFileIO()


def row(partition: int, offset: int, seq: int | None = None, topic: str = TOPIC) -> dict[str, Any]:
    """The row that the record `seq` becomes at `offset`; the two are equal unless told otherwise."""
    value = orjson.loads(record("run", partition, offset if seq is None else seq))
    return {"RECORD_METADATA": {"topic": topic, "partition": partition, "offset": offset}, **value}


def token_text(offsets: Sequence[int | None], topic: str = TOPIC) -> str:
    """Tokens as frazil writes them into a summary."""
    tokens = [None if offset is None else str(offset) for offset in offsets]
    text = json.dumps({"v": 2, "topics": {topic: {"channels": {"tokens": tokens}}}})
    return base64.b64encode(zlib.compress(text.encode())).decode()


@dataclass
class Lake:
    """One table under `root`, to which snapshots are appended."""

    root: Path
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    manifests: list[ManifestFile] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)

    def parquet(self, rows: Sequence[Mapping[str, Any]]) -> tuple[Path, int]:
        """Write a data file; return its path and number of rows."""
        path = self.root / f"data-{len(list(self.root.glob('data-*')))}.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
        return path, len(rows)

    def append(
        self,
        *files: tuple[Path, int],
        summary: Mapping[str, str] | None = None,
        status: ManifestEntryStatus = ManifestEntryStatus.ADDED,
        content: DataFileContent = DataFileContent.DATA,
    ) -> Path:
        """Append a snapshot with `files` and return the new metadata file."""
        number = len(self.snapshots) + 1
        if files:
            self.manifests.append(self._manifest(files, number, status, content))
        listing = self.root / f"list-{number}.avro"
        parent = number - 1 or None
        with write_manifest_list(2, OUT.new_output(str(listing)), number, parent, number, "deflate") as written:
            written.add_manifests(self.manifests)
        snapshot = {"snapshot-id": number, "manifest-list": f"file:{listing}", "summary": dict(summary or {})}
        self.snapshots.append(snapshot | ({"parent-snapshot-id": parent} if parent else {}))
        return self.metadata(number)

    def _manifest(
        self,
        files: Sequence[tuple[Path, int]],
        number: int,
        status: ManifestEntryStatus,
        content: DataFileContent,
    ) -> ManifestFile:
        file = OUT.new_output(str(self.root / f"manifest-{number}.avro"))
        with write_manifest(2, UNPARTITIONED_PARTITION_SPEC, Schema(), file, number, "deflate") as writer:
            for path, rows in files:
                writer.add_entry(_entry(path, rows, number, status, content))
        return writer.to_manifest_file()

    def metadata(self, current: int) -> Path:
        """Write a metadata file whose current snapshot is `current`, gzipped as Iceberg can."""
        path = self.root / f"{current:05d}.gz.metadata.json"
        table = {"location": str(self.root), "current-snapshot-id": current, "snapshots": self.snapshots}
        path.write_bytes(gzip.compress(json.dumps(table | {"properties": self.properties}).encode()))
        return path

    def catalog(self, metadata: Path) -> Path:
        """A JDBC catalog in SQLite that names `metadata` as `public.ORDERS`."""
        path = self.root / "catalog.db"
        with sqlite3.connect(path) as database:
            columns = "catalog_name, table_namespace, table_name, metadata_location"
            database.execute(f"CREATE TABLE iceberg_tables ({columns})")
            database.execute(
                "INSERT INTO iceberg_tables VALUES ('lake', 'public', 'ORDERS', ?)", [metadata.absolute().as_uri()]
            )
        return path


def _entry(
    path: Path, rows: int, snapshot: int, status: ManifestEntryStatus, content: DataFileContent
) -> ManifestEntry:
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows,
        file_size_in_bytes=path.stat().st_size,
        spec_id=0,
    )
    # Added files inherit the number of their snapshot; others have to bring one.
    sequence = None if status == ManifestEntryStatus.ADDED else snapshot
    return ManifestEntry.from_args(status=status, snapshot_id=snapshot, sequence_number=sequence, data_file=file)
