"""Rows of a local file by the layout of a table: a file for each partition, sorted as the table asks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq

from frazil.model import WriteShape
from frazil.pipes.types import file_name, sql_type
from frazil.sql import ident, literal
from frazil.staging.metrics import iceberg_metrics
from frazil.staging.rows import rows_for
from frazil.staging.worker import locked_down
from frazil.tables.error_tables import LaidOutFile


def lay_out(rows: Path, shape: WriteShape, scratch: Path) -> list[LaidOutFile]:
    """Write the rows of a Parquet file, whose columns have the field ids of a table of that shape, into `scratch`.

    Columns that the file lacks are NULL.
    """
    fields = pq.read_schema(rows)
    names = {int((fields.field(name).metadata or {})[b"PARQUET:field_id"]): name for name in fields.names}
    columns = ", ".join(
        f"{ident(names[each.id]) if each.id in names else f'CAST(NULL AS {sql_type(each.type)})'}"
        f" AS {ident(file_name(each))}"
        for each in shape.columns
    )
    select = f"SELECT {columns} FROM read_parquet({literal(str(rows))})"
    with closing(locked_down(scratch)) as connection:
        taking = rows_for(connection, shape, scratch, 1)
        one = taking.take(select, rows.stat().st_size, scratch / "laid-out.parquet")
        return [
            LaidOutFile(
                each.path,
                each.rows,
                each.size,
                iceberg_metrics(shape.columns, each.statistics),
                each.partition.values,
                each.partition.directory,
            )
            for each in ([one] if one else taking.rest())
        ]
