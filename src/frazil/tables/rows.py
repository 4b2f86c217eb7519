"""The rows that one snapshot added, as a DataFrame: those of its own data files, whatever happened to them since.

What `spark.read` offers with `start-snapshot-id` and `end-snapshot-id` reads the same files, but as the table is now:
without columns that were dropped since. So Spark is given the table as it was known here, with the schema the snapshot
was committed with, and looks nothing up again however late the DataFrame is used.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from frazil.errors import CatalogUnavailable
from frazil.tables.jvm import JAVA_ERRORS, java_message
from frazil.tables.table import Table


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
            version = jvm.org.apache.iceberg.spark.TimeTravel.version(str(snapshot))
            return _frame(session, jvm.org.apache.iceberg.spark.source.SparkTable.create(fixed, version), {})
        boundaries = {"start-snapshot-id": str(parent), "end-snapshot-id": str(snapshot)}
        return _frame(session, jvm.org.apache.iceberg.spark.source.SparkTable(fixed), boundaries)
    except JAVA_ERRORS as error:
        raise CatalogUnavailable(f"read snapshot {snapshot} of {table.name}", java_message(error)) from error


def _as_of(jvm: Any, table: Any, snapshot: Any) -> Any:
    """Iceberg's table as it is now, and stays, but with the schema of the snapshot."""
    metadata = table.operations().current()
    if snapshot.schemaId() is not None and snapshot.schemaId() != metadata.currentSchemaId():
        builder = jvm.org.apache.iceberg.TableMetadata.buildFrom(metadata).setCurrentSchema(snapshot.schemaId())
        # It is committed nowhere: a version with changes would be one that has no file yet.
        metadata = builder.discardChanges().withMetadataLocation(metadata.metadataFileLocation()).build()
    operations = jvm.org.apache.iceberg.StaticTableOperations(metadata, table.io())
    return jvm.org.apache.iceberg.BaseTable(operations, table.name())


def _frame(session: SparkSession, table: Any, options: dict[str, str]) -> DataFrame:
    """A DataFrame that reads Spark's `table` with these options, as `session.read` makes it of a table it looked up."""
    jvm = session._jvm  # noqa: SLF001
    nothing = jvm.scala.Option.empty()
    relation = jvm.org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation.create(
        table, nothing, nothing, jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(options), nothing
    )
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, relation), session)  # noqa: SLF001
