"""Records: put, and read."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Any, Final

from frazil.dev.kinesis import iterators, numbers, reading, writing
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused, invalid
from frazil.dev.kinesis.iterators import Iterator, Start
from frazil.dev.kinesis.model import HASH_KEYS, Record, Shard
from frazil.dev.kinesis.operations.naming import rehearsed, stream_of
from frazil.dev.kinesis.operations.streams import describe_child


def put_record(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Put one record."""
    stream = stream_of(engine, given)
    ordering = given.get("SequenceNumberForOrdering")
    if ordering is not None:
        _check_ordering(engine, ordering)
    rehearsed(given)
    (outcome,) = writing.write(engine, stream, [_put(given)])
    if isinstance(outcome, Refused):
        raise outcome
    encryption = _encryption(stream.key_id is not None)
    return {"ShardId": outcome.shard.id, "SequenceNumber": outcome.number, **encryption}


def put_records(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Put records, each for itself."""
    stream = stream_of(engine, given)
    rehearsed(given)
    puts = [_put(record) for record in given["Records"]]
    outcomes = writing.write(engine, stream, puts, lambda shard: engine.faults.of_record(stream.name, shard.id))
    return {
        "FailedRecordCount": sum(isinstance(outcome, Refused) for outcome in outcomes),
        "Records": [
            {"ErrorCode": outcome.code, "ErrorMessage": outcome.message}
            if isinstance(outcome, Refused)
            else {"SequenceNumber": outcome.number, "ShardId": outcome.shard.id}
            for outcome in outcomes
        ],
        **_encryption(stream.key_id is not None),
    }


def get_shard_iterator(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Where reading begins."""
    stream = stream_of(engine, given)
    shard = engine.shard(stream, given["ShardId"])
    start = Start(given["ShardIteratorType"], given.get("StartingSequenceNumber"), given.get("Timestamp"))
    ordinal = iterators.place(engine, stream, shard, start)
    rehearsed(given)
    engine.quotas.iterator(stream, shard, engine.clock())
    return {"ShardIterator": str(Iterator(stream.row, shard.id, ordinal, engine.now()))}


def get_records(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Records from an iterator on, and the iterator to go on with."""
    iterator = iterators.parse(given["ShardIterator"])
    stream, shard = iterators.usable(engine, iterator)
    if given.get("StreamARN", stream.arn) != stream.arn:
        raise invalid(f"StreamARN {given['StreamARN']} is not of the stream the iterator is for.")
    rehearsed(given)
    engine.quotas.read(stream, shard, engine.clock())
    portion = reading.read(engine, stream, shard, iterator.ordinal, given.get("Limit", reading.MOST_RECORDS))
    engine.quotas.was_read(shard, portion.size)
    found = {"Records": describe_records(shard, portion.records), "MillisBehindLatest": portion.behind}
    if portion.next is None:
        return {**found, "ChildShards": [describe_child(child) for child in reading.children(engine, stream, shard)]}
    return {**found, "NextShardIterator": str(Iterator(stream.row, shard.id, portion.next, engine.now()))}


def describe_records(shard: Shard, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as answers have them."""
    return [_described(shard, record) for record in records]


def _described(shard: Shard, record: Record) -> dict[str, Any]:
    return {
        "SequenceNumber": shard.number_of(record),
        "ApproximateArrivalTimestamp": record.arrival / 1000,
        "Data": binascii.b2a_base64(record.data, newline=False).decode("ascii"),
        **({} if record.key is None else {"PartitionKey": record.key}),
        **_encryption(record.encrypted),
    }


def _put(given: dict[str, Any]) -> writing.Put:
    hash_key = given.get("ExplicitHashKey")
    if hash_key is None:
        return writing.Put(given["Data"], given.get("PartitionKey"), None)
    if int(hash_key) >= HASH_KEYS:
        raise invalid(
            "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "
            f"Specified value was {hash_key}"
        )
    return writing.Put(given["Data"], given.get("PartitionKey"), int(hash_key))


def _encryption(encrypted: bool) -> dict[str, str]:
    return {"EncryptionType": "KMS"} if encrypted else {}


def _check_ordering(engine: Engine, text: str) -> None:
    number = numbers.parse(text)
    # Numbers only grow, so one that was given before is less than what the record will get.
    if number is None or number.arrival > engine.now():
        raise invalid(f"ExclusiveMinimumSequenceNumber {text} used in PutRecord is invalid: no record has it yet.")


OPERATIONS: Final = {
    "PutRecord": put_record,
    "PutRecords": put_records,
    "GetShardIterator": get_shard_iterator,
    "GetRecords": get_records,
}
