"""The file metrics frazil hands to Iceberg, against the values that were written."""

from __future__ import annotations

import datetime as dt
import json
import struct as bits
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes, to_bytes
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)
from tests.pipes.default.chunks import Table, Worker, column, columns, listed, mapped, struct
from tests.pipes.default.conftest import MakeTable
from tests.pipes.default.generated import Chunk, chunks
from tests.pipes.default.test_law import LAW, TIMES

from frazil.model import Column, Primitive
from frazil.staging.metrics import iceberg_metrics


def metrics_of(table: Table, *values: str) -> dict[str, dict[int, Any]]:
    """The metrics of one chunk, by name and field id."""
    written = table.land(*values).written
    assert written
    found = iceberg_metrics(table.columns, written.statistics)
    return {name: dict(zip(each["keys"], each["values"], strict=True)) for name, each in found.items()}


def bounds(table: Table, *values: str) -> tuple[bytes | None, bytes | None]:
    """Lower and upper bound of a table's only column."""
    (only,) = table.columns
    found = metrics_of(table, *values)
    return tuple(  # type: ignore[return-value]
        None if (text := found[name].get(only.id)) is None else bytes.fromhex(text)
        for name in ("lower-bounds", "upper-bounds")
    )


def micros(*moment: int) -> int:
    return (dt.datetime(*moment, tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(
        microseconds=1
    )  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("kind", "values", "code", "low", "high"),
    [
        ("int", ["5", "-7", "null"], "<i", -7, 5),
        ("long", ["9223372036854775807", "-1"], "<q", -1, 2**63 - 1),
        ("float", ["0.5", "-2"], "<f", -2.0, 0.5),
        ("double", ["0.1", "1e308"], "<d", 0.1, 1e308),
        ("double", ['"NaN"', "3", "1"], "<d", 1.0, 3.0),
        ("date", ['"1969-12-31"', '"2024-02-29"'], "<i", -1, 19782),
        ("date", ['"0001-01-01"', '"9999-12-31"'], "<i", -719162, 2932896),
        ("timestamp", ['"1969-12-31T23:59:59.999999"', '"1970-01-01T00:00:01"'], "<q", -1, 1_000_000),
        (
            "timestamptz",
            ['"1970-01-01T00:00:00+01:00"', '"2024-01-01T00:00:00.5Z"'],
            "<q",
            -3_600_000_000,
            micros(2024, 1, 1, 0, 0, 0, 500_000),
        ),
        (
            "timestamptz",
            ['"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999999Z"'],
            "<q",
            micros(1, 1, 1),
            micros(9999, 12, 31, 23, 59, 59, 999_999),
        ),
        (
            "timestamp_ns",
            ['"1677-09-21T00:12:43.145224194"', '"1969-12-31T23:59:59.999999999"', '"1969-12-31T23:59:59"'],
            "<q",
            -(2**63) + 2,
            -1,
        ),
        ("timestamptz_ns", ["9223372036854775806", '"1970-01-01T00:00:00.000000001+00:00"'], "<q", 1, 2**63 - 2),
    ],
)
def test_bounds_are_the_smallest_and_largest_value_in_icebergs_bytes(
    make_table: MakeTable, kind: str, values: list[str], code: str, low: object, high: object
) -> None:
    found = bounds(make_table(column("x", kind)), *(f'{{"x": {value}}}' for value in values))

    assert found == (bits.pack(code, low), bits.pack(code, high))


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("values", [["0.0"], ["-0.0"], ["0", "-0.0", "null"]])
def test_a_bound_that_is_zero_is_the_zero_that_is_further_out(
    make_table: MakeTable, kind: str, values: list[str]
) -> None:
    low, high = bounds(make_table(column("x", kind)), *(f'{{"x": {value}}}' for value in values))

    code = "<f" if kind == "float" else "<d"
    assert (low, high) == (bits.pack(code, -0.0), bits.pack(code, 0.0))


def test_a_bound_that_underflows_to_zero_is_one_as_well(make_table: MakeTable) -> None:
    for text in ("1e-60", "-1e-60"):
        found = bounds(make_table(column("x", "float")), f'{{"x": {text}}}')

        assert found == (bits.pack("<f", -0.0), bits.pack("<f", 0.0))


@pytest.mark.parametrize(
    ("texts", "low", "high"),
    [
        (["b", "a"], "a", "b"),
        (["", "x"], "", "x"),
        ([""], "", ""),
        (["x" * 16], "x" * 16, "x" * 16),
        (["x" * 17], "x" * 16, "x" * 15 + "y"),
        (["é" * 40, "a" * 40], "a" * 16, "é" * 15 + "ê"),
        (["😀" * 17], "😀" * 16, "😀" * 15 + "😁"),
        (["a" * 15 + "\ud7ff" + "b"], "a" * 15 + "\ud7ff", "a" * 15 + "\ue000"),
        (["a" * 15 + "\U0010ffff" + "b"], "a" * 15 + "\U0010ffff", "a" * 14 + "b"),
        (["\U0010ffff" * 17], "\U0010ffff" * 16, None),
        (["tab\t'quote' \"double\" \\ \n"], "tab\t'quote' \"dou", "tab\t'quote' \"dov"),
        (["a\0b"], "a\0b", "a\0b"),
    ],
)
def test_text_bounds_are_cut_at_16_code_points_and_the_upper_one_raised(
    make_table: MakeTable, texts: list[str], low: str, high: str | None
) -> None:
    found = bounds(make_table(column("x", "string")), *(json.dumps({"x": text}) for text in texts))

    assert found == (low.encode(), None if high is None else high.encode())


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_text_bounds_hold_every_text(texts: list[str]) -> None:
    only = Column(1, "x", column("x", "string").type)
    statistics = {'"x"': {"num_values": "1", "null_count": "0", "min": min(texts), "max": max(texts)}}

    found = iceberg_metrics([only], statistics)

    (low,) = found["lower-bounds"]["values"]
    assert all(bytes.fromhex(low) <= text.encode() for text in texts)
    for high in found["upper-bounds"]["values"]:
        assert all(bytes.fromhex(high) >= text.encode() for text in texts)
        assert len(bytes.fromhex(high).decode()) <= 16


@given(chunks)
@settings(LAW, max_examples=50 * TIMES)
def test_bounds_hold_every_value_of_every_type(worker: Worker, chunk: Chunk) -> None:
    landed = Table(worker, chunk.shape, chunk.conversion).land(*chunk.texts)
    if landed.written is None:
        return
    found = iceberg_metrics(chunk.shape, landed.written.statistics)
    lower, upper, nulls = (
        dict(zip(found[name]["keys"], found[name]["values"], strict=True))
        for name in ("lower-bounds", "upper-bounds", "null-value-counts")
    )
    columns = zip(*landed.rows, strict=True) if len(chunk.shape) > 1 else [landed.rows]
    for each, values in zip(chunk.shape, columns, strict=True):
        if not isinstance(each.type, Primitive):
            continue
        held = [as_iceberg(value) for value in values if value is not None and value == value]
        assert nulls[each.id] == values.count(None)
        decimal = each.type.name == "decimal"
        iceberg = DecimalType(each.type.precision, each.type.scale) if decimal else ICEBERG.get(each.type.name)
        if each.id in lower:
            assert all(from_bytes(iceberg, bytes.fromhex(lower[each.id])) <= value for value in held)
        if each.id in upper:
            assert all(from_bytes(iceberg, bytes.fromhex(upper[each.id])) >= value for value in held)
        assert (each.id in lower) == bool(iceberg and held)


ICEBERG: dict[str, Any] = {
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "timestamp_ns": TimestampNanoType(),
    "timestamptz_ns": TimestamptzNanoType(),
}


def as_iceberg(value: Any) -> Any:
    """A value as pyiceberg gives it from a bound."""
    match value:
        case dt.datetime():
            return micros_since_epoch(value)
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case dt.time():
            return micros_since_epoch(dt.datetime.combine(dt.date(1970, 1, 1), value))
        case _:
            return value


def micros_since_epoch(moment: dt.datetime) -> int:
    return (moment.replace(tzinfo=dt.UTC) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def test_counts_cover_values_nulls_and_nans(make_table: MakeTable) -> None:
    x, y, z = columns(x="double", y="long", z="string")

    found = metrics_of(make_table(x, y, z), '{"x": "NaN", "y": 1}', '{"x": 1}', "{}")

    assert found["value-counts"] == {x.id: 3, y.id: 3, z.id: 3}
    assert found["null-value-counts"] == {x.id: 1, y.id: 2, z.id: 3}
    assert found["nan-value-counts"] == {x.id: 1}
    assert set(found["lower-bounds"]) == set(found["upper-bounds"]) == {x.id, y.id}
    assert all(size > 0 for size in found["column-sizes"].values())


def test_only_nans_or_nulls_have_no_bounds(make_table: MakeTable) -> None:
    table = make_table(column("x", "double"))

    assert bounds(table, '{"x": "NaN"}') == (None, None)
    assert bounds(table, "{}") == (None, None)


def test_fields_of_structs_have_bounds_and_what_lies_in_lists_has_none(make_table: MakeTable) -> None:
    place = struct(**{'a."b"': "long"})
    tags = listed(struct(t="long"))
    s, many = columns(s=place, l=tags)

    found = metrics_of(make_table(s, many), '{"s": {"a.\\"b\\"": 3}, "l": [{"t": 1}, {"t": 2}, null]}', '{"l": []}')

    (inner,), (element,) = place.fields, tags.element.fields  # type: ignore[union-attr]
    assert found["lower-bounds"] == {inner.id: bits.pack("<q", 3).hex()}
    assert set(found["upper-bounds"]) == {inner.id}
    assert set(found["value-counts"]) == {inner.id, element.id}
    assert found["null-value-counts"][inner.id] == 1


def test_a_variant_has_counts_and_a_size_but_no_bounds(make_table: MakeTable) -> None:
    v = column("v", "variant")

    found = metrics_of(make_table(v), '{"v": {"a": 1}}', '{"v": null}', '{"v": "x"}')

    assert (found["value-counts"], found["null-value-counts"]) == ({v.id: 3}, {v.id: 1})
    assert found["lower-bounds"] == found["upper-bounds"] == {}
    assert found["column-sizes"][v.id] > 0


def test_uuids_bytes_and_booleans_go_without_bounds(make_table: MakeTable) -> None:
    for kind, value in (("uuid", '"8d8ac610-566d-4ef0-9c22-186b2a5ed793"'), ("binary", '"00"'), ("boolean", "true")):
        assert bounds(make_table(column("x", kind)), f'{{"x": {value}}}') == (None, None)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("decimal(5,2)", ["-1.50", "3.00", "0.00"]),
        ("decimal(5,2)", ["1.27", "1.28"]),
        ("decimal(5,2)", ["-1.28", "-1.29"]),
        ("decimal(9,0)", ["0", "0"]),
        ("decimal(18,0)", ["-123456789012345678", "32768", "-32768"]),
        ("decimal(38,10)", ["12345678901234567890.0123456789", "-0.0000000001"]),
        ("decimal(38,38)", ["0." + "9" * 38, "-0." + "9" * 38]),
        ("decimal(38,0)", ["9" * 38, "-" + "9" * 38]),
    ],
)
def test_decimal_bounds_are_what_another_reader_takes_them_for(
    make_table: MakeTable, kind: str, values: list[str]
) -> None:
    only = column("x", kind)
    expected = sorted(map(Decimal, values))

    found = bounds(make_table(only), *(f'{{"x": {value}}}' for value in values))

    iceberg = DecimalType(only.type.precision, only.type.scale)  # type: ignore[union-attr]
    assert [from_bytes(iceberg, each) for each in found if each is not None] == [expected[0], expected[-1]]
    # Of the same number Java's library makes the same bytes, which is what Iceberg compares with.
    assert list(found) == [to_bytes(iceberg, value) for value in (expected[0], expected[-1])]


def test_time_bounds_are_microseconds_since_midnight(make_table: MakeTable) -> None:
    found = bounds(
        make_table(column("x", "time")), *(f'{{"x": "{each}"}}' for each in ("23:59:59.999999", "00:00:01.5"))
    )

    assert [from_bytes(TimeType(), each) for each in found if each is not None] == [1_500_000, 86_399_999_999]


def test_bounds_within_maps_are_left_out(make_table: MakeTable) -> None:
    only = column("m", mapped("string", "long"))

    found = metrics_of(make_table(only), '{"m": {"a": 1, "b": null}}', "{}")

    assert found["lower-bounds"] == found["upper-bounds"] == {}
    assert set(found["value-counts"]) == {only.type.key_id, only.type.value_id}  # type: ignore[union-attr]


def test_a_text_of_megabytes_still_gets_truthful_bounds(make_table: MakeTable) -> None:
    low, high = bounds(make_table(column("x", "string")), f'{{"x": "{"x" * 5_000_000}"}}', '{"x": "a"}')

    assert low is None or low <= b"a"
    assert high is None or high >= b"x" * 16
