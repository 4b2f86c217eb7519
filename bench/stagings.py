"""What one task can be asked to make of orders: for tables of several columns, layouts and pipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from frazil.model import (
    PLAIN_LAYOUT,
    Column,
    Conversion,
    IcebergType,
    Layout,
    LayoutTransform,
    ListType,
    PartitionField,
    PipeSpec,
    Primitive,
    StructType,
    TableName,
    TableRules,
    TableTask,
    WriteShape,
)
from frazil.pipes.content import COLUMN
from frazil.pipes.sql.compiling import compile_pipe
from frazil.records import metadata
from frazil.snowflake.pipes import read_pipe
from frazil.tables.rules.schema import columns_from_json, schema_to_json


@dataclass(frozen=True, slots=True)
class Staging:
    """A table, and how records get into it."""

    columns: tuple[Column, ...]
    conversion: Conversion = field(default_factory=Conversion)
    pipe: PipeSpec | None = None
    layout: Layout = PLAIN_LAYOUT
    rules: TableRules = field(default_factory=TableRules)
    evolves: bool = False

    def table(self, home: str) -> TableTask:
        """The table's part of a task, with files in a directory."""
        shape = WriteShape(
            TableName(("bench",), "ORDERS"),
            "",
            0,
            0,
            0,
            self.columns,
            has_rows=True,
            evolves=self.evolves,
            layout=self.layout,
        )
        return TableTask(
            shape, f"{home}/{{}}.parquet", f"{home}/{{}}.rejects.parquet", pipe=self.pipe, rules=self.rules
        )


def _numbered(*columns: Column) -> tuple[Column, ...]:
    """The columns as a catalog would number them."""
    return columns_from_json(schema_to_json(columns))


def _struct(**fields: IcebergType) -> StructType:
    return StructType(tuple(Column(0, name, kind) for name, kind in fields.items()))


LONG, DOUBLE, TEXT, BOOLEAN, TIME, VARIANT = map(
    Primitive, ("long", "double", "string", "boolean", "timestamptz", "variant")
)

_SCALARS: Final = {
    "order_id": LONG,
    "customer_name": TEXT,
    "order_total": DOUBLE,
    "isPaid": BOOLEAN,
    "order_date": TIME,
    "status": TEXT,
    "note": TEXT,
}
_NESTED: Final = {
    "items": ListType(0, _struct(sku=TEXT, qty=Primitive("int"), price=DOUBLE), element_required=False),
    "address": _struct(city=TEXT, zip=TEXT, geo=_struct(lat=DOUBLE, lon=DOUBLE)),
}


def _table(kinds: Mapping[str, IcebergType], told: IcebergType | None = None) -> tuple[Column, ...]:
    """Columns of these types, RECORD_METADATA before them."""
    return _numbered(
        Column(0, metadata.COLUMN, told or metadata.column_type()),
        *(Column(0, name, kind) for name, kind in kinds.items()),
    )


def _laid_out(column: str, transform: LayoutTransform) -> Staging:
    columns = _table(_STRUCTS)
    source = next(each.id for each in columns if each.name == column)
    return Staging(columns, layout=Layout((PartitionField("part", source, transform),)))


CASTS: Final = {
    "order_id": ("order_id::NUMBER(18, 0)", LONG),
    "customer_name": ("customer_name::STRING", TEXT),
    "order_total": ("order_total::DOUBLE", DOUBLE),
    "is_paid": ("isPaid::BOOLEAN", BOOLEAN),
    "order_date": ("order_date::TIMESTAMP_TZ", TIME),
    "status": ("status::STRING", TEXT),
    "city": ("address.city::STRING", TEXT),
    "zip": ("address.zip::STRING", TEXT),
    "latitude": ("address.geo.lat::DOUBLE", DOUBLE),
    "note": ("note::STRING", TEXT),
}
"""The items of the user's pipe, by column, and the columns' types."""


def _ten_casts() -> Staging:
    columns = _table({name: kind for name, (_, kind) in CASTS.items()})
    items = ", ".join(["$1:RECORD_METADATA", *(f"$1:{item}" for item, _ in CASTS.values())])
    source = "TABLE(DATA_SOURCE(TYPE => 'STREAMING'))"
    statement = read_pipe(f"CREATE PIPE ORDERS AS COPY INTO ORDERS FROM (SELECT {items} FROM {source})")
    return Staging(columns, pipe=compile_pipe(statement, "ORDERS", columns, Conversion()))


def _whole(kind: IcebergType) -> Staging:
    columns = _numbered(Column(0, metadata.COLUMN, metadata.column_type()), Column(0, COLUMN, kind))
    return Staging(columns, Conversion(whole_records=True))


_STRUCTS: Final = {**_SCALARS, **_NESTED}

TABLES: Final = {
    "scalars": Staging(_table(_SCALARS)),
    "scalars, total a decimal": Staging(_table({**_SCALARS, "order_total": Primitive("decimal", 12, 2)})),
    "nested, structs": Staging(_table(_STRUCTS)),
    "nested, JSON text": Staging(_table({**_SCALARS, "items": TEXT, "address": TEXT})),
    "nested, VARIANT": Staging(_table({**_SCALARS, "items": VARIANT, "address": VARIANT})),
}
"""Tables that the default pipe fills."""

PIPES: Final = {
    "default, structs": TABLES["nested, structs"],
    "default, may evolve": Staging(
        _table(_STRUCTS), evolves=True, rules=TableRules("ORDERS", "rescue", "evolve", may_change=True)
    ),
    "a user's, ten casts": _ten_casts(),
    "default, metadata as VARIANT": Staging(_table(_STRUCTS, VARIANT)),
    "default, by day": _laid_out("order_date", LayoutTransform("day")),
    "default, by bucket(16)": _laid_out("order_id", LayoutTransform("bucket", 16)),
    "default, VARIANT": TABLES["nested, VARIANT"],
    "RECORD_CONTENT, VARIANT": _whole(VARIANT),
    "RECORD_CONTENT, JSON text": _whole(TEXT),
}
"""Ways of records into a table."""

STAGINGS: Final = {**TABLES, **PIPES}
