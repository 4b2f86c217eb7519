"""What a pipe costs: chunks of orders through the converter and each pipe, in one process, side by side.

    python bench/pipe_cost.py [--records 40000] [--runs 9] [--only NAME…]

CPU time, medians; nothing is read from a broker. The ratios are to the first pipe.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa

from common import CONSOLE, Columns, described, machine, plain, show
from frazil.dev.orders import order
from frazil.model import Column, Conversion, Primitive, TableRules
from frazil.pipes.base import Pipe
from frazil.pipes.content import COLUMN, ContentPipe
from frazil.pipes.default.pipe import DefaultPipe
from frazil.records.convert import RecordConverter
from frazil.sources.kafka.reader import SCHEMA
from frazil.staging.project import Projector
from frazil.staging.worker import locked_down
from subject_stage import TABLES, numbered

COLUMNS: Columns = {
    "pipe": ("pipe", str),
    "records/CPU-s": ("records_cpu_s", plain(0)),
    "of the first": ("of_first", plain(2)),
}

_WHOLE: Final = Conversion(whole_records=True)
_MAY_CHANGE: Final = TableRules("ORDERS", "rescue", "evolve", may_change=True)


def _default(table: str, **options: object) -> Callable[[], Pipe]:
    return lambda: DefaultPipe(numbered(TABLES[table]), Conversion(), **options)  # type: ignore[arg-type]


def _content(kind: str) -> Callable[[], Pipe]:
    return lambda: ContentPipe(numbered((Column(0, COLUMN, Primitive(kind)),)), _WHOLE)


PIPES: Mapping[str, Callable[[], Pipe]] = {
    "default, structs": _default("nested, structs"),
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
                projector = Projector(connection, PIPES[name](), "orders")
                times.append(cpu_seconds(projector, batch, Path(directory) / "orders.parquet"))
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


def cpu_seconds(projector: Projector, batch: pa.RecordBatch, path: Path) -> float:
    """What a chunk takes; the first of a task is not counted, for its pipe learns the records' keys from it."""
    converter = RecordConverter(Conversion())
    for _ in range(2):
        began = time.process_time()
        converted = converter.convert(batch, 1)
        projected = projector.project(converted.table, converted.records, path)
        used = time.process_time() - began
        if projected.written is None or projected.written.rows != batch.num_rows:
            raise SystemExit("not every order became a row")
    path.unlink()
    return used


if __name__ == "__main__":
    main()
