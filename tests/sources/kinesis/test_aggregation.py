from __future__ import annotations

import hashlib
import tracemalloc
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import example, given
from hypothesis import strategies as st

from frazil.sources.kinesis.aggregation import LONGEST_KEY, MAGIC, UserRecord, hash_key_of, split
from frazil.testing.aggregation import aggregate

HIGHEST = 2**128 - 1
FIELD = descriptor_pb2.FieldDescriptorProto

user_records = st.builds(
    UserRecord,
    st.text(st.characters(exclude_categories=("Cs",)), max_size=LONGEST_KEY),
    st.none() | st.integers(0, HIGHEST),
    st.binary(max_size=300),
)


def sealed(message: bytes) -> bytes:
    """A message as it stands in the data of a record, with the digest that belongs to it."""
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def parts(data: bytes) -> list[UserRecord]:
    """The user records of an aggregated record."""
    found = split(data)
    assert found is not None
    assert len(found) == len([*found])
    return [*found]


def belongs(records: list[UserRecord], lowest: int, highest: int) -> bool:
    """Whether an aggregate of these belongs to a shard with these hash keys."""
    found = split(aggregate(records))
    assert found is not None
    return found.belongs(lowest, highest)


def library_message() -> Any:
    """The library's message type, by Google's own protobuf."""
    file = descriptor_pb2.FileDescriptorProto(name="aggregated.proto", syntax="proto2")
    record = file.message_type.add(name="Record")
    for number, name, kind in ((1, "key", FIELD.TYPE_UINT64), (2, "place", FIELD.TYPE_UINT64)):
        record.field.add(name=name, number=number, type=kind, label=FIELD.LABEL_OPTIONAL)
    record.field.add(name="data", number=3, type=FIELD.TYPE_BYTES, label=FIELD.LABEL_OPTIONAL)
    tag = file.message_type.add(name="Tag")
    for number, name in ((1, "key"), (2, "value")):
        tag.field.add(name=name, number=number, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    record.field.add(name="tags", number=4, type=FIELD.TYPE_MESSAGE, type_name=".Tag", label=FIELD.LABEL_REPEATED)
    whole = file.message_type.add(name="Whole")
    for number, name in ((1, "keys"), (2, "places")):
        whole.field.add(name=name, number=number, type=FIELD.TYPE_STRING, label=FIELD.LABEL_REPEATED)
    whole.field.add(name="records", number=3, type=FIELD.TYPE_MESSAGE, type_name=".Record", label=FIELD.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Whole"))


Whole = library_message()


def test_what_protobuf_wrote_is_taken_apart_in_order() -> None:
    message = Whole(keys=["a", "ß"], places=[str(HIGHEST)])
    message.records.add(key=1, data=b"first")
    message.records.add(key=0, place=0, data=b"x" * 300, tags=[{"key": "k", "value": "v"}])
    message.records.add(key=1, data=b"")

    assert parts(sealed(message.SerializeToString())) == [
        UserRecord("ß", None, b"first"),
        UserRecord("a", HIGHEST, b"x" * 300),
        UserRecord("ß", None, b""),
    ]


@given(st.lists(user_records, min_size=1, max_size=200))
def test_what_was_aggregated_comes_back_and_protobuf_reads_the_same(records: list[UserRecord]) -> None:
    data = aggregate(records)
    message = Whole.FromString(data[4:-16])

    assert parts(data) == records
    assert [
        UserRecord(
            message.keys[each.key], int(message.places[each.place]) if each.HasField("place") else None, each.data
        )
        for each in message.records
    ] == records


@pytest.mark.parametrize("at", [0, 3, 4, 10, -16, -1])
def test_a_changed_byte_makes_it_a_plain_record(at: int) -> None:
    data = bytearray(aggregate([UserRecord("key", None, b"value")]))
    data[at] ^= 1

    assert split(bytes(data)) is None


@pytest.mark.parametrize(
    "message",
    {
        "nothing": b"",
        "no records": b"\x0a\x01k",
        "a varint without its end": b"\x0a\x01k\x1a\x03\x08\x00\x80",
        "a varint that never ends": b"\x0a\x01k\x1a\x20\x08" + b"\xff" * 31,
        "a key outside the table": b"\x0a\x01k\x1a\x04\x08\x01\x1a\x00",
        "a key beyond any table": b"\x0a\x01k\x1a\x0d\x08" + b"\xff" * 9 + b"\x01\x1a\x00",
        "a hash key outside the table": b"\x0a\x01k\x1a\x06\x08\x00\x10\x00\x1a\x00",
        "a length beyond the message": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fk",
        "a key beyond the message": b"\x0a\x01k\x1a\x04\x08\x00\x1a\x00\x0a\x05k",
        "a zero of eleven bytes": b"\x0a\x01k\x1a\x0e\x08" + b"\x80" * 10 + b"\x00\x1a\x00",
        "a number beyond its record": b"\x0a\x01k" * 10 + b"\x1a\x05\x08\x00\x1a\x00\x08" + b"\x0a\x01k",
        "data beyond its record": b"\x0a\x01k\x1a\x04\x08\x00\x1a\x05value",
        "a record without data": b"\x0a\x01k\x1a\x02\x08\x00",
        "a record without a key": b"\x0a\x01k\x1a\x02\x1a\x00",
        "a key that no stream takes": b"\x0a\x81\x02" + b"k" * 257 + b"\x1a\x04\x08\x00\x1a\x00",
        "a key that is not UTF-8": b"\x0a\x01\xff\x1a\x04\x08\x00\x1a\x00",
        "a hash key that is no number": b"\x0a\x01k\x12\x01x\x1a\x06\x08\x00\x10\x00\x1a\x00",
        "a hash key of 129 bits": b"\x0a\x01k\x12\x27%d\x1a\x06\x08\x00\x10\x00\x1a\x00" % 2**128,
    }.items(),
    ids=lambda case: case[0],
)
def test_an_unfit_message_with_the_right_digest_is_a_plain_record(message: tuple[str, bytes]) -> None:
    assert split(sealed(message[1])) is None


@given(st.binary(max_size=400))
@example(MAGIC)
@example(MAGIC + bytes(16))
def test_bytes_of_any_kind_are_taken(data: bytes) -> None:
    for given_data in (data, MAGIC + data, sealed(data)):
        found = split(given_data)
        assert found is None or all(isinstance(each, UserRecord) for each in found)


@given(st.lists(user_records, min_size=1, max_size=5), st.data())
def test_an_aggregate_with_broken_bytes_and_the_right_digest_is_taken(records: list[UserRecord], draw: Any) -> None:
    message = bytearray(aggregate(records)[4:-16])
    for _ in range(draw.draw(st.integers(1, 4))):
        message[draw.draw(st.integers(0, len(message) - 1))] = draw.draw(st.integers(0, 255))

    found = split(sealed(bytes(message)))

    assert found is None or sum(len(each.data) for each in found) <= len(message)


def test_a_length_of_many_gigabytes_costs_no_memory() -> None:
    data = sealed(b"\x0a\x01k\x1a\xff\xff\xff\xff\xff\x0f")
    tracemalloc.start()
    try:
        assert split(data) is None
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_records_belong_to_a_shard_with_both_ends_of_its_range() -> None:
    records = [UserRecord("key", 10, b""), UserRecord("key", 20, b"")]

    assert belongs(records, 10, 20)
    assert not belongs(records, 11, 20)
    assert not belongs(records, 10, 19)


def test_one_record_elsewhere_makes_the_whole_aggregate_not_the_shards() -> None:
    place = int.from_bytes(hashlib.md5(b"key", usedforsecurity=False).digest(), "big")
    records = [UserRecord("key", None, b""), UserRecord("key", place + 1, b"")]

    assert hash_key_of("key") == place
    assert belongs(records[:1], place, place)
    assert not belongs(records, place, place)


def test_an_explicit_hash_key_counts_in_the_place_of_the_partition_keys() -> None:
    assert belongs([UserRecord("key", 0, b"")], 0, 0)
    assert not belongs([UserRecord("key", None, b"")], 0, 0)
