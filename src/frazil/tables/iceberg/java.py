"""Iceberg's Java objects behind our own types: the one module that knows their names."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

import orjson
from py4j.protocol import Py4JError

from frazil.errors import CatalogUnavailable
from frazil.model import PLAIN_LAYOUT, Column, Layout, PartitionValue, StagedFile
from frazil.tables.rules.layout import layout_from_json
from frazil.tables.rules.lengths import LENGTHS, with_lengths
from frazil.tables.rules.schema import columns_from_json
from frazil.tables.rules.state import LogEntry

SCHEMA_PARSER: Final = "org.apache.iceberg.SchemaParser"
_SPEC_PARSER: Final = "org.apache.iceberg.PartitionSpecParser"
_ORDER_PARSER: Final = "org.apache.iceberg.SortOrderParser"
_SQLITE_DISK: Final = re.compile(r"\[SQLITE_(FULL|IOERR|READONLY|CANTOPEN)")
_SQLITE_FILE: Final = (
    "this is about the catalog's SQLite file: `catalog.db` in the home, unless the catalog's `uri` names another"
)


class JvmSnapshot:
    """An Iceberg snapshot."""

    def __init__(self, java: Any, table: Any) -> None:
        """Wrap Iceberg's Java snapshot of its Java `table`."""
        self._java = java
        self._table = table
        self._summary: Any = None

    @property
    def id(self) -> int:
        return int(self._java.snapshotId())

    @property
    def parent(self) -> int | None:
        parent = self._java.parentId()
        return None if parent is None else int(parent)

    @property
    def sequence_number(self) -> int:
        return int(self._java.sequenceNumber())

    @property
    def timestamp(self) -> int:
        return int(self._java.timestampMillis())

    def summary(self, key: str) -> str | None:
        if self._summary is None:
            self._summary = self._java.summary()
        value = self._summary.get(key)
        return None if value is None else str(value)

    def added_file(self) -> str | None:
        try:
            added = self._java.addedDataFiles(self._table.io()).iterator()
            return str(added.next().location()).rpartition("/")[2] if added.hasNext() else None
        except java_errors() as error:
            raise CatalogUnavailable(f"read the manifests of snapshot {self.id}", java_message(error)) from error


class JvmState:
    """One version of a table: Iceberg's TableMetadata."""

    def __init__(self, java: Any, jvm: Any, table: Any) -> None:
        """Wrap the metadata of Iceberg's Java `table`."""
        self._java = java
        self._jvm = jvm
        self._table = table

    @property
    def uuid(self) -> str:
        return str(self._java.uuid())

    @property
    def schema_id(self) -> int:
        return int(self._java.currentSchemaId())

    @property
    def spec_id(self) -> int:
        return int(self._java.defaultSpecId())

    @property
    def sort_order_id(self) -> int:
        return int(self._java.defaultSortOrderId())

    @property
    def format_version(self) -> int:
        """Iceberg's format version."""
        return int(self._java.formatVersion())

    @property
    def layout(self) -> Layout:
        """What the default partition spec and the default sort order ask of data files."""
        spec, order = self._java.spec(), self._java.sortOrder()
        if spec.fields().isEmpty() and not order.isSorted():
            return PLAIN_LAYOUT
        return layout_from_json(
            str(java_type(self._jvm, _SPEC_PARSER).toJson(spec)), str(java_type(self._jvm, _ORDER_PARSER).toJson(order))
        )

    @property
    def encrypted(self) -> bool:
        """Whether the table's files are encrypted by Iceberg."""
        return self.property("encryption.key-id") is not None or not self._java.encryptionKeys().isEmpty()

    @property
    def next_sequence_number(self) -> int:
        return int(self._java.nextSequenceNumber())

    @cached_property
    def metadata_location(self) -> str | None:
        """Where the metadata file of this version is; None as long as it is not written."""
        location = self._java.metadataFileLocation()
        return None if location is None else str(location)

    @property
    def last_changed(self) -> int:
        log, updated = self._java.snapshotLog(), int(self._java.lastUpdatedMillis())
        entries = int(log.size())
        return max(updated, int(log.get(entries - 1).timestampMillis())) if entries else updated

    @property
    def snapshot_log(self) -> Iterator[LogEntry]:
        for entry in elements(self._java.snapshotLog()):
            yield LogEntry(int(entry.timestampMillis()), int(entry.snapshotId()))

    @property
    def references(self) -> Mapping[str, int]:
        found = self._java.refs()
        names = java_type(self._jvm, "java.util.ArrayList")(found.keySet())
        return {str(name): int(found[name].snapshotId()) for name in elements(names)}

    @property
    def current(self) -> JvmSnapshot | None:
        java = self._java.currentSnapshot()
        return None if java is None else JvmSnapshot(java, self._table)

    def snapshot(self, identity: int) -> JvmSnapshot | None:
        java = self._java.snapshot(identity)
        return None if java is None else JvmSnapshot(java, self._table)

    def columns(self) -> Sequence[Column]:
        found = columns_from_json(java_type(self._jvm, SCHEMA_PARSER).toJson(self._java.schema()))
        return with_lengths(found, self.property(LENGTHS))

    def property(self, key: str) -> str | None:
        value = self._java.properties().get(key)
        return None if value is None else str(value)

    def properties_under(self, prefix: str) -> Mapping[str, str]:
        found = mapping(self._jvm, self._java.properties())
        return {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)}


