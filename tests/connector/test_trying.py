"""What `frazil explain` shows of rows."""

from __future__ import annotations

import json

from tests.pipes.default.chunks import columns, listed, struct

from frazil.connector.trying import Trying, batch_of
from frazil.model import Conversion, Layout, LayoutTransform, PartitionField
from frazil.pipes.default.pipe import DefaultPipe


def test_what_a_pipe_of_a_stream_makes_of_lines_is_shown_with_its_metadata() -> None:
    shape = columns(n="long", kinesisMetadata=struct(stream="string", sequenceNumber="string"))
    conversion = Conversion(metadata_column="kinesisMetadata")

    with Trying(DefaultPipe(shape, conversion), conversion, "orders") as trying:
        (shown,) = trying.each([batch_of([b'{"n": 1}'], "orders")])

    assert shown.row is not None
    assert json.loads(shown.row["kinesisMetadata"]) == {"stream": "orders", "sequenceNumber": "0"}


def test_variants_and_bytes_at_any_depth_are_shown_as_what_they_are() -> None:
    shape = columns(v="variant", s=struct(v="variant"), l=listed("variant"), b="binary", f="fixed[2]")
    record = b'{"v": {"b": 1, "a": 2}, "s": {"v": [1.5]}, "l": ["x", null], "b": "00ff", "f": "0a0b"}'

    with Trying(DefaultPipe(shape, Conversion()), Conversion(), "orders") as trying:
        shown, refused = trying.each([batch_of([record, b'{"f": "0a"}'], "orders")])

    assert shown.row is not None
    assert {name: json.loads(text) for name, text in shown.row.items()} == {
        "v": {"a": 2, "b": 1},
        "s": {"v": [1.5]},
        "l": ["x", None],
        "b": "00FF",
        "f": "0A0B",
    }
    assert refused.reject is not None
    assert refused.reject.column == "f"


def test_a_value_that_no_partition_of_its_table_takes_is_shown_as_a_reject() -> None:
    n, x = shape = columns(n="long", x="decimal(4,0)")
    layout = Layout((PartitionField("x_trunc", x.id, LayoutTransform("truncate", 10)),))
    pipe = DefaultPipe(shape, Conversion())

    with Trying(pipe, Conversion(), "orders", layout) as trying:
        refused, shown = trying.each([batch_of([b'{"n": 1, "x": -9999}', b'{"n": 2, "x": -9990}'], "orders")])

    assert refused.reject is not None
    assert (refused.reject.column, refused.row) == (x.name, None)
    assert "truncate[10]" in refused.reject.reason
    assert shown.row is not None
    assert {name: json.loads(text) for name, text in shown.row.items()} == {n.name: 2, x.name: -9990}
