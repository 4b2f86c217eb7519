"""How long a person waits for an answer: from the shell, and for the next statement of a prompt.

    python bench/queries.py [--runs 5] [--rows 10000000] [--files 100] [--before DIRECTORY]

`--before` names the `src` directory of another checkout, whose `frazil sql` takes turns with ours from the shell. The
tables are made first: ORDERS as large as the demo's, and EVENTS, whose files have bounds on `id`. The first run of each
is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
from rich.table import Table

import frazil
from common import CONSOLE
from frazil.sql import literal
from frazil.tables.jvm.asked import Asked
from frazil.tables.jvm.opening import begin_prepared

FRAZIL: Final = str(Path(sys.executable).with_name("frazil"))
DEMO: Final = 60_000
"""Rows that the demo lands in half a minute."""

SCHEMA: Final = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "ID", "required": False, "type": "long"},
        {"id": 2, "name": "STATUS", "required": False, "type": "string"},
        {"id": 3, "name": "TOTAL", "required": False, "type": "decimal(12, 2)"},
        {"id": 4, "name": "AT", "required": False, "type": "timestamptz"},
    ],
}
ROWS: Final = """
SELECT n AS "ID", ['new', 'paid', 'sent', 'lost'][1 + n % 4] AS "STATUS",
    CAST(n % 100000 / 100 AS DECIMAL(12, 2)) AS "TOTAL", TIMESTAMPTZ '2026-01-01' + to_seconds(n) AS "AT"
FROM range({start}, {end}) AS r(n)"""
GROUPED: Final = "select status, count(*) n, round(sum(total)) total from orders group by status order by n desc"
COUNT: Final = "select count(*) n from events"


def main() -> None:
    asked = arguments()
    sources = {"now": Path(frazil.__file__).parents[1]} | ({"before": asked.before} if asked.before else {})
    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory:
        home = Path(directory, "home")
        make(home, {"ORDERS": (DEMO, 1), "EVENTS": (asked.rows, asked.files)})
        look_up = f"select * from events where id = {asked.rows * 2 // 3}"
        from_the_shell(home, sources, (GROUPED, COUNT, look_up), asked.runs)
        at_the_prompt(home, (GROUPED, COUNT, look_up), asked.runs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--before", type=Path, help="the src directory of another checkout")
    return parser.parse_args()


def make(home: Path, tables: dict[str, tuple[int, int]]) -> None:
    """Make tables of so many rows in so many files each: DuckDB writes them, Iceberg reads their bounds."""
    opening = begin_prepared(Asked(home, {}, None))
    try:
        jvm, catalog = opening.gateway.jvm, opening.catalog
        levels = opening.gateway.new_array(jvm.String, 1)
        levels[0] = "public"
        namespace = jvm.org.apache.iceberg.catalog.Namespace.of(levels)
        catalog.createNamespace(namespace)
        schema = jvm.org.apache.iceberg.SchemaParser.fromJson(json.dumps(SCHEMA))
        for name, (rows, files) in tables.items():
            identifier = jvm.org.apache.iceberg.catalog.TableIdentifier.of(namespace, name)
            table = catalog.buildTable(identifier, schema).withProperty("format-version", "3").create()
            append(jvm, table, home / "files" / name, rows, files)
    finally:
        opening.end()


def append(jvm: Any, table: Any, directory: Path, rows: int, files: int) -> None:
    directory.mkdir(parents=True)
    update = table.newAppend()
    metrics = jvm.org.apache.iceberg.MetricsConfig.forTable(table)
    for number in range(files):
        path = directory / f"{number}.parquet"
        query = ROWS.format(start=rows * number // files, end=rows * (number + 1) // files)
        ids = "{'ID': 1, 'STATUS': 2, 'TOTAL': 3, 'AT': 4}"
        duckdb.sql("SET TimeZone = 'UTC'")
        duckdb.sql(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd, FIELD_IDS {ids})")
        found = jvm.org.apache.iceberg.parquet.ParquetUtil.fileMetrics(table.io().newInputFile(path.as_uri()), metrics)
        builder = jvm.org.apache.iceberg.DataFiles.builder(table.spec()).withPath(path.as_uri())
        update.appendFile(
            builder.withFormat("parquet").withFileSizeInBytes(path.stat().st_size).withMetrics(found).build()
        )
    update.commit()


def from_the_shell(home: Path, sources: dict[str, Path], queries: tuple[str, ...], runs: int) -> None:
    """Each version in turns, a process for every answer."""
    shown = Table("from the shell", "version", "seconds", title=f"load {os.getloadavg()[0]:.1f}")
    for query in queries:
        times: dict[str, list[float]] = {version: [] for version in sources}
        for _ in range(runs + 1):
            for version, source in sources.items():
                times[version].append(run(home, source, query))
        for version, found in times.items():
            shown.add_row(query, version, f"{statistics.median(found[1:]):.2f}")
    CONSOLE.print(shown)


def run(home: Path, source: Path, query: str) -> float:
    began = time.monotonic()
    subprocess.run(
        [FRAZIL, "sql", "--home", str(home), "--format", "json", query],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.monotonic() - began


def at_the_prompt(home: Path, queries: tuple[str, ...], runs: int) -> None:
    """One process, asked again and again through pipes."""
    shown = Table("the next statement of a process", "milliseconds", title=f"load {os.getloadavg()[0]:.1f}")
    with asking(home) as ask:
        ask("select 1")
        for query in queries:
            times = [ask(query) for _ in range(runs + 1)]
            shown.add_row(query, f"{1000 * statistics.median(times[1:]):.0f}")
    CONSOLE.print(shown)


@contextmanager
def asking(home: Path) -> Iterator[Any]:
    command = [FRAZIL, "sql", "--home", str(home), "--format", "csv"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        told, said = running.stdin, running.stdout
        if told is None or said is None:
            raise SystemExit("there are no pipes")

        def ask(query: str) -> float:
            began = time.monotonic()
            told.write(f"{query};\n")
            told.flush()
            rows = 4 if query == GROUPED else 1
            for _ in range(1 + rows):
                if not said.readline():
                    raise SystemExit("frazil sql has ended; its message is above")
            return time.monotonic() - began

        yield ask


if __name__ == "__main__":
    main()
