"""Shards: listed, split, merged, scaled."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis import listing, resharding
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import in_use, invalid, not_found
from frazil.dev.kinesis.operations.naming import stream_of
from frazil.dev.kinesis.operations.streams import describe_shard


def list_shards(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """The shards that are not expired, filtered, by the page."""
    most = given.get("MaxResults", listing.MOST_SHARDS)
    after: str | None
    if "NextToken" in given:
        # The token has all of this, and may be of another stream.
        if {"StreamName", "StreamCreationTimestamp", "ExclusiveStartShardId"} & given.keys():
            raise invalid("NextToken and StreamName cannot be provided together.")
        token = listing.parse(engine, given["NextToken"])
        stream, after = engine.incarnation(token.stream), token.after
        wanted = listing.ShardFilter(token.kind, token.shard, token.timestamp)
    else:
        stream, after = stream_of(engine, given), given.get("ExclusiveStartShardId")
        filtered = given.get("ShardFilter", {"Type": "FROM_TRIM_HORIZON"})
        wanted = listing.ShardFilter(filtered["Type"], filtered.get("ShardId"), filtered.get("Timestamp"))
        created = given.get("StreamCreationTimestamp")
        # Clients often have the whole seconds of it only.
        if created is not None and int(created) != stream.created // 1000:
            raise not_found(f"Stream {stream.name} was not created at {created}.")
    if engine.status(stream) == "CREATING":
        raise in_use(f"Stream {stream.name} is CREATING.")
    engine.quotas.listing(stream, engine.clock())
    shards, following = listing.page(engine, stream, wanted, after, most)
    listed: dict[str, Any] = {"Shards": [describe_shard(shard) for shard in shards]}
    if following is not None:
        listed["NextToken"] = str(following)
    return listed


def split_shard(engine: Engine, given: dict[str, Any]) -> None:
    """Make two shards of one."""
    resharding.split(engine, stream_of(engine, given), given["ShardToSplit"], int(given["NewStartingHashKey"]))


def merge_shards(engine: Engine, given: dict[str, Any]) -> None:
    """Make one shard of two."""
    resharding.merge(engine, stream_of(engine, given), given["ShardToMerge"], given["AdjacentShardToMerge"])


def update_shard_count(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Make so many shards of those that are there."""
    stream, target = stream_of(engine, given), given["TargetShardCount"]
    current = resharding.scale(engine, stream, target)
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "CurrentShardCount": current,
        "TargetShardCount": target,
    }


OPERATIONS: Final = {
    "ListShards": list_shards,
    "SplitShard": split_shard,
    "MergeShards": merge_shards,
    "UpdateShardCount": update_shard_count,
}
