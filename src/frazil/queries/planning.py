"""The files a scan has to read: Iceberg plans them in the JVM, and they come over in one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from frazil.errors import CatalogUnavailable
from frazil.queries.filters import expression
from frazil.queries.versions import LISTS, OpenTable, Version
from frazil.snowflake.compiled import Scan
from frazil.tables.iceberg.java import java_errors, java_message, java_type

_EXPRESSIONS: Final = "org.apache.iceberg.expressions.ExpressionParser"
_RESPONSES: Final = "org.apache.iceberg.rest.responses.FetchScanTasksResponse"
"""How Iceberg's REST catalogs tell a plan: with each delete file once."""

_SPECS: Final = "org.apache.iceberg.PartitionSpecParser"


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file that says which rows of others are deleted."""

    content: str
    """`position-deletes` or `equality-deletes`."""

    path: str
    format: str
    """`parquet`, `puffin` (a deletion vector in it) …"""

    equality_ids: tuple[int, ...] = ()
    referenced: str | None = None
    """The one data file it is for, if it says so."""

    offset: int = 0
    length: int = 0
    """Where in the file a deletion vector is."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with rows."""

    path: str
    format: str
    rows: int
    size: int
    spec: int
    partition: tuple[Any, ...]
    """Values of the spec's fields, as Iceberg's JSON has single values."""

    deletes: tuple[DeleteFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be read for a scan."""

    files: tuple[DataFile, ...]
    filters: str | None
    """The conditions that Iceberg was given, as its JSON has them."""

    identities: Mapping[int, Mapping[int, int]]
    """By spec and place in the partition, the ids of the columns whose value a partition has."""


NOTHING: Final = Plan((), None, {})


def plan(table: OpenTable, scan: Scan, version: Version) -> Plan:
    """Plan a scan of a table at `version`.

    Raises:
        InvalidQuery: the changes it asks for cannot be had.
        CatalogUnavailable: the table's manifests cannot be read.
    """
    if version.snapshot is None:
        return NOTHING
    condition = expression(scan.filters, version.schema)
    try:
        tasks = _tasks(table, scan, version, condition)
        if tasks is None:
            return NOTHING
        identities = _identities(table)
        return Plan(_files(tasks), condition, identities)
    except java_errors() as error:
        raise CatalogUnavailable(f"plan the files of {table.name}", java_message(error)) from error


def _tasks(table: OpenTable, scan: Scan, version: Version, condition: str | None) -> str | None:
    jvm = table.jvm
    if scan.since is None:
        java = table.java.newScan()
        if not version.is_current:
            java = java.useSnapshot(version.snapshot)
    else:
        assert version.snapshot is not None  # noqa: S101 (the caller has looked)
        start = table.start(scan.since, version.snapshot)
        if start == version.snapshot:
            return None
        java = table.java.newIncrementalAppendScan().toSnapshot(version.snapshot)
        if start is not None:
            java = java.fromSnapshotExclusive(start)
    if condition is not None:
        java = java.filter(java_type(jvm, _EXPRESSIONS).fromJson(condition, java.schema()))
    tasks = java_type(jvm, LISTS).newArrayList(java.planFiles())
    response = java_type(jvm, _RESPONSES).builder(table.java.specs()).withFileScanTasks(tasks).build()
    return str(java_type(jvm, f"{_RESPONSES}Parser").toJson(response))


def _files(text: str) -> tuple[DataFile, ...]:
    plan = orjson.loads(text)
    deletes = [_delete_file(each) for each in plan.get("delete-files", ())]
    return tuple(_data_file(each, deletes) for each in plan.get("file-scan-tasks", ()))


def _delete_file(file: dict[str, Any]) -> DeleteFile:
    return DeleteFile(
        file["content"],
        file["file-path"],
        file["file-format"],
        tuple(file.get("equality-ids", ())),
        file.get("referenced-data-file"),
        file.get("content-offset", 0),
        file.get("content-size-in-bytes", 0),
    )


def _data_file(task: dict[str, Any], deletes: Sequence[DeleteFile]) -> DataFile:
    file = task["data-file"]
    return DataFile(
        file["file-path"],
        file["file-format"],
        file["record-count"],
        file["file-size-in-bytes"],
        file["spec-id"],
        tuple(file["partition"]),
        tuple(deletes[each] for each in task.get("delete-file-references", ())),
    )


def _identities(table: OpenTable) -> dict[int, dict[int, int]]:
    specs, parser = table.java.specs(), java_type(table.jvm, _SPECS)
    found = {}
    for number in specs:
        fields = orjson.loads(str(parser.toJson(specs[number])))["fields"]
        found[int(number)] = {
            place: each["source-id"] for place, each in enumerate(fields) if each["transform"] == "identity"
        }
    return found
