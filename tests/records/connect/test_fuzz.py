"""Every decoder takes any bytes: it reads them or says why not, and takes neither long nor much memory for it.

`FUZZ_TIMES=100` in the environment tries a hundred times as many.
"""

from __future__ import annotations

import base64
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
from tests.records.batches import batch, convert
from tests.records.connect.test_protobuf import ORDER as MESSAGE
from tests.records.connect.test_protobuf import registered as protobuf_schema

from frazil.model import Conversion, ConverterSpec
from frazil.records.connect import json_converter
from frazil.records.connect.decoding import Decoder
from frazil.records.connect.json_converter import EnvelopeDecoder
from frazil.records.connect.json_text import json_text
from frazil.records.connect.unreadable import Unreadable
from frazil.records.decoders import DECODERS, decoder
from frazil.records.smt.chain import specs
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


def doubling(levels: int) -> dict[str, object]:
    """A record that has another one twice, which has a third one twice, and so on; none of them takes a byte."""
    inner = {"type": "record", "name": f"R{levels}", "fields": []}
    for level in reversed(range(levels)):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level + 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return inner


@pytest.mark.parametrize("kind", ["avro", "snowflake_avro"])
def test_records_that_double_at_each_level_are_bounded(registry: SchemaRegistry, kind: str) -> None:
    few, many = (
        struct.pack(">bI", 0, registry.register(f"{kind}-{levels}", json.dumps(doubling(levels)))) for levels in (4, 40)
    )
    read = made(kind, registry)

    assert (read.text(few) or "").count("{}") == 16
    with pytest.raises(Unreadable, match="values that take no bytes"):
        read.text(many)


def test_an_array_of_such_records_that_is_empty_is_read(registry: SchemaRegistry) -> None:
    schema = {"type": "array", "items": doubling(40)}
    head = struct.pack(">bI", 0, registry.register("doubling-array", json.dumps(schema)))

    assert made("avro", registry).text(head + b"\0") == "[]"


def test_a_json_schema_that_doubles_at_each_level_is_read(registry: SchemaRegistry) -> None:
    definitions = {
        f"A{level}": {"type": "object", "properties": {name: {"$ref": f"#/definitions/A{level + 1}"} for name in "ab"}}
        for level in range(40)
    }
    definitions["A40"] = {"type": "object", "properties": {"x": {"type": "string"}}}
    schema = json.dumps({"definitions": definitions, "$ref": "#/definitions/A0"})
    head = struct.pack(">bI", 0, registry.register("doubling-json", schema, "JSON"))

    text = made("json_schema", registry).text(head + b'{"a": {"b": {}}}')

    assert text == '{"a":{"a":null,"b":{"a":null,"b":null}},"b":null}'


@pytest.mark.parametrize("levels", [1, 150])
def test_a_tree_within_bounds_is_read(seeds: dict[str, bytes], registry: SchemaRegistry, levels: int) -> None:
    text = made("avro", registry).text(seeds["avro"][:5] + LEVEL * (levels - 1) + LEVEL[:-1] + b"\0" * levels)

    assert (text or "").count('"leaves"') == levels


def test_a_decimal_of_too_many_digits_is_refused_before_it_is_computed(registry: SchemaRegistry) -> None:
    def enveloped(size: int) -> bytes:
        field = {**ENVELOPE["schema"]["fields"][1], "field": "b"}
        payload = {"b": base64.b64encode(b"\x7f" * size).decode()}
        return json.dumps({"schema": {"type": "struct", "fields": [field]}, "payload": payload}).encode()

    read = made("json_envelope", registry)

    assert len(json.loads(read.text(enveloped(1701)) or "")["b"]) == 4097 + 1  # digits and the point
    with pytest.raises(Unreadable, match="'b' a decimal of 750,000 bytes, more than the 1,701"):
        read.text(enveloped(750_000))


@pytest.mark.parametrize("digits", ["9" * 4097, "-" + "9" * 5000, "0." + "1" * 5000])
def test_a_number_of_too_many_digits_is_refused(registry: SchemaRegistry, digits: str) -> None:
    with pytest.raises(Unreadable, match=f"has a number of {len(digits):,} characters, more than 4,096"):
        made("json", registry).decode(f'{{"a": [{digits}]}}'.encode())


def test_envelope_schemas_are_kept_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_converter, "_MOST_TEXT", 20_000)
    read = EnvelopeDecoder()
    for number in range(20):
        fields = [{"field": f"f{each}", "type": "int32", "optional": True} for each in range(100)]
        schema = {"type": "struct", "name": f"n{number}", "fields": fields}
        read.text(json.dumps({"schema": schema, "payload": {}}).encode())

    assert 1 <= len(read.known) < 20
    assert sum(map(len, read.known)) == read.kept <= 20_000


TYPES: Final = ("int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes")
CONNECT: Final = "org.apache.kafka.connect.data."
NAMES: Final = (
    *(f"{CONNECT}{name}" for name in ("Decimal", "Date", "Time", "Timestamp")),
    *(f"io.debezium.time.{name}" for name in ("Date", "Time", "MicroTime", "NanoTimestamp", "ZonedTimestamp")),
    *(f"io.debezium.data.{name}" for name in ("VariableScaleDecimal", "Json")),
    "x",
)
ODD: Final = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**30, "", "x", "1", "9" * 30, [], {}, [1], {"a": 1}, "AQ==", "NaN", '{"a":1}', 2**63, [[]]]
)  # fmt: skip


