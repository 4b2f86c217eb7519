from __future__ import annotations

import duckdb
import pytest
from tests.pipes.default.chunks import columns, listed, struct
from tests.pipes.default.conftest import MakeTable

from frazil.staging.write import Written


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


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize(
    ("values", "looked_up"),
    [
        (["-0.0", "1.5"], False),
        (["-5", "-0.0", "5"], False),
        (["-5", "0.0", "5"], True),
        (["1.5", "2.5"], True),
        (["-1.5", '"NaN"', "null"], True),
    ],
)
def test_only_a_file_with_a_negative_zero_has_no_dictionaries(
    make_table: MakeTable, kind: str, values: list[str], looked_up: bool
) -> None:
    (nested,) = columns(s=struct(**{'f"': kind}))
    flat, text = columns(**{'x"y': kind, "t": "string"})

    for shape, key in [((nested, text), '"s": {"f\\"": %s}'), ((flat, text), '"x\\"y": %s')]:
        texts = ['{%s, "t": "a"}' % (key % value) for value in values * 30]
        written = make_table(*shape).land(*texts).written
        assert written is not None
        assert has_dictionaries(written) == looked_up
        assert written.rows == len(texts)


def test_a_negative_zero_in_a_list_matters_to_nobody(make_table: MakeTable) -> None:
    x, text = columns(x=listed("double"), t="string")

    written = make_table(x, text).land(*['{"x": [-0.0], "t": "a"}'] * 30).written

    assert written is not None
    assert has_dictionaries(written)


def has_dictionaries(written: Written) -> bool:
    with duckdb.connect() as reader:
        query = f"SELECT DISTINCT encodings LIKE '%DICTIONARY%' FROM parquet_metadata('{written.path}')"
        found = {each for (each,) in reader.sql(query).fetchall()}
    return True in found


def json_key(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'
