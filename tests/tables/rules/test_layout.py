from __future__ import annotations

from frazil.model import Layout, LayoutTransform, PartitionField, SortField
from frazil.tables.rules.layout import layout_from_json


def test_a_spec_and_an_order_are_read_as_iceberg_writes_them() -> None:
    spec = """{"spec-id": 3, "fields": [
        {"name": "day", "transform": "day", "source-id": 2, "field-id": 1000},
        {"name": "b", "transform": "bucket[16]", "source-id": 1, "field-id": 1001},
        {"name": "both", "transform": "zorder", "source-ids": [1, 2], "field-id": 1002}]}"""
    order = """{"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 1, "direction": "desc", "null-order": "nulls-last"},
        {"transform": "truncate[4]", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}]}"""

    assert layout_from_json(spec, order) == Layout(
        (
            PartitionField("day", 2, LayoutTransform("day")),
            PartitionField("b", 1, LayoutTransform("bucket", 16)),
            PartitionField("both", 0, LayoutTransform("zorder")),
        ),
        (
            SortField(1, LayoutTransform("identity"), descending=True, nulls_first=False),
            SortField(2, LayoutTransform("truncate", 4), descending=False, nulls_first=True),
        ),
    )
