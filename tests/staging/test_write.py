from __future__ import annotations

import duckdb
import pytest

from .chunks import columns
from .conftest import MakeTable


@pytest.mark.parametrize("name", ["v", "V", "Items", "a b", 'Q"q', "É"])
def test_a_variant_is_never_shredded_whatever_its_column_is_called(make_table: MakeTable, name: str) -> None:
    (shape,) = columns(**{name: "variant"})

    landed = make_table(shape).land(f'{{{json_key(name)}: {{"a": 1, "b": [true, 1.5]}}}}')

    assert landed.rows == [{"a": 1, "b": [True, 1.5]}]
    assert landed.written is not None
    with duckdb.connect() as reader:
        inside = reader.sql(f"SELECT name, field_id FROM parquet_schema('{landed.written.path}')").fetchall()
    assert [(step, number) for step, number in inside if step != "duckdb_schema"] == [
        (name.lower(), shape.id),
        ("metadata", None),
        ("value", None),
    ]


def json_key(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'
