"""The stage drives any pipe: one made by hand here, of two columns, each with a cast of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import duckdb
import pytest
from tests.pipes.default.chunks import NOW, TOPIC, Worker, batch

from frazil.model import Column, Conversion, Primitive
from frazil.pipes.base import CHUNK, Chunk, Pipe
from frazil.records.convert import VALUE, RecordConverter
from frazil.records.rejects import RejectReason
from frazil.staging.project import Projected, Projector

CASTS: Final = {"ID": f"CAST({VALUE} ->> '$.order.id' AS BIGINT)", "AT": '"offset" + 1000'}


class Handmade:
    """`SELECT $1:order.id::INT, RECORD_METADATA.offset + 1000`, so to speak."""

    columns = (Column(1, "ID", Primitive("long")), Column(2, "AT", Primitive("long")))
    inputs = (VALUE, "offset")

    def statements(self, chunk: Chunk) -> Iterator[str]:  # noqa: ARG002 (it settles nothing beforehand)
        yield f"SELECT {', '.join(f'{cast} AS {name}' for name, cast in CASTS.items())} FROM {CHUNK}"

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:
        names = ", ".join(f'${name} AS "{name}"' for name in self.inputs)
        for column, cast in CASTS.items():
            try:
                duckdb.execute(f"SELECT {cast} FROM (SELECT {names})", {name: record[name] for name in self.inputs})
            except duckdb.Error as error:
                return RejectReason(str(error).partition("\n")[0], column)
        return None


def project(worker: Worker, pipe: Pipe, *values: str) -> tuple[list[tuple[Any, ...]], Projected]:
    converted = RecordConverter(Conversion()).convert(batch(values), NOW)
    path = worker.scratch / "handmade.parquet"
    path.unlink(missing_ok=True)
    projected = Projector(worker.connection, pipe, TOPIC).project(converted.table, converted.records, path)
    assert (projected.written is not None) == path.exists()
    return (worker.read(path) if projected.written else []), projected


def test_a_pipe_selects_columns_from_what_it_reads(worker: Worker) -> None:
    rows, projected = project(worker, Handmade(), '{"order": {"id": 7}}', '{"order": {"id": "8"}}', "{}")

    assert rows == [(7, 1000), (8, 1001), (None, 1002)]
    assert len(projected.rejects) == 0


def test_a_record_that_it_cannot_cast_is_a_reject_with_column_and_reason_and_its_neighbours_land(
    worker: Worker,
) -> None:
    rows, projected = project(worker, Handmade(), '{"order": {"id": 1}}', '{"order": {"id": "x"}}', "{}")

    (reject,) = projected.rejects
    assert rows == [(1, 1000), (None, 1002)]
    assert (reject.offset, reject.column, reject.stage, reject.value) == (1, "ID", "project", b'{"order": {"id": "x"}}')
    assert "Could not convert string 'x' to INT64" in reject.reason


def test_where_no_record_fits_there_is_no_file(worker: Worker) -> None:
    rows, projected = project(worker, Handmade(), '{"order": {"id": "x"}}', '{"order": {"id": "y"}}')

    assert (rows, projected.written, len(projected.rejects)) == ([], None, 2)


def test_a_pipe_sees_only_the_inputs_it_names(worker: Worker) -> None:
    class Nosy(Handmade):
        inputs = (VALUE,)

    with pytest.raises(duckdb.BinderException, match="offset"):
        project(worker, Nosy(), "{}")


def test_a_failure_that_no_record_explains_is_a_failure(worker: Worker) -> None:
    class Blind(Handmade):
        def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:  # noqa: ARG002
            return None

    with pytest.raises(duckdb.ConversionException, match="'x'"):
        project(worker, Blind(), '{"order": {"id": "x"}}')


def test_rows_are_known_to_the_connection_only_while_they_are_projected(worker: Worker) -> None:
    project(worker, Handmade(), "{}")

    with pytest.raises(duckdb.CatalogException, match=CHUNK):
        worker.connection.execute(f"FROM {CHUNK}")
