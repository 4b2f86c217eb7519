"""What a pipe costs: chunks of orders through the converter and each pipe, in one process, side by side.

    python bench/pipes.py [--records 40000] [--runs 9] [--only NAME…]

CPU time, medians; nothing is read from a broker. The ratios are to the first pipe.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import duckdb
import pyarrow as pa

from common import CONSOLE, Columns, described, machine, plain, show
from frazil.dev.orders import order
from frazil.model import (
    Column,
    Conversion,
    Layout,
    LayoutTransform,
    PartitionField,
    Primitive,
    TableName,
    TableRules,
    WriteShape,
)
from frazil.pipes.base import Pipe
from frazil.pipes.content import COLUMN, ContentPipe
from frazil.pipes.default.pipe import DefaultPipe
from frazil.pipes.sql.compiling import compile_pipe
from frazil.pipes.sql.pipe import SqlPipe
from frazil.records.convert import RecordConverter
from frazil.snowflake.pipes import read_pipe
from frazil.sources.kafka.reader import SCHEMA
from frazil.staging.project import Projector
from frazil.staging.rows import Rows, rows_for
from frazil.staging.worker import locked_down
from subject_stage import TABLES, numbered

COLUMNS: Columns = {
    "pipe": ("pipe", str),
    "records/CPU-s": ("records_cpu_s", plain(0)),
    "of the first": ("of_first", plain(2)),
}

LAYOUTS: Final = {
    "default, by day": ("order_date", LayoutTransform("day")),
    "default, by bucket(16)": ("order_id", LayoutTransform("bucket", 16)),
}
"""The partitions of those tables that have them, by pipe."""

_WHOLE: Final = Conversion(whole_records=True)
_MAY_CHANGE: Final = TableRules("ORDERS", "rescue", "evolve", may_change=True)


def _default(table: str, **options: object) -> Callable[[], Pipe]:
    return lambda: DefaultPipe(numbered(TABLES[table]), Conversion(), **options)  # type: ignore[arg-type]


def _content(kind: str) -> Callable[[], Pipe]:
    return lambda: ContentPipe(numbered((Column(0, COLUMN, Primitive(kind)),)), _WHOLE)


def _metadata_as_variant() -> Pipe:
    first, *others = numbered(TABLES["nested, structs"])
    return DefaultPipe((replace(first, type=Primitive("variant")), *others), Conversion())


CASTS: Final = {
    "order_id": ("order_id::NUMBER(18, 0)", "long"),
    "customer_name": ("customer_name::STRING", "string"),
    "order_total": ("order_total::DOUBLE", "double"),
    "is_paid": ("isPaid::BOOLEAN", "boolean"),
    "order_date": ("order_date::TIMESTAMP_TZ", "timestamptz"),
    "status": ("status::STRING", "string"),
    "city": ("address.city::STRING", "string"),
    "zip": ("address.zip::STRING", "string"),
    "latitude": ("address.geo.lat::DOUBLE", "double"),
    "note": ("note::STRING", "string"),
}
"""The items of the user's pipe, by column, and the columns' types."""


def _ten_casts() -> Pipe:
    columns = numbered(tuple(Column(0, name, Primitive(kind)) for name, (_, kind) in CASTS.items()))
    items = ", ".join(["$1:RECORD_METADATA", *(f"$1:{item}" for item, _ in CASTS.values())])
    source = "TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"
    statement = read_pipe(f"CREATE PIPE ORDERS AS COPY INTO ORDERS FROM (SELECT {items} FROM {source})")
    return SqlPipe(compile_pipe(statement, "ORDERS", columns, Conversion()), columns, Conversion())


PIPES: Mapping[str, Callable[[], Pipe]] = {
    "default, structs": _default("nested, structs"),
    "a user's, ten casts": _ten_casts,
    "default, metadata as VARIANT": _metadata_as_variant,
    "default, by day": _default("nested, structs"),
    "default, by bucket(16)": _default("nested, structs"),
    "default, structs, may evolve": _default("nested, structs", evolves=True, rules=_MAY_CHANGE),
    "default, VARIANT": _default("nested, VARIANT"),
    "RECORD_CONTENT, VARIANT": _content("variant"),
    "RECORD_CONTENT, JSON text": _content("string"),
}


def main() -> None:
    asked = arguments()
    batch = orders(asked.records)
    spent: dict[str, list[float]] = {name: [] for name in asked.only}
    with tempfile.TemporaryDirectory(prefix="frazil-bench-") as directory:
        connection = locked_down(Path(directory))
        for _ in range(asked.runs):
            for name, times in spent.items():
                times.append(cpu_seconds(connection, name, batch, Path(directory)))
    speeds = {name: asked.records / statistics.median(times) for name, times in spent.items()}
    first = speeds[asked.only[0]]
    CONSOLE.print(described(machine()))
    rows = [{"pipe": name, "records_cpu_s": speed, "of_first": speed / first} for name, speed in speeds.items()]
    show(f"{asked.records:,} orders a chunk", COLUMNS, rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=40_000, help="in a chunk")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=list(PIPES), default=list(PIPES), metavar="NAME")
    return parser.parse_args()


def orders(count: int) -> pa.RecordBatch:
    """Records as the reader gives them."""
    chance = Random(0)
    fields = {
        "topic": ["orders"] * count,
        "partition": [0] * count,
        "offset": range(count),
        "timestamp": [1_760_000_000_000] * count,
        "log_append_time": [False] * count,
        "key": [b"%d" % number for number in range(count)],
        "headers": [None] * count,
        "value": [order(number, chance) for number in range(count)],
    }
    return pa.RecordBatch.from_arrays([pa.array(fields[each.name], each.type) for each in SCHEMA], schema=SCHEMA)


def cpu_seconds(connection: duckdb.DuckDBPyConnection, name: str, batch: pa.RecordBatch, scratch: Path) -> float:
    """What a chunk takes; the first of a task is not counted, for its pipe learns the records' keys from it."""
    pipe, path = PIPES[name](), scratch / "orders.parquet"
    rows = _rows(connection, pipe, LAYOUTS[name], scratch) if name in LAYOUTS else None
    projector = Projector(connection, pipe, "orders", rows)
    converter = RecordConverter(Conversion())
    for _ in range(2):
        began = time.process_time()
        converted = converter.convert(batch, 1)
        projected = projector.project(converted.table, converted.records, path)
        written = [*rows.rest()] if rows else [projected.written]
        used = time.process_time() - began
        if sum(each.rows for each in written if each) != batch.num_rows:
            raise SystemExit("not every order became a row")
        for each in written:
            if each:
                each.path.unlink()
    return used


def _rows(connection: duckdb.DuckDBPyConnection, pipe: Pipe, by: tuple[str, LayoutTransform], scratch: Path) -> Rows:
    column, transform = by
    source = next(each.id for each in pipe.columns if each.name == column)
    layout = Layout((PartitionField("part", source, transform),))
    shape = WriteShape(
        TableName(("bench",), "ORDERS"), "", 0, 0, 0, pipe.columns, has_rows=True, evolves=False, layout=layout
    )
    return rows_for(connection, shape, scratch, 1)


if __name__ == "__main__":
    main()
