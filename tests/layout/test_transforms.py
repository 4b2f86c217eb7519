"""Transforms in SQL, against those of pyiceberg, and against Java's arithmetic where Python's does not wrap around."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyiceberg import transforms, types
from tests.pipes.default.chunks import primitive

from frazil.layout import hashing
from frazil.layout.transforms import result_type, transformed
from frazil.model import Layout, LayoutTransform, PartitionField, Primitive
from frazil.pipes.types import sql_type
from frazil.staging.worker import locked_down

EPOCH = dt.datetime.fromisoformat("1970-01-01T00:00:00")
MICROSECOND = dt.timedelta(microseconds=1)
INTS = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-1, 0, 1, -(2**31), 2**31 - 1])
LONGS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-1, 0, 1, -(2**63), 2**63 - 1])
DATES = st.dates() | st.sampled_from([dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1, 1, 1)])
MOMENTS = st.datetimes() | st.sampled_from(
    [dt.datetime.fromisoformat(each) for each in ("1969-12-31T23:59:59.999999", "1970-01-01", "1969-12-31T23:00:00")]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)

VALUES: dict[str, tuple[st.SearchStrategy[Any], types.IcebergType]] = {
    "int": (INTS, types.IntegerType()),
    "long": (LONGS, types.LongType()),
    "decimal(9,2)": (st.decimals(-9999999, 9999999, places=2), types.DecimalType(9, 2)),
    "decimal(38,0)": (st.integers(-(10**37), 10**37).map(Decimal), types.DecimalType(38, 0)),
    "decimal(38,30)": (
        st.integers(-(10**37), 10**37).map(lambda each: Decimal(f"{each}e-30")),
        types.DecimalType(38, 30),
    ),
    "date": (DATES, types.DateType()),
    "time": (st.times(), types.TimeType()),
    "timestamp": (MOMENTS, types.TimestampType()),
    "timestamptz": (MOMENTS, types.TimestamptzType()),
    "string": (TEXTS, types.StringType()),
    "uuid": (st.uuids(), types.UUIDType()),
    "binary": (st.binary(max_size=40), types.BinaryType()),
    "fixed[3]": (st.binary(min_size=3, max_size=3), types.FixedType(3)),
}
"""Values of a type by its name, and the type in pyiceberg's words."""

BUCKETED = list(VALUES)
TRUNCATED = ["decimal(9,2)", "decimal(38,0)", "decimal(38,30)", "string", "binary"]
DATED = ["date", "timestamp", "timestamptz"]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection as workers have them, that knows how to hash."""
    opened = locked_down(Path(tmp_path_factory.mktemp("scratch")))
    hashing.teach(opened, Layout((PartitionField("f", 1, LayoutTransform("bucket", 2)),)))
    yield opened
    opened.close()


def made(connection: duckdb.DuckDBPyConnection, transform: LayoutTransform, name: str, values: list[Any]) -> list[Any]:
    """What SQL makes of values of a type, in the form that pyiceberg gives."""
    kind = primitive(name)
    column = f"CAST(v AS {sql_type(kind)})"
    sql = transformed(transform, column, kind)
    if result_type(transform, kind).name == "date":
        sql = f"{sql} - DATE '1970-01-01'"
    given = pa.table(
        {"n": range(len(values)), "v": pa.array([as_arrow(name, each) for each in values], _ARROW.get(name))}
    )
    connection.register("given", given)
    try:
        return [each for (each,) in connection.execute(f"SELECT {sql} FROM given ORDER BY n").fetchall()]
    finally:
        connection.unregister("given")


_ARROW = {
    "int": pa.int32(),
    "long": pa.int64(),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(38,0)": pa.decimal128(38, 0),
    "decimal(38,30)": pa.decimal128(38, 30),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "uuid": pa.string(),
    "binary": pa.binary(),
    "fixed[3]": pa.binary(),
}


def as_arrow(name: str, value: Any) -> Any:
    if name == "timestamptz" and value is not None:
        return value.replace(tzinfo=dt.UTC)
    return str(value) if isinstance(value, uuid.UUID) else value


def as_iceberg(value: Any) -> Any:
    """A value as pyiceberg's transforms take it."""
    match value:
        case dt.datetime():
            return (value - EPOCH) // MICROSECOND
        case dt.date():
            return (value - EPOCH.date()).days
        case dt.time():
            return (dt.datetime.combine(EPOCH.date(), value) - EPOCH) // MICROSECOND
        case _:
            return value


LAW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)


@pytest.mark.parametrize("name", BUCKETED)
@given(st.data())
@LAW
def test_a_value_is_in_the_bucket_that_iceberg_gives_it(connection, name: str, data: st.DataObject) -> None:
    strategy, kind = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=20))
    buckets = data.draw(st.sampled_from([1, 2, 16, 1000, 2**31 - 1]))

    expected = [transforms.BucketTransform(buckets).transform(kind)(as_iceberg(each)) for each in values]

    assert made(connection, LayoutTransform("bucket", buckets), name, values) == expected