def data_file(jvm: Any, java_table: Any, file: StagedFile, spec_id: int, sort_order_id: int) -> Any:
    """A staged file as Iceberg's DataFile."""
    unsayable = any(isinstance(value, float) and not math.isfinite(value) for value in file.partition)
    document = {
        "spec-id": spec_id,
        "content": "DATA",
        "file-path": file.path,
        "file-format": "PARQUET",
        "partition": [None] * len(file.partition) if unsayable else file.partition,
        "sort-order-id": sort_order_id,
        "file-size-in-bytes": file.size,
        "record-count": file.rows,
        **file.metrics,
    }
    node, specs = _mapper(jvm).readTree(orjson.dumps(document).decode()), java_table.specs()
    made = java_type(jvm, "org.apache.iceberg.ContentFileParser").fromJson(node, specs)
    if not unsayable:
        return made
    # JSON has no NaN and no infinities; what Iceberg reads from the names of directories has them.
    values = java_type(jvm, "java.util.ArrayList")()
    for value in file.partition:
        values.add(_as_text(value))
    builder = java_type(jvm, "org.apache.iceberg.DataFiles").builder(specs[spec_id])
    return builder.copy(made).withPartitionValues(values).build()


def _as_text(value: PartitionValue) -> str | None:
    """A value of a partition as Java's own types are read from text."""
    match value:
        case bool():
            return str(value).lower()
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float() if math.isnan(value):
            return "NaN"
        case None:
            return None
        case _:
            return str(value)


def elements(listed: Any) -> Iterator[Any]:
    """What a list of Java's has, one by one.

    Iterating as py4j does ends with an exception of Java's: to bring that over takes 10 ms, as much as a whole swap.
    """
    return (listed[number] for number in range(len(listed)))


def mapping(jvm: Any, java: Any) -> dict[str, str]:
    """A map of Java's, fetched at once: every entry asked for would be a call."""
    text = java_type(jvm, "org.apache.iceberg.util.JsonUtil").mapper().writeValueAsString(java)
    return {str(key): str(value) for key, value in orjson.loads(text).items()}


@lru_cache
def java_type(jvm: Any, name: str) -> Any:
    """A Java class by its full name, looked up once: py4j asks the JVM about every part of a dotted name, 1 ms each."""
    return getattr(jvm, name)


@lru_cache
def _mapper(jvm: Any) -> Any:
    return java_type(jvm, "org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper")()


def java_errors() -> tuple[type[Exception], ...]:
    """What a call into the JVM may raise: py4j's errors, and those PySpark makes of the exceptions it knows.

    PySpark makes none before it is imported, which takes half a second that commands without Spark save.
    """
    made = getattr(sys.modules.get("pyspark.errors"), "PySparkException", None)
    return (Py4JError, made) if made else (Py4JError,)


def java_class(error: Exception) -> str:
    """The simple name of the Java exception's class; of the Python one's where none came from Java."""
    exception = java_exception(error)
    return type(error).__name__ if exception is None else str(exception.getClass().getSimpleName())


def java_message(error: Exception) -> str:
    """One line on a Java exception: its class, its message, and its deepest cause where that says more."""
    exception = java_exception(error)
    if exception is None:
        return f"{type(error).__name__}: {error}"
    said = f"{exception.getClass().getSimpleName()}: {exception.getMessage()}"
    cause = exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    deepest = str(cause.getMessage())
    whole = said if deepest in said else f"{said} ({cause.getClass().getSimpleName()}: {deepest})"
    return f"{whole}; {_SQLITE_FILE}" if _SQLITE_DISK.search(whole) else whole


def java_exception(error: Exception) -> Any:
    """The Java exception behind an error; None if there is none."""
    # PySpark's own exceptions keep Java's as their origin, py4j's as theirs.
    return getattr(error, "java_exception" if isinstance(error, Py4JError) else "_origin", None)