def envelope_schemas(depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas as records bring them: of Connect's and Debezium's names on every type, now and then with nonsense."""
    parameters = st.sampled_from(["0", "2", "-3", "400", "999999999", "1" + "0" * 20, "x", "-0", "1_0"])
    optional = {
        "optional": st.booleans(),
        "name": st.sampled_from(NAMES),
        "parameters": st.fixed_dictionaries({"scale": parameters}),
        "version": st.sampled_from([1, "2", None]),
        "default": ODD,
    }
    simple = st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=optional)
    if depth == 0:
        return simple
    inner = envelope_schemas(depth - 1)
    field = st.builds(
        lambda schema, name: {**schema, "field": name}, inner, st.sampled_from(["a", "b", "scale", "value", ""])
    )
    struct_ = st.fixed_dictionaries(
        {"type": st.just("struct"), "fields": st.lists(field, max_size=3)}, optional=optional
    )
    array = st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional=optional)
    map_ = st.fixed_dictionaries({"type": st.just("map"), "keys": inner, "values": inner}, optional=optional)
    return st.one_of(simple, struct_, array, map_)


@st.composite
def envelopes(draw: st.DrawFn) -> dict[str, Any]:
    """A schema with a payload that is often of it, and with one that is not."""
    schema = draw(envelope_schemas())
    return {"schema": schema, "payload": draw(payloads(schema))}


def payloads(schema: Any) -> st.SearchStrategy[Any]:
    usual: dict[str, Any] = {
        "int8": 5, "int16": 300, "int32": 70000, "int64": 2**40, "float": 1.5, "double": 2.5, "boolean": True,
        "string": '{"a":[1,2]}', "bytes": "AQID",
    }  # fmt: skip
    match schema:
        case {"type": "struct", "fields": fields}:
            of_schema: st.SearchStrategy[Any] = st.fixed_dictionaries(
                {each["field"]: payloads(each) for each in fields}
            )
        case {"type": "array", "items": items}:
            of_schema = st.lists(payloads(items), max_size=2)
        case {"type": "map", "keys": keys, "values": values}:
            of_schema = st.dictionaries(st.just("k"), payloads(values)) | st.lists(
                st.tuples(payloads(keys), payloads(values)).map(list), max_size=2
            )
        case _:
            of_schema = st.just(usual[schema["type"]])
    return of_schema | ODD


@given(envelope=envelopes())
@settings(max_examples=100 * TIMES, deadline=5000)
def test_any_envelope_is_read_or_refused(envelope: dict[str, Any]) -> None:
    reads_or_refuses(EnvelopeDecoder(), json.dumps(envelope).encode())


TRANSFORMS: Final[dict[str, dict[str, str]]] = {
    **{f"Cast a:{to}": {"type": "Cast$Value", "spec": f"a:{to}"} for to in ("string", "int8", "int64", "float32", "boolean")},
    "Cast": {"type": "Cast$Value", "spec": "string"},
    **{
        f"TimestampConverter {to}": {"type": "TimestampConverter$Value", "field": "a", "target.type": to, "format": "yyyy"}
        for to in ("string", "unix", "Date", "Timestamp")
    },
    "Flatten": {"type": "Flatten$Value"},
    "MaskField": {"type": "MaskField$Value", "fields": "a"},
    "MaskField by 5": {"type": "MaskField$Value", "fields": "a", "replacement": "5"},
    "ExtractField": {"type": "ExtractField$Value", "field": "a"},
    "HoistField": {"type": "HoistField$Value", "field": "x"},
    "ValueToKey": {"type": "ValueToKey", "fields": "a"},
    "HeaderFrom": {"type": "HeaderFrom$Value", "fields": "a", "headers": "h", "operation": "copy"},
    "ReplaceField": {"type": "ReplaceField$Value", "renames": "a:z"},
    "InsertField": {"type": "InsertField$Value", "static.field": "x", "static.value": "y", "offset.field": "o"},
    "SetSchemaMetadata": {"type": "SetSchemaMetadata$Value", "schema.name": "n", "schema.version": "3"},
}  # fmt: skip


@pytest.mark.parametrize("transform", sorted(TRANSFORMS))
@given(envelope=envelopes(), has_schema=st.booleans())
@settings(max_examples=12 * TIMES, deadline=5000)
def test_any_record_is_transformed_or_refused(transform: str, envelope: dict[str, Any], has_schema: bool) -> None:
    config = {"transforms": "x", **{f"transforms.x.{key}": value for key, value in TRANSFORMS[transform].items()}}
    config["transforms.x.type"] = f"org.apache.kafka.connect.transforms.{config['transforms.x.type']}"
    kind, value = ("json_envelope", envelope) if has_schema else ("json", envelope["payload"])

    done = convert(
        batch(value=[json.dumps(value).encode()]),
        Conversion(value_converter=ConverterSpec(kind, {}), transforms=specs(config)),
    )

    assert done.table.num_rows + len(done.rejects) + sum(done.skipped.values()) == 1
    # The last line of defence is for what nothing of ours raises.
    assert not [each.reason for each in done.rejects if each.reason.startswith("the record cannot be converted")]


@pytest.mark.parametrize("exponent", ["1e999999999", "-1E+400", "1e-999999999", "0." + "0" * 500 + "1"])
def test_a_number_far_from_zero_keeps_its_form_and_takes_no_time(registry: SchemaRegistry, exponent: str) -> None:
    assert made("json", registry).text(f'{{"a": {exponent}}}'.encode()) == f'{{"a":{exponent}}}'
