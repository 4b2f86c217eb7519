"""A record for which a converter or transform raises what it does not announce costs its own rejection."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.records.batches import batch, convert

from frazil.errors import RegistryUnavailable
from frazil.model import Conversion, ConverterSpec
from frazil.records import convert as converting
from frazil.records.converters import ConvertedColumn, JsonConverter

BRITTLE = Conversion(value_converter=ConverterSpec("brittle", {}))


class Brittle(JsonConverter):
    """Raises for a whole column where one cell is poison."""

    def convert(self, column: pa.BinaryArray, topics: pa.DictionaryArray) -> ConvertedColumn:
        cells = column.to_pylist()
        if b"poison" in cells:
            raise KeyError("no such thing")
        if b"unknown id" in cells:
            raise RegistryUnavailable("it is away")
        if b"huge" in cells:
            raise MemoryError
        return JsonConverter.convert(self, column, topics)


@pytest.fixture(autouse=True)
def brittle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(converting.CONVERTERS, "brittle", Brittle)


@pytest.mark.parametrize(
    "poisoned", [{0}, {999}, {411, 412, 700}, set(range(1000))], ids=["first", "last", "few", "all"]
)
def test_only_poison_records_are_rejected(poisoned: set[int]) -> None:
    values = [b"poison" if row in poisoned else b'{"n":%d}' % row for row in range(1000)]
    topics = [f"orders{row % 3}" for row in range(1000)]

    done = convert(batch(value=values, topic=topics), BRITTLE)

    assert {each.offset for each in done.rejects} == poisoned
    assert {each.reason for each in done.rejects} == {"the record cannot be converted: KeyError: \"'no such thing'\""}
    good = [row for row in range(1000) if row not in poisoned]
    assert done.table.column("offset").to_pylist() == good
    assert done.table.column("value").to_pylist() == [f'{{"n":{row}}}' for row in good]
    assert done.records.column("offset").to_pylist() == good
    assert done.topics.to_pylist() == [topics[row] for row in good]


def test_tombstones_beside_a_poison_record_are_still_counted_as_skipped() -> None:
    values = [None, b"poison", None, b"{}", None]

    done = convert(batch(value=values), Conversion(value_converter=ConverterSpec("brittle", {}), tombstones="ignore"))

    assert dict(done.skipped) == {3: 3}
    assert done.table.column("offset").to_pylist() == [3]


@pytest.mark.parametrize(("value", "error"), [(b"unknown id", RegistryUnavailable), (b"huge", MemoryError)])
def test_what_no_record_causes_still_ends_the_task(value: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        convert(batch(value=[b"{}", value]), BRITTLE)
