"""Maps, and the types that need a cast of their own, at every depth."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from frazil.model import MapType, StructType

from .chunks import REJECTED, column, columns, fates, listed, mapped, struct
from .conftest import MakeTable

UUID = "8d8ac610-566d-4ef0-9c22-186b2a5ed793"


def counts() -> MapType:
    return mapped("string", "long")


def test_a_map_is_an_object_or_an_array_of_pairs(make_table: MakeTable) -> None:
    values: dict[str, Any] = {
        '{"a": 1, "b": 2}': [("a", 1), ("b", 2)],
        '[["a", 1], ["b", 2]]': [("a", 1), ("b", 2)],
        # The keys of texts may be whatever a text column takes.
        "[[1, 1], [true, 2], [1.50, 3]]": [("1", 1), ("true", 2), ("1.5", 3)],
        '{"b": 1, "a": "2"}': [("b", 1), ("a", 2)],
        '{"A": 1, "a": 2}': [("A", 1), ("a", 2)],
        '{"": 1, "x.y": 2, "*": 3, "q\\"": 4, "\\u0000": 5}': [("", 1), ("x.y", 2), ("*", 3), ('q"', 4), ("\0", 5)],
        '{"a": null}': [("a", None)],
        '[["a", null]]': [("a", None)],
        "{}": [],
        "[]": [],
        "null": None,
        '[["a"]]': REJECTED,
        '[["a", 1, 2]]': REJECTED,
        '["ab"]': REJECTED,
        '[{"a": 1, "b": 2}]': REJECTED,
        "[[null, 1]]": REJECTED,
        '"a"': REJECTED,
        "1": REJECTED,
        '{"a": "x"}': REJECTED,
        '{"a": {}}': REJECTED,
        '{"\\ud800": 1}': REJECTED,
    }

    assert fates(make_table(column("m", counts())), values) == values


@pytest.mark.parametrize(
    "record",
    [
        '{"m": {"a": 1, "a": 2}}',
        '{"m": {"a": 1, "a": null}}',
        '{"m": {"a": 1, "\\u0061": 1}}',
        '{"m": [["a", 1], ["a", 1]]}',
        '{"m": [["1", 1], [1, 1]]}',
        '{"n": {"k": {"a": 1, "a": 2}}}',
        '{"n": {"": {"a": 1, "a": 2}}}',
        '{"n": {"*": {"a": 1, "a": 2}}}',
        '{"l": [{}, {"a": 1, "a": 2}]}',
        '{"s": {"x.y": {"a": 1, "a": 2}}}',
    ],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_a_key_given_twice_is_a_reject(make_table: MakeTable, record: str, uniform: bool) -> None:
    table = make_table(
        *columns(m=counts(), n=mapped("string", counts()), l=listed(counts()), s=struct(**{"x.y": counts()}))
    )
    good = '{"m": {"a": 1}, "n": {"k": {"a": 1}}, "l": [{"a": 1}], "s": {"x.y": {"a": 1}}}' if uniform else "{}"

    landed = table.land(good, record, good)

    assert list(landed.rejects) == [1]
    assert "twice" in landed.rejects[1].reason
    assert len(landed.rows) == 2


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("long", {'{"1": 0, "-2": 0}': [1, -2], '{" 3 ": 0}': [3], "[[4, 0]]": [4], '{"1.5": 0}': REJECTED}),
        ("int", {'{"2147483647": 0}': [2**31 - 1], '{"2147483648": 0}': REJECTED}),
        ("boolean", {'{"true": 0, "OFF": 0}': [True, False], '{"x": 0}': REJECTED}),
        ("double", {'{"0.1": 0, "-inf": 0}': [0.1, float("-inf")], "[[1e2, 0]]": [100.0], '{"": 0}': REJECTED}),
        ("float", {'{"0.5": 0, "16777217": 0}': [0.5, 16777216.0]}),
        ("decimal(5,2)", {'{"1": 0, "-0": 0}': [Decimal("1.00"), Decimal(0)], '{"1.005": 0}': REJECTED}),
        ("date", {'{"2024-02-29": 0, "2024-01-01T12:00": 0}': [dt.date(2024, 2, 29), dt.date(2024, 1, 1)]}),
        ("time", {'{"12:30": 0}': [dt.time(12, 30)], '{"noon": 0}': REJECTED}),
        ("timestamp", {"[[1704067200, 0]]": [dt.datetime(2024, 1, 1)]}),  # noqa: DTZ001 (the key has no zone)
        ("timestamptz", {'{"2024-01-01T01:00:00+01:00": 0}': [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]}),
        ("uuid", {f'{{"{UUID.upper()}": 0}}': [UUID], '{"x": 0}': REJECTED}),
        ("binary", {'{"00FF": 0, "": 0}': [b"\x00\xff", b""], '{"0": 0}': REJECTED}),
    ],
)
def test_keys_are_of_the_types_columns_are(make_table: MakeTable, key: str, values: dict[str, Any]) -> None:
    found = fates(make_table(column("m", mapped(key, "long"))), values)

    assert {text: each if each == REJECTED else [key for key, _ in each] for text, each in found.items()} == values


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("long", "1", "1.0"),
        ("boolean", "true", "YES"),
        ("double", "1", "1.0e0"),
        ("double", "0.0", "-0.0"),
        ("double", "NaN", "nan"),
        ("float", "16777216", "16777217"),
        ("decimal(5,2)", "1", "1.00"),
        ("decimal(5,2)", "0", "-0"),
        ("date", "2024-01-01", "2024-01-01T12:00:00"),
        ("time", "12:00", "12:00:00.000"),
        ("timestamp", "2024-01-01", "1704067200"),
        ("timestamptz", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00"),
        ("uuid", UUID, UUID.replace("-", "")),
        ("binary", "ab", "AB"),
    ],
)
def test_two_spellings_of_one_key_are_a_key_given_twice(make_table: MakeTable, key: str, one: str, other: str) -> None:
    landed = make_table(column("m", mapped(key, "long"))).land(
        json.dumps({"m": {one: 1, other: 2}}), json.dumps({"m": {one: 1}}), json.dumps({"m": {other: 1}})
    )

    assert list(landed.rejects) == [0]
    assert landed.rejects[0].reason == f"the key {other!r} appears twice"
    assert repr(landed.rows[0]) == repr(landed.rows[1])


def test_values_that_must_not_be_null_are_not(make_table: MakeTable) -> None:
    values: dict[str, Any] = {
        '{"a": 1}': [("a", 1)],
        "{}": [],
        "null": None,
        '{"a": null}': REJECTED,
        '{"a": 1, "b": null}': REJECTED,
        '[["a", null]]': REJECTED,
    }

    assert fates(make_table(column("m", mapped("string", "long", required=True))), values) == values


def deep() -> StructType:
    """Types the statement casts each in its own way."""
    return struct(
        data="binary",
        price="decimal(38,10)",
        at="time",
        on="date",
        local="timestamp",
        when="timestamptz",
        id="uuid",
    )


SENT = {
    "data": "00FF",
    "price": 1,
    "at": "12:30:00.5",
    "on": "2024-02-29",
    "local": "2024-01-01T00:00:00",
    "when": "2024-01-01T00:00:00+01:00",
    "id": UUID,
}
HELD = {
    "data": b"\x00\xff",
    "price": Decimal(1),
    "at": dt.time(12, 30, 0, 500_000),
    "on": dt.date(2024, 2, 29),
    "local": dt.datetime(2024, 1, 1),  # noqa: DTZ001 (the field has no zone)
    "when": dt.datetime(2023, 12, 31, 23, tzinfo=dt.UTC),
    "id": UUID,
}
NULLS = dict.fromkeys(HELD)


@pytest.mark.parametrize("exactly", [True, False])
def test_types_with_a_cast_of_their_own_land_at_every_depth(make_table: MakeTable, exactly: bool) -> None:
    """`exactly` sends the record to the exact tier, for the text in a column of numbers."""
    table = make_table(
        *columns(
            n="long",
            s=deep(),
            l=listed(deep()),
            m=mapped("string", deep()),
            deep=mapped("string", listed(struct(inner=mapped("binary", listed("binary"))))),
        )
    )
    record = {
        "n": "1" if exactly else 1,
        "s": SENT,
        "l": [SENT, None, {}],
        "m": {"k": SENT, "null": None, "empty": {}},
        "deep": {"k": [{"inner": {"0a": ["FF", None, ""]}}, None, {"inner": None}], "none": None},
    }

    landed = table.land(json.dumps(record), '{"n": 2}', '{"s": null, "l": [], "m": {}, "deep": {}}')

    assert landed.rejects == {}
    first, *others = landed.rows
    assert first[0] == 1
    assert list(first[1:]) == [
        HELD,
        [HELD, None, NULLS],
        [("k", HELD), ("null", None), ("empty", NULLS)],
        [("k", [{"inner": [(b"\n", [b"\xff", None, b""])]}, None, {"inner": None}]), ("none", None)],
    ]
    assert others == [(2, None, None, None, None), (None, None, [], [], [])]


@pytest.mark.parametrize("where", ['{{"s": {}}}', '{{"l": [{{}}, {}]}}', '{{"m": {{"k": {}}}}}'])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("data", '"0"'),
        ("price", "1e-11"),
        ("at", '"25:00"'),
        ("on", '"x"'),
        ("local", '"x"'),
        ("when", '"x"'),
        ("id", '"x"'),
    ],
)
def test_what_does_not_fit_at_any_depth_is_a_reject(make_table: MakeTable, where: str, field: str, value: str) -> None:
    table = make_table(*columns(s=deep(), l=listed(deep()), m=mapped("string", deep())))

    landed = table.land("{}", where.format(f'{{"{field}": {value}}}'), json.dumps({"s": SENT}))

    assert list(landed.rejects) == [1]
    assert f"{field}: " in landed.rejects[1].reason
    assert len(landed.rows) == 2
