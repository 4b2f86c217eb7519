"""Records whose converters and transforms look into them: each fares by itself."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

import pytest
from tests.records.batches import batch, convert

from frazil.model import Conversion, ConverterSpec
from frazil.records.smt.chain import specs
from frazil.testing.schema_registry import SchemaRegistry, served

COUNT = 20_000
POISON = 12_345
OWN = specs(
    {"transforms": "mine", "transforms.mine.type": "tests.support.own_transforms:Doubled", "transforms.mine.field": "n"}
)


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with served() as found:
        yield found


def numbers(poison: bytes) -> list[bytes]:
    return [poison if each == POISON else b'{"n": %d}' % (each + 1000) for each in range(COUNT)]


@pytest.mark.parametrize(
    ("poison", "stage", "reason"),
    [
        (b'{"n": "x"}', "transform", "the transform mine: tests.support.own_transforms:Doubled failed with ValueError"),
        (b"[" * 100_000, "convert", "the value is nested too deep"),
        (b"\xff", "convert", "the value is not valid JSON"),
        (b'{"m": 1}', "transform", "failed with KeyError"),
    ],
    ids=["transform", "depth", "bytes", "key"],
)
def test_a_poison_record_costs_its_own_rejection_and_nothing_else(poison: bytes, stage: str, reason: str) -> None:
    done = convert(batch(value=numbers(poison)), Conversion(transforms=OWN))

    (reject,) = done.rejects
    assert (reject.offset, reject.stage) == (POISON, stage)
    assert reason in reject.reason
    assert reject.value == poison
    found = dict(zip(done.table.column("offset").to_pylist(), done.table.column("value").to_pylist(), strict=True))
    assert found == {each: f'{{"n":{2 * (each + 1000)}}}' for each in range(COUNT) if each != POISON}


def test_a_poison_record_of_avro_costs_its_own_rejection_too(registry: SchemaRegistry) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
    head = struct.pack(">bI", 0, registry.register("numbers-value", json.dumps(schema)))
    values = [head if each == POISON else head + b"\x02" for each in range(COUNT)]
    conversion = Conversion(value_converter=ConverterSpec("avro", {"schema.registry.url": registry.url}))

    done = convert(batch(value=values), conversion)

    assert [(each.offset, each.stage) for each in done.rejects] == [(POISON, "convert")]
    assert done.table.num_rows == COUNT - 1
    assert set(done.table.column("value").to_pylist()) == {'{"n":1}'}
    assert [each for each in registry.requests if each.startswith("/schemas/ids/")] == ["/schemas/ids/1"]


def test_what_a_transform_drops_is_counted_by_partition_and_its_tombstones_are_tombstones() -> None:
    keys = {
        "transforms": "drop,wrap",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "gone",
        "transforms.wrap.type": "HoistField$Value",
        "transforms.wrap.field": "v",
        "predicates": "gone",
        "predicates.gone.type": "RecordIsTombstone",
    }

    done = convert(batch(value=[b"1", None, b"2", None], partition=[0, 0, 1, 1]), Conversion(transforms=specs(keys)))

    assert done.table.column("value").to_pylist() == ['{"v":1}', '{"v":2}']
    assert dict(done.skipped) == {0: 1, 1: 1}
