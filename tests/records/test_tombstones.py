"""Records without a value: rows of metadata only, or none at all."""

from __future__ import annotations

from tests.records.batches import batch, convert

from frazil.model import Conversion, ConverterSpec

IGNORE = Conversion(key_converter=ConverterSpec("json"), tombstones="ignore")


def test_a_tombstone_is_a_row_without_a_value() -> None:
    converted = convert(batch(value=[b"{}", None, b""]), Conversion(), now=0)

    assert converted.table.column("value").to_pylist() == ["{}", None, None]
    assert converted.skipped == {}


def test_ignored_tombstones_are_in_no_table_and_counted_by_partition() -> None:
    records = batch(value=[None, b"1", b"", b"2", None], partition=[0, 0, 1, 1, 1])

    converted = convert(records, IGNORE, now=0)

    assert converted.table.column("value").to_pylist() == ["1", "2"]
    assert converted.records.column("offset").to_pylist() == [1, 3]
    assert converted.skipped == {0: 1, 1: 2}


def test_a_batch_of_ignored_tombstones_leaves_nothing() -> None:
    converted = convert(batch(value=[None, b""]), IGNORE, now=0)

    assert (converted.table.num_rows, converted.records.num_rows, converted.skipped) == (0, 0, {3: 2})


def test_an_ignored_tombstone_is_no_reject_whatever_its_key_is() -> None:
    converted = convert(batch(value=[None, b"1", b"2"], key=[b"{", b"{", b"1"]), IGNORE, now=0)

    assert converted.table.column("value").to_pylist() == ["2"]
    assert [reject.offset for reject in converted.rejects] == [1]
    assert converted.skipped == {3: 1}
