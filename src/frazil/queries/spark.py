"""Tables that DuckDB does not read exactly: Spark reads them, and leaves Parquet files for one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from frazil.errors import InvalidQuery
from frazil.queries.fields import Field, duckdb_type
from frazil.queries.versions import Version
from frazil.snowflake.compiled import Scan
from frazil.sql import ident
from frazil.tables.iceberg.java import java_errors, java_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NeedsSpark = Callable[[], "SparkSession"]
"""Starts Spark, or gives the session there is."""

_TIMES: Final = "spark.sql.parquet.outputTimestampType"
_log = structlog.get_logger(__name__)


def hand_over(
    session: SparkSession, catalog: str, scan: Scan, version: Version, chosen: Sequence[Field], directory: Path
) -> list[Path]:
    """Have Spark read a scan's columns into files below `directory`; gives these.

    Raises:
        InvalidQuery: Spark cannot read the table either, or not on this machine.
    """
    if scan.since is not None:
        raise InvalidQuery(f"{scan.table}: CHANGES of a table like this cannot be read")
    if not session.sparkContext.master.startswith("local"):
        # What executors write to their own disks would be missing here, and nobody would say so.
        raise InvalidQuery(
            f"{scan.table} has files that only Spark reads, and its executors may be on other machines. Run the query "
            "in a session of your own, or with spark.master=local[2]"
        )
    _log.info("Spark reads a table, which takes longer", table=str(scan.table))
    read = session.read
    if not version.is_current and version.snapshot is not None:
        read = read.option("snapshot-id", version.snapshot)
    name = ".".join(map(_quoted, (catalog, *scan.table.namespace, scan.table.name)))
    target = directory / "rows"
    before = session.conf.get(_TIMES)
    session.conf.set(_TIMES, "TIMESTAMP_MICROS")
    try:
        table = read.table(name)
        renamed = (f"{_quoted(each['name'])} AS c{number}" for number, each in enumerate(chosen))
        table.selectExpr(*renamed).write.parquet(target.as_uri())
    except java_errors() as error:
        raise InvalidQuery(f"{scan.table}: Spark cannot read it: {java_message(error)[:300]}") from error
    finally:
        session.conf.set(_TIMES, before)
    return sorted(target.glob("*.parquet"))


def columns(chosen: Sequence[Field], called: Sequence[str]) -> str:
    """The select list over such files, whose columns are c0, c1 …: in the types of the table, under its names."""
    return ", ".join(
        f"c{number}::{duckdb_type(each['type'])} AS {ident(name)}"
        for number, (each, name) in enumerate(zip(chosen, called, strict=True))
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
