"""What partitions are called, and how their values are told to Iceberg."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.pipes.default.chunks import columns, struct

from frazil.layout.partitions import order_by, partition, partition_keys
from frazil.layout.sources import unwritable
from frazil.model import Layout, LayoutTransform, PartitionField, SortField

DAY = (dt.date(2017, 11, 16) - dt.date(1970, 1, 1)).days
MICROS = (DAY * 24 * 3600 + 22 * 3600 + 31 * 60 + 8) * 1_000_000


def transform(text: str) -> LayoutTransform:
    name, _, parameter = text.removesuffix("]").partition("[")
    return LayoutTransform(name, int(parameter or 0))


@pytest.mark.parametrize(
    ("kind", "by", "listed", "value", "directory"),
    [
        ("string", "identity", "a b/c=ü&~*", "a b/c=ü&~*", "f=a+b%2Fc%3D%C3%BC%26%7E*"),
        ("string", "identity", None, None, "f=null"),
        ("string", "identity", "null", "null", "f=null"),
        ("string", "truncate[3]", "../", "../", "f=..%2F"),
        ("long", "bucket[16]", 7, 7, "f=7"),
        ("long", "identity", -5, -5, "f=-5"),
        ("boolean", "identity", True, True, "f=true"),
        ("double", "identity", "-0.0", -0.0, "f=-0.0"),
        ("date", "identity", DAY, "2017-11-16", "f=2017-11-16"),
        ("date", "day", -1, "1969-12-31", "f=1969-12-31"),
        ("timestamptz", "day", DAY, "2017-11-16", "f=2017-11-16"),
        ("timestamp", "year", -1, -1, "f=1969"),
        ("timestamp", "month", -1, -1, "f=1969-12"),
        ("timestamp", "hour", 24 * DAY + 22, 24 * DAY + 22, "f=2017-11-16-22"),
        ("timestamp", "hour", -1, -1, "f=1969-12-31-23"),
        ("timestamp", "identity", MICROS, "2017-11-16T22:31:08.000000", "f=2017-11-16T22%3A31%3A08.000000"),
        (
            "timestamptz",
            "identity",
            MICROS,
            "2017-11-16T22:31:08.000000+00:00",
            "f=2017-11-16T22%3A31%3A08.000000%2B00%3A00",
        ),
        ("decimal(9,2)", "truncate[10]", "14.20", "14.20", "f=14.20"),
        ("binary", "identity", b"\x00\xff", "00FF", "f=AP8%3D"),
        ("fixed[2]", "identity", b"\x00\xff", "00FF", "f=AP8%3D"),
        (
            "uuid",
            "identity",
            "f79c3e09-677c-4bbd-a479-3f349cb785e7",
            "f79c3e09-677c-4bbd-a479-3f349cb785e7",
            "f=f79c3e09-677c-4bbd-a479-3f349cb785e7",
        ),
    ],
)
def test_a_partition_has_icebergs_value_and_directory(
    kind: str, by: str, listed: Any, value: Any, directory: str
) -> None:
    (x,) = columns(x=kind)
    keys = partition_keys(Layout((PartitionField("f", x.id, transform(by)),)), [x])

    found = partition(keys, [listed])

    assert (repr(found.values), found.directory) == (repr((value,)), directory)


def test_directories_of_several_fields_are_within_each_other() -> None:
    x, y = columns(x="long", y="string")
    layout = Layout(
        (PartitionField("x b", x.id, transform("bucket[4]")), PartitionField("y", y.id, transform("identity")))
    )

    found = partition(partition_keys(layout, [x, y]), [3, "a"])

    assert found.directory == "x+b=3/y=a"


def test_a_long_value_makes_no_directory_that_file_systems_refuse_nor_one_of_another_value() -> None:
    (x,) = columns(x="string")
    keys = partition_keys(Layout((PartitionField("f", x.id, transform("identity")),)), [x])

    found = [partition(keys, ["ü" * 200 + end]) for end in ("a", "b")]

    assert all(len(each.directory.encode()) <= 255 for each in found)
    assert found[0].directory != found[1].directory
    assert found[0].values == ("ü" * 200 + "a",)


@pytest.mark.parametrize(
    ("kind", "by", "refused"),
    [
        ("long", "bucket[4]", False),
        ("boolean", "bucket[4]", True),
        ("double", "bucket[4]", True),
        ("double", "identity", False),
        ("long", "day", True),
        ("date", "hour", True),
        ("uuid", "truncate[4]", True),
        ("long", "truncate[4]", False),
        ("long", "bucket", True),
        ("long", "zorder", True),
        ("variant", "identity", True),
        ("variant", "void", False),
    ],
)
def test_what_iceberg_does_not_know_of_a_type_is_refused(kind: str, by: str, refused: bool) -> None:
    (x,) = columns(x=kind)

    partitioned = unwritable(Layout((PartitionField("f", x.id, transform(by)),)), [x])
    ordered = unwritable(Layout(order=(SortField(x.id, transform(by)),)), [x])

    assert (partitioned is not None, ordered is not None) == (refused, refused)


def test_a_field_of_a_column_that_is_not_there_is_refused_unless_it_is_void() -> None:
    (x,) = columns(x="long")

    assert "partition field gone is made of no column" in str(
        unwritable(Layout((PartitionField("gone", 0, transform("identity")),)), [x])
    )
    assert unwritable(Layout((PartitionField("gone", 0, transform("void")),)), [x]) is None


def test_rows_are_sorted_by_fields_of_structs_too_in_the_direction_that_is_asked_for() -> None:
    place = struct(**{'a"b': "long"})
    x, s = columns(x="string", S=place)
    (inner,) = place.fields
    layout = Layout(
        order=(
            SortField(inner.id, transform("identity"), descending=True, nulls_first=False),
            SortField(x.id, transform("truncate[2]")),
        )
    )

    assert order_by(layout, [x, s]) == '"S"."a""b" DESC NULLS LAST, left("x", 2) ASC NULLS FIRST'
    assert order_by(layout, [x, s], ["c0", "c1"]) == 'c1."a""b" DESC NULLS LAST, left(c0, 2) ASC NULLS FIRST'
