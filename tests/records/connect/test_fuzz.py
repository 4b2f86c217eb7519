"""Every decoder takes any bytes: it reads them or says why not, and takes neither long nor much memory for it.

`FUZZ_TIMES=100` in the environment tries a hundred times as many.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records.connect.test_protobuf import ORDER as MESSAGE
from tests.records.connect.test_protobuf import registered as protobuf_schema

from frazil.model import ConverterSpec
from frazil.records.connect.decoding import Decoder
from frazil.records.connect.json_text import json_text
from frazil.records.connect.unreadable import Unreadable
from frazil.records.decoders import DECODERS, decoder
from frazil.testing.schema_registry import SchemaRegistry, served

TIMES: Final = int(os.environ.get("FUZZ_TIMES", "1"))

RECORD: Final = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "name", "type": ["null", "string", "long"]},
        {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "counts", "type": {"type": "map", "values": "double"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 3}},
        {"name": "leaves", "type": {"type": "array", "items": "Tree"}},
    ],
}
LEAF: Final = {
    "name": "é", "total": b"\x04\xe2", "at": 1_700_000_000_000, "day": 80, "counts": {"a": 0.5}, "kind": "B",
    "raw": b"abc", "leaves": [],
}  # fmt: skip
ENVELOPE: Final = {
    "schema": {
        "type": "struct",
        "fields": [
            {"field": "a", "type": "int32", "optional": True, "default": 3},
            {
                "field": "b",
                "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2"},
            },
            {"field": "c", "type": "map", "keys": {"type": "int32"}, "values": {"type": "string", "optional": True}},
        ],
    },
    "payload": {"a": None, "b": "MDk=", "c": [[1, "x"]]},
}
FORM: Final = {
    "type": "object",
    "properties": {
        "on": {"type": "integer", "connect.type": "int32", "title": "org.apache.kafka.connect.data.Date"},
        "price": {
            "type": "number",
            "connect.type": "bytes",
            "title": "org.apache.kafka.connect.data.Decimal",
            "connect.parameters": {"scale": "2"},
        },
        "map": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        "raw": {"oneOf": [{"type": "null"}, {"type": "string", "connect.type": "bytes"}]},
        "next": {"$ref": "#"},
    },
}
MOST_BYTES: Final = 64 << 20
"""What reading a record of a few hundred bytes may take."""


def avro(value: Any) -> bytes:
    bare = re.sub(r', "logicalType": "[a-z-]+"', "", json.dumps(RECORD))
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(json.loads(bare)), value)
    return buffer.getvalue()


def avro_file() -> bytes:
    buffer = io.BytesIO()
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "long"]}]}
    fastavro.writer(buffer, fastavro.parse_schema(schema), [{"a": 1}])
    return buffer.getvalue()


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def seeds(registry: SchemaRegistry) -> dict[str, bytes]:
    """A good record for each kind of decoder."""
    tree = struct.pack(">bI", 0, registry.register("trees-value", json.dumps(RECORD)))
    order = struct.pack(">bI", 0, protobuf_schema(registry))
    form = struct.pack(">bI", 0, registry.register("forms-value", json.dumps(FORM), "JSON"))
    message = MESSAGE(big=2**64 - 1, tags=["a"], counts={"x": 1}, cash=1.5, raw=b"\0\xff")
    message.parent.color = 7
    value = avro({**LEAF, "leaves": [LEAF]})
    return {
        "json": b'{"a": [1.50, "\\ud83d\\ude00", null, {"b": -1e400}]}',
        "json_envelope": json.dumps(ENVELOPE).encode(),
        "string": "é".encode(),
        "bytes": b"\0\xff",
        "simple": b'{"a": [1, 2]}',
        "boolean": b"\1",
        "short": struct.pack(">h", -5),
        "integer": struct.pack(">i", -5),
        "long": struct.pack(">q", -5),
        "float": struct.pack(">f", 0.1),
        "double": struct.pack(">d", float("nan")),
        "avro": tree + value,
        "snowflake_avro": tree + value,
        "snowflake_avro_file": avro_file(),
        "protobuf": order + b"\x02\x02" + message.SerializeToString(),
        "json_schema": form
        + b'{"on": 1, "price": 1.50, "map": {"a": 2}, "more": {"x": [1e9]}, "next": {"raw": "YWI="}}',
    }


def made(kind: str, registry: SchemaRegistry) -> Decoder:
    return decoder(ConverterSpec(kind, {"schema.registry.url": registry.url}))


def test_every_decoder_has_a_seed_that_it_reads(seeds: dict[str, bytes], registry: SchemaRegistry) -> None:
    assert seeds.keys() == DECODERS.keys()
    for kind, data in seeds.items():
        assert made(kind, registry).text(data) is not None, kind


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """What happens to bytes on their way: some are changed, cut off, repeated, put in or left out."""
    edits = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["set", "insert", "remove", "cut", "repeat", "far"]),
                st.integers(0, 400),
                st.binary(max_size=12),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def mutated(data: bytes) -> bytes:
        for what, place, more in edits:
            at = place % (len(data) + 1)
            data = {
                "set": data[:at] + more + data[at + len(more) :],
                "insert": data[:at] + more + data[at:],
                "remove": data[:at] + data[at + len(more) :],
                "cut": data[:at],
                "repeat": data + data[at:],
                # A length that goes far beyond the end, as the formats write numbers.
                "far": data[:at] + b"\xfe\xff\xff\xff\x0f" + data[at:],
            }[what]
        return data

    return mutated


@pytest.mark.parametrize("kind", sorted(DECODERS))
@given(how=mutations())
@settings(max_examples=60 * TIMES, deadline=5000)
def test_mutated_bytes_are_read_or_refused_and_both_ways_of_reading_say_the_same(
    seeds: dict[str, bytes], registry: SchemaRegistry, kind: str, how: Callable[[bytes], bytes]
) -> None:
    reads_or_refuses(made(kind, registry), how(seeds[kind]))


@pytest.mark.parametrize("kind", sorted(DECODERS))
@given(data=st.binary(max_size=300))
@settings(max_examples=40 * TIMES, deadline=5000)
def test_any_bytes_are_read_or_refused(registry: SchemaRegistry, kind: str, data: bytes) -> None:
    reads_or_refuses(made(kind, registry), data)


def reads_or_refuses(read: Decoder, data: bytes) -> None:
    text: str | type[Unreadable] | None
    try:
        text = read.text(data)
    except Unreadable as error:
        assert str(error)  # noqa: PT017 (one of the two ways out)
        text = Unreadable
    else:
        assert text is None or json.loads(text) is not None or data.strip() in (b"null", b"")
    try:
        again = json_text(read.decode(data))
    except Unreadable:
        again = Unreadable
    assert again == text
    assert read.schema_id(data) is None or isinstance(read.schema_id(data), int)


LEVEL: Final = b"\0" * 6 + b"abc" + b"\x02"
"""A tree with one leaf, which comes behind it."""

DEEP: Final = {
    "json": b"[" * 200_000,
    "json_envelope": b'{"schema": ' + b'{"type": "array", "items": ' * 50_000,
    "avro": LEVEL * 20_000,
    "snowflake_avro": LEVEL * 20_000,
    "protobuf": b"\x5a\x7f" * 20_000,
}
LENGTHS: Final = (
    b"\xfe\xff\xff\xff\x0f",
    b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\x80" * 12,
)


@pytest.mark.parametrize("kind", ["avro", "snowflake_avro", "protobuf", "snowflake_avro_file", "json_schema"])
@pytest.mark.parametrize("length", LENGTHS, ids=range(len(LENGTHS)))
def test_a_length_that_nothing_is_behind_takes_no_memory(
    seeds: dict[str, bytes], registry: SchemaRegistry, kind: str, length: bytes
) -> None:
    read, seed = made(kind, registry), seeds[kind]
    read.text(seed)
    tracemalloc.start()
    for place in range(5, len(seed)):
        reads_or_refuses(read, seed[:place] + length + seed[place:])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < MOST_BYTES


@pytest.mark.parametrize("kind", sorted(DEEP))
def test_what_is_nested_without_end_is_refused(seeds: dict[str, bytes], registry: SchemaRegistry, kind: str) -> None:
    head = b"" if kind.startswith("json") else seeds[kind][: 7 if kind == "protobuf" else 5]

    with pytest.raises(Unreadable):
        made(kind, registry).text(head + DEEP[kind])


@pytest.mark.parametrize("kind", ["avro", "snowflake_avro"])
def test_elements_that_take_no_bytes_are_not_made_by_the_billion(registry: SchemaRegistry, kind: str) -> None:
    empty = {"type": "array", "items": {"type": "record", "name": "Nothing", "fields": [{"name": "n", "type": "null"}]}}
    head = struct.pack(">bI", 0, registry.register(f"nothing-{kind}", json.dumps(empty)))
    read = made(kind, registry)

    assert read.text(head + b"\x04\0") == '[{"n":null},{"n":null}]'
    with pytest.raises(Unreadable, match="take no bytes"):
        read.text(head + b"\xfe\xff\xff\xff\x0f\0")


@pytest.mark.parametrize("levels", [1, 150])
def test_a_tree_within_bounds_is_read(seeds: dict[str, bytes], registry: SchemaRegistry, levels: int) -> None:
    text = made("avro", registry).text(seeds["avro"][:5] + LEVEL * (levels - 1) + LEVEL[:-1] + b"\0" * levels)

    assert (text or "").count('"leaves"') == levels


@pytest.mark.parametrize("exponent", ["1e999999999", "-1E+400", "1e-999999999", "0." + "0" * 500 + "1"])
def test_a_number_far_from_zero_keeps_its_form_and_takes_no_time(registry: SchemaRegistry, exponent: str) -> None:
    assert made("json", registry).text(f'{{"a": {exponent}}}'.encode()) == f'{{"a":{exponent}}}'
