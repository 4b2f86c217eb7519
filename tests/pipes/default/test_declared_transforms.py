"""What transforms make of schemas decides about columns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.model import Conversion, ConverterSpec
from frazil.pipes.evolution import columns_for
from frazil.records.smt.chain import specs

from .chunks import Table, Worker, columns
from .test_declared import CONNECT, decimal, enveloped, kind, record_of, texts

FIELDS = {
    "id": kind("string"),
    "price": decimal(2, 9),
    "at": kind("int64"),
    "place": record_of(city=kind("string"), rent=decimal(2, 5)),
    "inner": record_of(n=kind("int16")),
}
PLAIN = {
    "id": "string", "price": "decimal(9,2)", "at": "long", "place": "struct<city: string, rent: decimal(5,2)>",
    "inner": "struct<n: int>",
}  # fmt: skip


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ({"type": "Cast$Value", "spec": "id:int64,price:float64,at:int8"}, {"id": "long", "price": "double", "at": "int"}),
        ({"type": "TimestampConverter$Value", "field": "at", "target.type": "Timestamp"}, {"at": "timestamp"}),
        ({"type": "TimestampConverter$Value", "field": "at", "target.type": "Date"}, {"at": "date"}),
        ({"type": "TimestampConverter$Value", "field": "at", "target.type": "Time"}, {"at": "time"}),
        ({"type": "InsertField$Value", "timestamp.field": "came", "offset.field": "place_at", "static.field": "s", "static.value": "x"},
         {"came": "timestamp", "place_at": "long", "s": "string"}),
        ({"type": "Flatten$Value", "delimiter": "_"},
         {"place": None, "inner": None, "place_city": "string", "place_rent": "decimal(5,2)", "inner_n": "int"}),
        ({"type": "ReplaceField$Value", "exclude": "id", "renames": "price:cost"},
         {"id": None, "price": None, "cost": "decimal(9,2)"}),
        ({"type": "ExtractField$Value", "field": "place"}, dict.fromkeys(PLAIN) | {"city": "string", "rent": "decimal(5,2)"}),
        ({"type": "HoistField$Value", "field": "all"},
         dict.fromkeys(PLAIN) | {"all": "struct<at: long, id: string, inner: struct<n: int>, "
                                        "place: struct<city: string, rent: decimal(5,2)>, price: decimal(9,2)>"}),
        ({"type": "ValueToKey", "fields": "id"}, {}),
        ({"type": "SetSchemaMetadata$Value", "schema.name": "x", "schema.version": "2"}, {}),
    ],
)  # fmt: skip
def test_columns_are_what_the_schema_of_the_last_transform_says(
    worker: Worker, transform: dict[str, str], expected: dict[str, str | None]
) -> None:
    keys = {f"transforms.t.{key}": value for key, value in transform.items()}
    keys["transforms.t.type"] = f"org.apache.kafka.connect.transforms.{transform['type']}"
    converted = Conversion(
        value_converter=ConverterSpec("json_envelope"),
        transforms=specs({"transforms": "t", **keys}),
        nested_type="struct",
        binary="base64",
    )
    table = Table(worker, columns(only="long"), converted, evolves=True)
    value: dict[str, Any] = {
        "id": "7",
        "price": 1.25,
        "at": 100,
        "place": {"city": None, "rent": None},
        "inner": {"n": 1},
    }

    landed = table.land(enveloped(FIELDS, **value))

    found = {name: each for name, each in {**PLAIN, **expected}.items() if each is not None}
    assert (texts(columns_for(landed.drift, "struct")), landed.reasons) == (found, {})


def test_a_value_that_has_no_schema_has_none_behind_transforms(worker: Worker) -> None:
    options = {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "all"}
    converted = Conversion(
        value_converter=ConverterSpec("json"),
        transforms=specs({"transforms": "t", **{f"transforms.t.{key}": each for key, each in options.items()}}),
    )

    landed = Table(worker, columns(only="long"), converted, evolves=True).land(json.dumps(1.5))

    assert texts(columns_for(landed.drift, "variant")) == {"all": "double"}


def test_bytes_in_a_field_make_a_column_of_bytes(worker: Worker) -> None:
    options = {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "all"}
    converted = Conversion(
        value_converter=ConverterSpec("bytes"),
        transforms=specs({"transforms": "t", **{f"transforms.t.{key}": each for key, each in options.items()}}),
        binary="base64",
    )

    landed = Table(worker, columns(only="long"), converted, evolves=True).land(b"\xff", CONNECT)

    assert texts(columns_for(landed.drift, "variant")) == {"all": "binary"}
