"""Subject: one Spark task's work without Spark, by one process: read, convert, check, project, write.

With the option `checked=0` records go straight to the projection: nothing looks at what DuckDB would change in silence.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from common import Answer, tell, told
from frazil.model import (
    Column,
    IcebergType,
    ListType,
    Primitive,
    Range,
    SourcePartition,
    StructType,
    TableName,
    Task,
    WriteShape,
)
from frazil.pipes.base import Chunk
from frazil.pipes.default.projection import Projection, Reading
from frazil.records import metadata
from frazil.staging import task as staging
from frazil.tables.rules.schema import columns_from_json, schema_to_json


def main() -> None:
    job = told()
    if not job.options["checked"]:
        staging.DefaultPipe = Unchecked  # type: ignore[misc,assignment]
    columns = numbered(TABLES[list(TABLES)[job.options["table"]]])
    shape = WriteShape(TableName(("bench",), "ORDERS"), "", 0, 0, 0, columns, has_rows=True, evolves=False)
    began = time.process_time()
    task = Task(
        connector="bench",
        ranges=tuple(
            Range(SourcePartition(job.topic, number), 0, len(range(number, job.records, job.partitions)))
            for number in range(job.partitions)
        ),
        shape=shape,
        data_path=f"{job.home}/{uuid.uuid4()}-{{}}.parquet",
        rejects_path=f"{job.home}/rejects.parquet",
        reader={"bootstrap.servers": job.bootstrap_servers, "group.id": "bench"},
        tolerance="all",
    )
    (staged,) = staging.stage_all(iter([[task]]))
    used = time.process_time() - began
    if staged.failure:
        raise SystemExit(staged.failure.message)
    rows = sum(file.rows for file in staged.files)
    rejected = staged.rejects.count if staged.rejects else 0
    if rows + rejected != job.records:
        raise SystemExit(f"{rows} rows and {rejected} rejects of {job.records} records")
    answer = {
        "cpu_s": used,
        "rows": rows,
        "rejects": rejected,
        **{f"{key}_s": at for key, at in staged.seconds.items()},
    }
    tell(job, Answer(time.time(), cycles=[answer]))


class Unchecked:
    """Stands in for the default pipe: every key is a column of its own spelling, every value fits."""

    def __init__(self, columns: tuple[Column, ...], *_: object, **__: object) -> None:
        self.columns = columns
        self._projection = Projection(columns)
        self.inputs = self._projection.inputs()

    def statements(self, _: Chunk) -> Iterator[str]:
        """The statement the checked projection uses."""
        reading = Reading({column.name: (column.name,) for column in self._projection.payload()})
        yield self._projection.select(reading, strict=True)

    def diagnose(self, _: Mapping[str, Any]) -> None:
        """Every record fits."""


def numbered(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns as a catalog would number them, RECORD_METADATA before them."""
    named = (Column(0, metadata.COLUMN, metadata.column_type()), *columns)
    return columns_from_json(schema_to_json(named))


def _struct(**fields: IcebergType) -> StructType:
    return StructType(tuple(Column(0, name, kind) for name, kind in fields.items()))


LONG, DOUBLE, TEXT, BOOLEAN, TIME, VARIANT = map(
    Primitive, ("long", "double", "string", "boolean", "timestamptz", "variant")
)

_SCALARS = {
    "order_id": LONG,
    "customer_name": TEXT,
    "order_total": DOUBLE,
    "isPaid": BOOLEAN,
    "order_date": TIME,
    "status": TEXT,
    "note": TEXT,
}
_NESTED = {
    "items": ListType(0, _struct(sku=TEXT, qty=Primitive("int"), price=DOUBLE), element_required=False),
    "address": _struct(city=TEXT, zip=TEXT, geo=_struct(lat=DOUBLE, lon=DOUBLE)),
}
_DECIMALS = {**_SCALARS, "order_total": Primitive("decimal", 12, 2)}

TABLES = {
    name: tuple(Column(0, key, kind) for key, kind in kinds.items())
    for name, kinds in {
        "scalars": _SCALARS,
        "scalars, total a decimal": _DECIMALS,
        "nested, structs": {**_SCALARS, **_NESTED},
        "nested, JSON text": {**_SCALARS, "items": TEXT, "address": TEXT},
        "nested, VARIANT": {**_SCALARS, "items": VARIANT, "address": VARIANT},
    }.items()
}
"""The columns a topic of orders goes to."""


if __name__ == "__main__":
    main()
