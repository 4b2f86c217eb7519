"""Tables for tests of queries: made by Spark, read by the engine and by Spark."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil.model import TableName
from frazil.queries.engine import Engine
from frazil.snowflake.compiled import Compiled, Filter, ResultColumn, Scan
from frazil.snowflake.lake import NOW, Moment
from frazil.tables.iceberg.catalog import Catalog

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Tables:
    spark: SparkSession
    catalog: Catalog
    engine: Engine
    warehouse: Path

    def create(self, columns: str, how: str = "", **properties: str) -> TableName:
        """A new table; `how` is what CREATE TABLE says beside its columns and properties."""
        name = TableName(("public",), f"T{next(_numbers)}")
        told = {"format-version": "3", **{key.replace("_", "."): text for key, text in properties.items()}}
        listed = ", ".join(f"'{key}' = '{text}'" for key, text in told.items())
        self.spark.sql(f"CREATE TABLE {self.path(name)} ({columns}) USING iceberg {how} TBLPROPERTIES ({listed})")
        return name

    def path(self, name: TableName) -> str:
        """The table in Spark's SQL."""
        return f"{self.catalog.name}.public.{name.name}"

    def sql(self, name: TableName, *statements: str) -> None:
        """Run statements of Spark's, in which `{t}` is the table."""
        for each in statements:
            self.spark.sql(each.replace("{t}", self.path(name)))

    def java(self, name: TableName) -> Any:
        """Iceberg's own."""
        return self.catalog.load(name)

    def files(self, name: TableName) -> list[Path]:
        """Its data files, as they are in its directory."""
        return sorted((self.warehouse / "public" / name.name / "data").rglob("*.parquet"))

    def snapshots(self, name: TableName) -> list[int]:
        """The ids of its snapshots, oldest first."""
        rows = self.spark.sql(f"SELECT snapshot_id FROM {self.path(name)}.snapshots ORDER BY committed_at").collect()
        return [row[0] for row in rows]

    def read(
        self,
        name: TableName,
        select: str = "SELECT * FROM t",
        *,
        columns: Sequence[str] | None = None,
        moment: Moment = NOW,
        since: Moment | None = None,
        filters: Sequence[Filter] = (),
        width: int | None = None,
    ) -> list[tuple[Any, ...]]:
        """What the engine answers; the table is called `t` in the query, which gives `width` columns, or all."""
        scan = Scan("t", name, tuple(columns) if columns else None, moment, since, tuple(filters))
        self.engine.lake.forget()
        width = width or len(columns or self.engine.lake.columns(name, moment))
        return rows(self.run(select, width, scan))

    def run(self, text: str, width: int, *scans: Scan) -> pa.Table:
        """What the engine answers to DuckDB SQL that gives so many columns."""
        heads = tuple(ResultColumn(f"C{number}") for number in range(width))
        return self.engine.run(Compiled(text, heads, scans)).batches.read_all()

    def by_spark(self, name: TableName, select: str = "SELECT * FROM t") -> list[tuple[Any, ...]]:
        """What Spark answers to the same."""
        self.spark.table(self.path(name)).createOrReplaceTempView("t")
        return [tuple(_plain(value) for value in row) for row in self.spark.sql(select).collect()]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(_plain(value) for value in row.values()) for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if hasattr(value, "asDict"):
        return {key: _plain(each) for key, each in value.asDict().items()}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