@pytest.mark.parametrize("name", TRUNCATED)
@given(st.data())
@LAW
def test_a_value_is_cut_as_iceberg_cuts_it(connection, name: str, data: st.DataObject) -> None:
    strategy, kind = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=20))
    width = data.draw(st.sampled_from([1, 2, 10, 1000]))

    expected = [transforms.TruncateTransform(width).transform(kind)(as_iceberg(each)) for each in values]
    # A cut that needs more digits than its type has is in no manifest: Iceberg's own writers fail with it.
    assume(all(_has_room(kind, each) for each in expected))

    assert made(connection, LayoutTransform("truncate", width), name, values) == expected


def _has_room(kind: types.IcebergType, value: Any) -> bool:
    return not isinstance(value, Decimal) or len(value.as_tuple().digits) <= kind.precision


@pytest.mark.parametrize(("name", "bits"), [("int", 32), ("long", 64)])
@given(st.data())
@LAW
def test_whole_numbers_are_cut_as_java_does_at_the_ends_too(connection, name: str, bits: int, data) -> None:
    strategy, _ = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=20))
    width = data.draw(st.sampled_from([1, 2, 10, 1000, 2**30, 2**30 + 1, 2**31 - 1]))

    expected = [None if each is None else java_truncated(each, width, bits) for each in values]

    assert made(connection, LayoutTransform("truncate", width), name, values) == expected


def java_truncated(value: int, width: int, bits: int) -> int:
    """`value - (((value % width) + width) % width)` in Java's integers."""

    def wrapped(number: int) -> int:
        return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

    def remainder(number: int) -> int:
        return abs(number) % width * (-1 if number < 0 else 1)

    return wrapped(value - remainder(wrapped(remainder(value) + width)))


@pytest.mark.parametrize("name", DATED)
@pytest.mark.parametrize(
    ("unit", "theirs"),
    [
        ("year", transforms.YearTransform()),
        ("month", transforms.MonthTransform()),
        ("day", transforms.DayTransform()),
        ("hour", transforms.HourTransform()),
    ],
)
@given(st.data())
@LAW
def test_dates_before_1970_too_are_of_the_year_month_day_and_hour_that_iceberg_says(
    connection, name: str, unit: str, theirs: transforms.Transform, data: st.DataObject
) -> None:
    if (name, unit) == ("date", "hour"):
        return
    strategy, kind = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=20))

    expected = [theirs.transform(kind)(as_iceberg(each)) for each in values]

    assert made(connection, LayoutTransform(unit), name, values) == expected


def test_the_hashes_are_those_of_the_specification(connection) -> None:
    def hashed(sql: str, name: str) -> int:
        ((found,),) = connection.execute(f"SELECT {hashing.hashed(sql, primitive(name))}").fetchall()
        return found

    assert hashed("34", "int") == hashed("34", "long") == 2017239379
    assert hashed("CAST('14.20' AS DECIMAL(9,2))", "decimal(9,2)") == -500754589
    assert hashed("DATE '2017-11-16'", "date") == -653330422
    assert hashed("TIME '22:31:08'", "time") == -662762989
    assert hashed("TIMESTAMP '2017-11-16T22:31:08'", "timestamp") == -2047944441
    assert hashed("TIMESTAMP '2017-11-16T22:31:08.000001'", "timestamp") == -1207196810
    assert hashed("TIMESTAMPTZ '2017-11-16T14:31:08-08:00'", "timestamptz") == -2047944441
    assert hashed("TIMESTAMPTZ '2017-11-16T14:31:08.000001-08:00'", "timestamptz") == -1207196810
    assert hashed("TIMESTAMP_NS '2017-11-16T22:31:08.000001001'", "timestamp_ns") == -1207196810
    assert hashed("'iceberg'", "string") == 1210000089
    assert hashed("UUID 'f79c3e09-677c-4bbd-a479-3f349cb785e7'", "uuid") == 1488055340
    assert hashed("unhex('00010203')", "fixed[4]") == hashed("unhex('00010203')", "binary") == -188683207


@pytest.mark.parametrize("sql_type", ["TIMESTAMP_NS", "TIMESTAMPTZ_NS"])
def test_a_moment_of_nanoseconds_goes_where_the_one_of_microseconds_goes(connection, sql_type: str) -> None:
    kind = Primitive(sql_type.lower())
    texts = ["1969-12-31T23:59:59.999999999", "1677-09-21T00:12:43.145224194", "2262-04-11T23:47:16.854775806"]
    for text in texts:
        for transform in ("year", "month", "day", "hour"):
            found = [
                transformed(LayoutTransform(transform), f"CAST('{text[:last]}' AS {name})", each)
                for name, last, each in ((sql_type, None, kind), ("TIMESTAMP", -3, Primitive("timestamp")))
            ]
            assert connection.execute(f"SELECT {found[0]} IS NOT DISTINCT FROM {found[1]}").fetchall() == [(True,)]
        hashes = (f"CAST('{text}' AS {sql_type})", kind), (f"TIMESTAMP '{text[:-3]}'", Primitive("timestamp"))
        sql = ", ".join(hashing.hashed(*each) for each in hashes)
        ((first, second),) = connection.execute(f"SELECT {sql}").fetchall()
        assert first == second


def test_all_rows_of_a_void_field_are_in_one_partition(connection) -> None:
    assert made(connection, LayoutTransform("void"), "long", [1, None]) == [None, None]
