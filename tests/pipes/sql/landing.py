"""Put records through a pipe in SQL and read the file back without our code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.pipes.default.chunks import NOW, TOPIC, Landing, Worker, batch

from frazil.model import Column, Conversion, PipeSpec, PipeTarget
from frazil.pipes.sql.compiling import compile_pipe
from frazil.pipes.sql.pipe import SqlPipe
from frazil.records.convert import RecordConverter
from frazil.snowflake.pipes import read_pipe
from frazil.staging.project import Projector

SOURCE = "FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"


def create(items: str, *, where: str = "", columns: str = "", options: str = "") -> str:
    """CREATE PIPE for a select list."""
    condition = f"WHERE {where}" if where else ""
    return f"CREATE PIPE T AS COPY INTO T {columns} FROM (SELECT {items} {SOURCE} {condition}) {options}"


def compiled(
    sql: str, shape: tuple[Column, ...], conversion: Conversion | None = None, targets: Sequence[PipeTarget] = ()
) -> PipeSpec:
    """A CREATE PIPE as tasks get it."""
    return compile_pipe(read_pipe(sql), "T", shape, conversion or Conversion(), targets)


def land(
    worker: Worker,
    sql: str,
    shape: tuple[Column, ...],
    *values: str | bytes | None,
    conversion: Conversion | None = None,
    targets: Sequence[PipeTarget] = (),
    **others: Sequence[Any],
) -> Landing:
    """The rows and rejects of some records."""
    rules = conversion or Conversion()
    converted = RecordConverter(rules).convert(batch(values, **others), NOW)
    path = worker.scratch / "piped.parquet"
    path.unlink(missing_ok=True)
    pipe = SqlPipe(compiled(sql, shape, rules, targets), shape, rules)
    done = Projector(worker.connection, pipe, TOPIC).project(converted.table, converted.records, path)
    assert (done.written is not None) == path.exists()
    rows = worker.read(path) if done.written else []
    if len(shape) == 1:
        rows = [row for (row,) in rows]
    rejects = {each.offset: each for each in [*converted.rejects, *done.rejects]}
    skipped = dict(done.left_out)
    assert len(rows) + len(rejects) + sum(skipped.values()) == len(values)
    return replace(Landing(), rows=rows, rejects=rejects, skipped=skipped, written=done.written)
