"""Streams: made, described, listed, deleted."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import in_use, validation
from frazil.dev.kinesis.model import Shard, Stream
from frazil.dev.kinesis.operations.naming import name_in, next_token, stream_of

ON_DEMAND_SHARDS: Final = 4
"""How many shards an on-demand stream begins with."""

_DESCRIBED: Final = 100
_LISTED: Final = 100
"""How many shards and streams an answer has at most, whatever was asked for."""


def create_stream(engine: Engine, given: dict[str, Any]) -> None:
    """Begin a stream."""
    mode = given.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED")
    distribution = given.get("RecordDistributionStrategy", "USER_PARTITION_KEY")
    shards = given.get("ShardCount")
    if mode == "PROVISIONED" and shards is None:
        raise validation("ShardCount must be given for a provisioned stream")
    if mode == "ON_DEMAND" and shards is not None:
        raise validation("ShardCount must not be given for an on-demand stream")
    if mode == "PROVISIONED" and distribution == "AUTO":
        raise validation("RecordDistributionStrategy AUTO is for on-demand streams")
    stream = engine.create(given["StreamName"], shards or ON_DEMAND_SHARDS)
    stream.mode, stream.distribution = mode, distribution
    stream.tags = given.get("Tags", {})
    stream.max_record_kib = given.get("MaxRecordSizeInKiB", stream.max_record_kib)
    stream.warm_mib = given.get("WarmThroughputMiBps")
    engine.save(stream)


def delete_stream(engine: Engine, given: dict[str, Any]) -> None:
    """End a stream."""
    stream = stream_of(engine, given)
    if engine.status(stream) != "DELETING":
        engine.active(stream)
    if stream.consumers and not given.get("EnforceConsumerDeletion"):
        raise in_use(f"Stream {stream.name} has consumers; EnforceConsumerDeletion deletes them with it.")
    engine.delete(stream)


def describe_stream(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """All about a stream, its shards by the page."""
    stream = stream_of(engine, given)
    after, limit = given.get("ExclusiveStartShardId", ""), min(given.get("Limit", _DESCRIBED), _DESCRIBED)
    shards = [shard for shard in engine.shards(stream) if shard.id > after]
    if engine.status(stream) == "CREATING":
        shards = []
    described = {
        **description(engine, stream),
        "Shards": [describe_shard(shard) for shard in shards[:limit]],
        "HasMoreShards": len(shards) > limit,
    }
    return {"StreamDescription": described}


def describe_stream_summary(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """All about a stream but its shards."""
    stream = stream_of(engine, given)
    summary = {
        **description(engine, stream),
        "OpenShardCount": len(stream.open_shards),
        "ConsumerCount": len(stream.consumers),
        "MaxRecordSizeInKiB": stream.max_record_kib,
        "RecordDistributionStrategy": stream.distribution,
    }
    if stream.warm_mib is not None:
        summary["WarmThroughput"] = {"TargetMiBps": stream.warm_mib, "CurrentMiBps": stream.warm_mib}
    return {"StreamDescriptionSummary": summary}


def list_streams(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """The names of streams, by the page."""
    after, limit = given.get("ExclusiveStartStreamName", ""), min(given.get("Limit", _LISTED), _LISTED)
    if "NextToken" in given:
        after = name_in(given["NextToken"])
    found = [stream for stream in engine.streams() if stream.name > after]
    shown = found[:limit]
    listed: dict[str, Any] = {
        "StreamNames": [stream.name for stream in shown],
        "HasMoreStreams": len(found) > limit,
        "StreamSummaries": [
            {
                "StreamName": stream.name,
                "StreamARN": stream.arn,
                "StreamStatus": engine.status(stream),
                "StreamModeDetails": {"StreamMode": stream.mode},
                "StreamCreationTimestamp": stream.created / 1000,
            }
            for stream in shown
        ],
    }
    if len(found) > limit:
        listed["NextToken"] = next_token(shown[-1].name)
    return listed


def description(engine: Engine, stream: Stream) -> dict[str, Any]:
    """What both descriptions of a stream have."""
    described: dict[str, Any] = {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": engine.status(stream),
        "StreamModeDetails": {"StreamMode": stream.mode},
        "RetentionPeriodHours": stream.retention_hours,
        "StreamCreationTimestamp": stream.created / 1000,
        "EnhancedMonitoring": [{"ShardLevelMetrics": stream.metrics} if stream.metrics else {}],
        "EncryptionType": "NONE" if stream.key_id is None else "KMS",
    }
    return described if stream.key_id is None else {**described, "KeyId": stream.key_id}


def describe_shard(shard: Shard) -> dict[str, Any]:
    """A shard as answers have it."""
    numbers = {"StartingSequenceNumber": shard.starting}
    if shard.ending is not None:
        numbers["EndingSequenceNumber"] = shard.ending
    return {
        "ShardId": shard.id,
        **dict(zip(("ParentShardId", "AdjacentParentShardId"), shard.parents, strict=False)),
        "HashKeyRange": hash_key_range(shard),
        "SequenceNumberRange": numbers,
    }


def describe_child(shard: Shard) -> dict[str, Any]:
    """A shard as answers at the end of its parents have it."""
    return {"ShardId": shard.id, "ParentShards": shard.parents, "HashKeyRange": hash_key_range(shard)}


def hash_key_range(shard: Shard) -> dict[str, str]:
    """The hash keys a shard has."""
    return {"StartingHashKey": str(shard.first_hash), "EndingHashKey": str(shard.last_hash)}


OPERATIONS: Final = {
    "CreateStream": create_stream,
    "DeleteStream": delete_stream,
    "DescribeStream": describe_stream,
    "DescribeStreamSummary": describe_stream_summary,
    "ListStreams": list_streams,
}
