"""Read what a snapshot of an Iceberg table consists of, from its files on local disk.

Written from the Iceberg specification and sharing no code with frazil, so that the two cannot be wrong together.
"""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import fastavro

DELETED = 2
"""A manifest entry's status: the file is no longer in the table."""

DATA = 0
"""A manifest's and a file's content: rows, not deletes."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live file of a snapshot, as its manifest describes it."""

    path: Path
    rows: int
    size: int
    """Bytes."""

    holds_rows: bool
    """False for a file of deletes."""

    sequence: int
    """Which commit of the table added it: later ones have greater numbers."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A connector's offset tokens of one topic."""

    topic: str
    offsets: tuple[int | None, ...]
    """The last covered offset by partition; None where the partition was never opened."""


def current_metadata(catalog: Path, namespace: str, table: str, catalog_name: str | None = None) -> Path:
    """Look up a table's metadata file in the SQLite database of an Iceberg JDBC catalog; names ignore case."""
    query = (
        "SELECT metadata_location FROM iceberg_tables WHERE lower(table_namespace) = lower(?) "
        "AND lower(table_name) = lower(?) AND (? IS NULL OR catalog_name = ?)"
    )
    with closing(sqlite3.connect(f"{catalog.absolute().as_uri()}?mode=ro", uri=True)) as database:
        found = database.execute(query, (namespace, table, catalog_name, catalog_name)).fetchall()
    if len(found) != 1:
        raise LookupError(f"{catalog} has {len(found)} tables {namespace}.{table}, expected one")
    return local(found[0][0])


def read_metadata(path: Path) -> dict[str, Any]:
    """Parse a metadata file, gzipped or not."""
    content = path.read_bytes()
    metadata: dict[str, Any] = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    return metadata


def data_files(metadata: dict[str, Any]) -> list[DataFile]:
    """The live files of the current snapshot, of rows and of deletes, as often as its manifests list them."""
    snapshot = next(iter(ancestors(metadata)), None)
    if snapshot is None:
        return []
    manifests = read_avro(local(snapshot["manifest-list"]))
    return [
        file
        for manifest in manifests
        for file in _live_files(local(manifest["manifest_path"]), manifest["sequence_number"])
    ]


def tokens(metadata: dict[str, Any], connector: str, topic: str) -> Tokens:
    """The tokens of `topic`, of those that hold."""
    found = token_document(metadata, connector)["topics"].get(topic, {"channels": {"tokens": []}})
    return Tokens(topic, tuple(None if token is None else int(token) for token in found["channels"]["tokens"]))


def token_document(metadata: dict[str, Any], connector: str) -> dict[str, Any]:
    """What holds of a connector's tokens: the nearest ancestor's that carries any of them, else the mirror's."""
    key = f"frazil.tokens.{connector}"
    summaries = [snapshot["summary"] for snapshot in ancestors(metadata)]
    text = next((found[key] for found in [*summaries, metadata.get("properties", {})] if key in found), None)
    if text is None:
        raise LookupError(f"neither the snapshots nor the properties of {metadata.get('location')} have {key}")
    document: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return document


def ancestors(metadata: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The current snapshot, its parent, and so on as far as they are kept."""
    snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in metadata.get("snapshots", [])}
    here = snapshots.get(metadata.get("current-snapshot-id"))
    while here is not None:
        yield here
        here = snapshots.get(here.get("parent-snapshot-id"))


def local(location: str) -> Path:
    """The path on this disk that `location`, a path or a `file:` URI, speaks of."""
    if not location.startswith("file:"):
        return Path(location)
    # Iceberg writes names into URIs as they are, so `%20` is three characters of a name unless they do not exist.
    plain = Path("/" + location.removeprefix("file:").lstrip("/"))
    return plain if plain.exists() else Path(unquote(urlsplit(location).path))


def read_avro(path: Path) -> list[dict[str, Any]]:
    """The records of an Avro file, by the schema it carries."""
    with path.open("rb") as file:
        return [record for record in fastavro.reader(file) if isinstance(record, dict)]


def _live_files(manifest: Path, sequence: int) -> Iterator[DataFile]:
    for entry in read_avro(manifest):
        if entry["status"] != DELETED:
            file = entry["data_file"]
            holds_rows = file.get("content", DATA) == DATA
            # A file that was added with its manifest has the manifest's number.
            own = entry.get("sequence_number")
            path, rows, size = local(file["file_path"]), file["record_count"], file["file_size_in_bytes"]
            yield DataFile(path, rows, size, holds_rows, sequence if own is None else own)
