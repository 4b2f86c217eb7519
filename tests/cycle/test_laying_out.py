"""Rejects as data files of an error table that its user partitioned, sorted or gave another column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.memory.catalog import MemoryCatalog
from tests.pipes.default.chunks import batch

from frazil.cycle.laying_out import lay_out
from frazil.model import Column, Layout, LayoutTransform, PartitionField, Primitive, SortField, TableName, WriteShape
from frazil.records.rejects import RejectReason, rejects_of
from frazil.tables import error_files
from frazil.tables.error_files import Told
from frazil.tables.error_tables import LaidOutFile
from frazil.tables.rules.error_tables import columns

COLUMNS = columns(Primitive("int"), Primitive("long"))
NUMBERS = {column.name: column.id for column in COLUMNS}
IDENTITY = LayoutTransform("identity")


def laid_out(directory: Path, layout: Layout, *more: Column) -> list[LaidOutFile]:
    """Five rejects, two of them of a column, as files of an error table."""
    catalog = MemoryCatalog()
    table = catalog.create(TableName((), "T"), [], {})
    why = {row: RejectReason("no", "n" if row in (1, 3) else None) for row in range(5)}
    read = pa.Table.from_batches([batch(["a", "b", "c", "d", "e"])])
    (found,) = rejects_of(read, "project", why).tables
    pq.write_table(found, rejects := directory / "rejects-1.parquet")
    assert table
    opened = catalog.open(TableName((), "T"), None, None)  # type: ignore[arg-type]
    local = directory / "local.parquet"
    assert error_files.write(opened, [str(rejects)], Told("shop", "c", 1_700_000_000_000), local) == 5
    shape = WriteShape(
        TableName((), "T_ERRORS"), "u", 1, 1, 1, (*COLUMNS, *more), has_rows=True, evolves=False, layout=layout
    )
    return lay_out(local, shape, directory)


def values(file: LaidOutFile) -> list[str]:
    return [each.decode() for each in pq.read_table(file.path).column("value").to_pylist()]


def test_each_file_has_the_rejects_of_one_partition(tmp_path: Path) -> None:
    days = PartitionField("rejected_at_day", NUMBERS["rejected_at"], LayoutTransform("day"))
    by_column = PartitionField("column", NUMBERS["column"], IDENTITY)

    found = {each.partition: each for each in laid_out(tmp_path, Layout((days, by_column)))}

    assert {partition: values(each) for partition, each in found.items()} == {
        ("2023-11-14", None): ["a", "c", "e"],
        ("2023-11-14", "n"): ["b", "d"],
    }
    named = found["2023-11-14", "n"]
    assert (named.rows, named.directory) == (2, "rejected_at_day=2023-11-14/column=n")
    numbers = pq.read_schema(named.path)
    assert {name: int(numbers.field(name).metadata[b"PARQUET:field_id"]) for name in numbers.names} == NUMBERS


def test_rejects_are_sorted_as_the_table_asks_and_columns_of_its_user_are_null(tmp_path: Path) -> None:
    seen = Column(99, "seen", Primitive("boolean"))

    (found,) = laid_out(tmp_path, Layout((), (SortField(NUMBERS["offset"], IDENTITY, descending=True),)), seen)

    assert values(found) == ["e", "d", "c", "b", "a"]
    assert pq.read_table(found.path).column("seen").null_count == 5
