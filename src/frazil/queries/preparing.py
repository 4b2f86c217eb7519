"""From a compiled query to a locked connection that has a view for each of its tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import duckdb

from frazil.errors import SparkNeeded
from frazil.queries import information, locked, spark, views
from frazil.queries.fields import Field, fields_of
from frazil.queries.files import Access, Files
from frazil.queries.footers import Footers
from frazil.queries.lake import CatalogLake
from frazil.queries.planning import Plan, plan
from frazil.queries.versions import OpenTable, Version
from frazil.queries.waiting import Cancelling
from frazil.snowflake.compiled import Compiled, Scan
from frazil.snowflake.tables import INFORMATION_SCHEMA
from frazil.sql import ident, literals
from frazil.tables.iceberg.access import access

SPILL: Final = "spill"
"""Where DuckDB puts what memory has no room for. A query may read there, so nothing else is there."""


class Preparing:
    """What all statements of an engine are prepared with."""

    def __init__(self, lake: CatalogLake, needs_spark: spark.NeedsSpark | None, scratch: Path) -> None:
        self._lake = lake
        self._needs_spark = needs_spark
        self._scratch = scratch
        self._footers = Footers()
        self._numbers = itertools.count()

    def prepare(self, compiled: Compiled, cancelling: Cancelling) -> tuple[duckdb.DuckDBPyConnection, dict[str, Plan]]:
        """A connection that reads what a query needs and nothing else, and the plans by the scans' places."""
        planned = [(scan, *cancelling.wait(self._planning(scan))) for scan in compiled.scans if not _is_listing(scan)]
        connection = locked.opened(self._scratch / SPILL)
        try:
            cancelling.on_cancel(lambda: _interrupt(connection))
            files = Files(connection)
            reading = views.Reading(connection, files, self._footers)
            for scan in compiled.scans:
                if _is_listing(scan):
                    rows = cancelling.wait(partial(information.rows, scan, self._lake))
                    information.create(connection, scan, rows)
            for scan, table, version, found in planned:
                self._view(scan, table, version, found, reading)
                cancelling.check()
            locked.lock(connection, files)
        except BaseException:
            connection.close()
            raise
        return connection, {scan.place: found for scan, _, _, found in planned}

    def _planning(self, scan: Scan) -> Callable[[], tuple[OpenTable, Version, Plan]]:
        def planned() -> tuple[OpenTable, Version, Plan]:
            table = self._lake.opened(scan.table)
            version = table.at(scan.moment)
            return table, version, plan(table, scan, version)

        return planned

    def _view(self, scan: Scan, table: OpenTable, version: Version, found: Plan, reading: views.Reading) -> None:
        fields = fields_of(version.schema)
        if views.is_exact(found, fields) and not table.is_encrypted:
            views.create(scan, found, fields, table.property(views.MAPPING), reading, _access(table))
        else:
            self._by_spark(scan, version, fields, reading)

    def _by_spark(self, scan: Scan, version: Version, fields: Sequence[Field], reading: views.Reading) -> None:
        if self._needs_spark is None:
            raise SparkNeeded(f"the table {scan.table} cannot be read", "it has files that only Spark reads")
        chosen = views.wanted(scan, fields)
        directory = self._scratch / f"spark-{next(self._numbers)}"
        directory.mkdir()
        found = spark.hand_over(self._needs_spark(), self._lake.name, scan, version, chosen, directory)
        names = literals(reading.files.name(str(each), lambda _: {}) for each in found)
        selected = spark.columns(chosen, views.called(chosen, fields))
        source = f"read_parquet({names})" if found else _nothing(len(chosen))
        reading.connection.execute(f"CREATE VIEW {ident(scan.place)} AS SELECT {selected} FROM {source}")


def _interrupt(connection: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.ConnectionException):  # it has answered, and is closed
        connection.interrupt()


def _is_listing(scan: Scan) -> bool:
    """Whether it is a table of information_schema, which is in no file."""
    return scan.table.namespace == (INFORMATION_SCHEMA,)


def _access(table: OpenTable) -> Access:
    return lambda location: access(table.java, table.jvm, location)


def _nothing(columns: int) -> str:
    return f"(SELECT {', '.join(f'NULL AS c{number}' for number in range(columns))} WHERE false)"
