"""The rows that one snapshot added, as a DataFrame: those of its own data files, whatever happened to them since.

What `spark.read` offers with `start-snapshot-id` and `end-snapshot-id` reads the same files, but as the table is now:
without columns that were dropped since. So Spark is given the table as it was known here, with the schema the snapshot
was committed with, and looks nothing up again however late the DataFrame is used.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from frazil.errors import CatalogUnavailable
from frazil.tables.iceberg.java import java_errors, java_message, java_type
from frazil.tables.iceberg.table import Table

_ICEBERG: Final = "org.apache.iceberg"
_SPARK: Final = f"{_ICEBERG}.spark"
_TABLE: Final = f"{_SPARK}.source.SparkTable"
_RELATION: Final = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
_OPTIONS: Final = "org.apache.spark.sql.util.CaseInsensitiveStringMap"
_DATASET: Final = "org.apache.spark.sql.classic.Dataset"


def added_rows(session: SparkSession, table: Table, snapshot: int) -> DataFrame:
    """The rows that a snapshot of the version of `table` read last appended to it.

    Raises:
        CatalogUnavailable: the table's metadata could not be read.
    """
    jvm = session._jvm  # noqa: SLF001 (pyspark has no public way to its JVM)
    try:
        java = table.java.operations().current().snapshot(snapshot)
        fixed = _as_of(jvm, table.java, java)
        parent = java.parentId()
        if parent is None:
            # All the table had then, it had from this snapshot.
            version = java_type(jvm, f"{_SPARK}.TimeTravel").version(str(snapshot))
            return _frame(session, java_type(jvm, _TABLE).create(fixed, version), {})
        boundaries = {"start-snapshot-id": str(parent), "end-snapshot-id": str(snapshot)}
        return _frame(session, java_type(jvm, _TABLE)(fixed), boundaries)
    except java_errors() as error:
        raise CatalogUnavailable(f"read snapshot {snapshot} of {table.name}", java_message(error)) from error


def _as_of(jvm: Any, table: Any, snapshot: Any) -> Any:
    """Iceberg's table as it is now, and stays, but with the schema of the snapshot."""
    metadata = table.operations().current()
    if snapshot.schemaId() is not None and snapshot.schemaId() != metadata.currentSchemaId():
        builder = java_type(jvm, f"{_ICEBERG}.TableMetadata").buildFrom(metadata)
        # It is committed nowhere: a version with changes would be one that has no file yet.
        builder = builder.setCurrentSchema(snapshot.schemaId()).discardChanges()
        metadata = builder.withMetadataLocation(metadata.metadataFileLocation()).build()
    operations = java_type(jvm, f"{_ICEBERG}.StaticTableOperations")(metadata, table.io())
    return java_type(jvm, f"{_ICEBERG}.BaseTable")(operations, table.name())


def _frame(session: SparkSession, table: Any, options: dict[str, str]) -> DataFrame:
    """A DataFrame that reads Spark's `table` with these options, as `session.read` makes it of a table it looked up."""
    jvm = session._jvm  # noqa: SLF001
    nothing = java_type(jvm, "scala.Option").empty()
    relation = java_type(jvm, _RELATION).create(table, nothing, nothing, java_type(jvm, _OPTIONS)(options), nothing)
    return DataFrame(java_type(jvm, _DATASET).ofRows(session._jsparkSession, relation), session)  # noqa: SLF001
