"""Records go to the shard of their hash key, in order, or are refused one by one."""

from __future__ import annotations

import hashlib

import pytest
from tests.dev.kinesis.support import client, data, make, put, records, refuses, settled, shard_id

from frazil.dev.kinesis import LocalKinesis

MIB = 1 << 20


def test_the_md5_of_the_partition_key_decides_the_shard(local: LocalKinesis) -> None:
    kinesis = make(local, shards=4)

    for key in ("a", "ß", "order-17", "x" * 256):
        answered = kinesis.put_record(StreamName="orders", Data=b"", PartitionKey=key)

        hashed = int.from_bytes(hashlib.md5(key.encode()).digest(), "big")
        assert answered["ShardId"] == shard_id(hashed * 4 >> 128)


def test_an_explicit_hash_key_wins_over_the_partition_key(local: LocalKinesis) -> None:
    kinesis = make(local, shards=2)

    ends = {
        kinesis.put_record(StreamName="orders", Data=b"", PartitionKey="k", ExplicitHashKey=str(each))["ShardId"]
        for each in (2**127, 2**128 - 1)
    }

    assert ends == {shard_id(1)}
    with refuses("InvalidArgumentException"):
        kinesis.put_record(StreamName="orders", Data=b"", PartitionKey="k", ExplicitHashKey=str(2**128))


def test_sequence_numbers_have_56_digits_and_grow_while_the_clock_stands_still(local: LocalKinesis) -> None:
    kinesis = make(local)

    numbers = put(kinesis, *[b"x"] * 20)

    assert {len(number) for number in numbers} == {56}
    assert sorted({int(number) for number in numbers}) == [int(number) for number in numbers]


def test_what_is_put_is_read_as_it_was(local: LocalKinesis) -> None:
    kinesis = make(local)
    values = [b"", b"\x00\xff", "ß".encode(), bytes(range(256))]

    put(kinesis, *values)

    assert data(records(kinesis)) == values
    assert {record["PartitionKey"] for record in records(kinesis)} == {"key"}


def test_a_record_of_a_mebibyte_is_taken_and_a_byte_more_is_refused(local: LocalKinesis) -> None:
    kinesis = make(local)

    put(kinesis, b"x" * (MIB - 1), key="k")

    with refuses("InvalidArgumentException"):
        put(kinesis, b"x" * MIB, key="k")
    assert [len(each) for each in data(records(kinesis))] == [MIB - 1]


def test_a_record_of_ten_mebibytes_is_taken_where_the_stream_says_so(local: LocalKinesis) -> None:
    kinesis = make(local, MaxRecordSizeInKiB=10240)

    put(kinesis, b"x" * (10 * MIB - 1), key="k")

    assert [len(each) for each in data(records(kinesis))] == [10 * MIB - 1]


def test_a_partition_key_has_256_characters_at_most(local: LocalKinesis) -> None:
    kinesis = make(local)

    put(kinesis, b"", key="ß" * 256)

    with refuses("ValidationException"):
        put(kinesis, b"", key="ß" * 257)


def test_a_request_has_500_records_and_10_mebibytes_at_most(local: LocalKinesis) -> None:
    kinesis = make(local)

    def put_many(count: int, size: int) -> int:
        many = [{"Data": b"x" * size, "PartitionKey": "k"}] * count
        return len(kinesis.put_records(StreamName="orders", Records=many)["Records"])

    assert put_many(500, 1) == 500
    assert put_many(10, MIB - 1) == 10
    with refuses("ValidationException"):
        put_many(501, 1)
    with refuses("InvalidArgumentException"):
        put_many(11, MIB - 1)
    assert len(records(kinesis)) == 510


def test_a_record_without_a_key_is_taken_only_where_the_service_distributes(local: LocalKinesis) -> None:
    kinesis = make(local)
    kinesis.create_stream(
        StreamName="any", StreamModeDetails={"StreamMode": "ON_DEMAND"}, RecordDistributionStrategy="AUTO"
    )
    settled(kinesis, "any")

    with refuses("InvalidArgumentException"):
        kinesis.put_records(StreamName="orders", Records=[{"Data": b"x"}])
    shard = kinesis.put_records(StreamName="any", Records=[{"Data": b"x"}])["Records"][0]["ShardId"]

    (found,) = records(kinesis, int(shard[-12:]), name="any")
    assert "PartitionKey" not in found


def test_a_shard_takes_a_mebibyte_a_second_with_the_keys(limited: LocalKinesis, clock) -> None:
    kinesis = make(limited)
    half = b"x" * (MIB // 2 - 1)

    put(kinesis, half, half, key="k")

    with refuses("ProvisionedThroughputExceededException"):
        put(kinesis, b"x", key="k")
    clock.forward(0.5)
    put(kinesis, half, key="k")
    with refuses("ProvisionedThroughputExceededException"):
        put(kinesis, b"x", key="k")


def test_a_shard_takes_a_thousand_records_a_second_and_the_answer_says_which_failed(limited: LocalKinesis) -> None:
    kinesis = make(limited, shards=2)
    first = [{"Data": b"x", "PartitionKey": "k", "ExplicitHashKey": "0"}] * 499
    second = [{"Data": b"x", "PartitionKey": "k", "ExplicitHashKey": str(2**127)}]

    answered = [kinesis.put_records(StreamName="orders", Records=first + second) for _ in range(3)]

    assert [answer["FailedRecordCount"] for answer in answered] == [0, 0, 497]
    failed = [each for each in answered[2]["Records"] if "ErrorCode" in each]
    assert {each["ErrorCode"] for each in failed} == {"ProvisionedThroughputExceededException"}
    assert "SequenceNumber" in answered[2]["Records"][-1]
    local_records = client(limited)
    assert len(records(local_records, 0)) == 1000
    assert len(records(local_records, 1)) == 3


@pytest.mark.parametrize("name", ["nobody", "arn"])
def test_a_stream_that_is_not_there_is_not_found(local: LocalKinesis, name: str) -> None:
    with refuses("ResourceNotFoundException"):
        put(client(local), b"x", name=name)
