"""Defaults fill keys that are absent; an explicit null stays one, and no record's row depends on its neighbours."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pytest

from frazil.model import StructType

from .chunks import column, columns, listed, mapped, struct
from .conftest import MakeTable

UUID = "8d8ac610-566d-4ef0-9c22-186b2a5ed793"
DEFAULTS = [
    ("boolean", "true", True),
    ("boolean", "false", False),
    ("int", "0", 0),
    ("long", "-7", -7),
    ("float", "0.1", 0.10000000149011612),
    ("double", "1e-7", 1e-7),
    ("decimal(9,2)", '"14.20"', Decimal("14.20")),
    ("string", '""', ""),
    ("string", '"it\'s \\"x\\" \\\\ \\u0000 \\ud83d\\ude00"', 'it\'s "x" \\ \0 😀'),
    ("string", '"null"', "null"),
    ("date", '"2024-02-29"', dt.date(2024, 2, 29)),
    ("time", '"22:31:08.123456"', dt.time(22, 31, 8, 123_456)),
    ("timestamp", '"2024-02-29T22:31:08.123456"', dt.datetime(2024, 2, 29, 22, 31, 8, 123_456)),  # noqa: DTZ001 (the column has no zone)
    ("timestamptz", '"2024-02-29T22:31:08+00:00"', dt.datetime(2024, 2, 29, 22, 31, 8, tzinfo=dt.UTC)),
    ("uuid", f'"{UUID}"', UUID),
    ("binary", '"00ff"', b"\x00\xff"),
    ("binary", '""', b""),
]
"""Types, defaults as Iceberg's schema JSON has them, and the values they stand for."""


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS)
@pytest.mark.parametrize(
    "records", [["{}"], ["{}", '{"X": null}', "{}"], ['{"x": null}', "{}"], ["{}", '{"x": [0}', "{}"]]
)
def test_an_absent_key_is_the_default_and_null_is_null(
    make_table: MakeTable, kind: str, default: str, value: object, records: list[str]
) -> None:
    landed = make_table(column("x", kind, default=default)).land(*records)

    assert landed.rows == [value if record == "{}" else None for record in records if "[0}" not in record]


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS)
def test_a_tombstone_is_a_row_of_defaults(make_table: MakeTable, kind: str, default: str, value: object) -> None:
    table = make_table(column("x", kind, default=default), *columns(y="long"))

    assert table.land(None, "").rows == [(value, None)] * 2
    assert table.land(None, '{"y": 1}', '{"x": null, "y": 2}', None).rows == [
        (value, None),
        (value, 1),
        (None, 2),
        (value, None),
    ]


MIXED = [
    "{}",
    '{"n": 1}',
    '{"N": 2}',
    '{"n": null}',
    '{"N": 3, "n": null}',
    '{"n": "4"}',
    '{"other": 1}',
    "nonsense",
    None,
]
ROWS: list[Any] = [7, 1, 2, None, 3, 4, 7, None, 7]


@pytest.mark.parametrize("start", range(len(MIXED)))
def test_the_order_of_records_does_not_matter(make_table: MakeTable, start: int) -> None:
    """Records before the first one that has the key, and before the first that has it in another spelling."""
    records, rows = ([*each[start:], *each[:start]] for each in (MIXED, ROWS))
    bad = records.index("nonsense")

    landed = make_table(column("n", "long", default="7")).land(*records)

    assert list(landed.rejects) == [bad]
    assert landed.rows == rows[:bad] + rows[bad + 1 :]


def test_chunks_of_one_task_do_not_depend_on_each_other(make_table: MakeTable) -> None:
    table = make_table(column("n", "long", default="7"), column("m", "string", default='"-"'))

    found = [table.land(text).rows for text in ("{}", '{"n": 1}', "{}", '{"N": 2}', '{"m": null}', "{}")]

    assert list(itertools.chain(*found)) == [(7, "-"), (1, "-"), (7, "-"), (2, "-"), (7, None), (7, "-")]


@pytest.mark.parametrize("name", ["x", 'q"', "back\\slash", "é", "x.y"])
def test_columns_of_any_name_have_defaults(make_table: MakeTable, name: str) -> None:
    key = name.replace("\\", "\\\\").replace('"', '\\"')

    landed = make_table(column(name, "long", default="7")).land(
        "{}", f'{{"{key}": 1}}', "{}", f'{{"{key}": null}}', None
    )

    assert landed.rows == [7, 1, 7, None, 7]


@pytest.mark.parametrize("name", ["x", 'q"'])
def test_a_required_column_with_a_default_lacks_nothing_but_may_not_be_null(make_table: MakeTable, name: str) -> None:
    key = name.replace('"', '\\"')
    table = make_table(column(name, "long", required=True, default="7"))

    landed = table.land("{}", f'{{"{key}": null}}', f'{{"{key}": 1}}', None, f'{{"{key.upper()}": null}}', "{}")

    assert landed.rows == [7, 1, 7, 7]
    assert {reason[0] for reason in landed.reasons.values()} == {name}
    assert list(landed.rejects) == [1, 4]
    assert table.land(f'{{"{key}": null}}').rows == []


def test_a_required_column_without_a_default_still_refuses_tombstones(make_table: MakeTable) -> None:
    table = make_table(column("a", "long", default="7"), column("b", "long", required=True))

    landed = table.land(None, '{"b": 1}')

    assert landed.rows == [(7, 1)]
    assert landed.reasons == {0: ("b", "the record is a tombstone and the column must not be NULL")}


def test_a_record_the_fast_tier_cannot_read_keeps_its_values(make_table: MakeTable) -> None:
    """Half a surrogate pair in a key that has no column: only the exact tier reads such a record."""
    landed = make_table(column("n", "long", default="7")).land(
        "{}", '{"n": 5, "x": "\\ud800"}', '{"n": null, "\\udfff": 0}'
    )

    assert landed.rows == [7, 5, None]


def defaulted() -> StructType:
    """A struct whose fields have all defaults."""
    return StructType(
        tuple(column(f"f{number}", kind, default=default) for number, (kind, default, _) in enumerate(DEFAULTS))
    )


WHOLE = {f"f{number}": value for number, (_, _, value) in enumerate(DEFAULTS)}


@pytest.mark.parametrize(
    ("record", "row"),
    [
        ('{"s": {}}', (WHOLE, None, None)),
        ('{"s": {"f0": null, "F2": 5}}', ({**WHOLE, "f0": None, "f2": 5}, None, None)),
        ('{"s": {"f2": null, "F2": 5}}', ({**WHOLE, "f2": 5}, None, None)),
        # The defaults of its fields do not make a struct of none.
        ('{"s": null}', (None, None, None)),
        ("{}", (None, None, None)),
        (None, (None, None, None)),
        ('{"l": [{}, null, {"f3": 1}]}', (None, [WHOLE, None, {**WHOLE, "f3": 1}], None)),
        ('{"m": {"k": {}, "none": null}}', (None, None, [("k", WHOLE), ("none", None)])),
    ],
)
@pytest.mark.parametrize("others", [[], ['{"s": {}, "l": [], "m": {}}']])
def test_fields_of_structs_have_defaults_at_every_depth(
    make_table: MakeTable, record: str | None, row: object, others: list[str]
) -> None:
    table = make_table(*columns(s=defaulted(), l=listed(defaulted()), m=mapped("string", defaulted())))

    assert table.land(*others, record).rows[-1] == row


def test_a_required_field_with_a_default_may_be_absent_but_not_null(make_table: MakeTable) -> None:
    kind = StructType((column("f", "long", required=True, default="7"), *columns(g="long")))

    landed = make_table(column("s", kind)).land('{"s": {}}', '{"s": {"f": null}}', '{"s": {"f": 1}}', '{"s": null}')

    assert landed.rows == [{"f": 7, "g": None}, {"f": 1, "g": None}, None]
    assert landed.reasons == {1: ("s", "the field f must not be NULL")}


def test_a_default_beside_metadata_and_nested_columns(make_table: MakeTable) -> None:
    table = make_table(column("n", "long", default="7"), *columns(v="variant", t="string", s=struct(x="long")))

    landed = table.land('{"t": {"a": 1.50}}', '{"v": {"a": 1}}', '{"n": 1, "s": {"x": 1}}')

    assert landed.rows == [(7, None, '{"a":1.50}', None), (7, {"a": 1}, None, None), (1, None, None, {"x": 1})]
