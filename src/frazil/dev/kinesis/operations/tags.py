"""Tags and policies of streams and consumers: kept, and without effect."""

from __future__ import annotations

from typing import Any, Final

from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import invalid, not_found
from frazil.dev.kinesis.model import Stream
from frazil.dev.kinesis.operations.naming import consumer_of_arn, stream_of

MOST_TAGS: Final = 50
"""How many tags a stream or consumer may have."""


def add_tags_to_stream(engine: Engine, given: dict[str, Any]) -> None:
    """Tag a stream."""
    stream = stream_of(engine, given)
    stream.tags = _with(stream.tags, given["Tags"])
    engine.save(stream)


def remove_tags_from_stream(engine: Engine, given: dict[str, Any]) -> None:
    """Take tags from a stream."""
    stream = stream_of(engine, given)
    stream.tags = _without(stream.tags, given["TagKeys"])
    engine.save(stream)


def list_tags_for_stream(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """A stream's tags, by the page."""
    after, limit = given.get("ExclusiveStartTagKey", ""), given.get("Limit", MOST_TAGS)
    tags = {key: value for key, value in stream_of(engine, given).tags.items() if key > after}
    shown = dict(sorted(tags.items())[:limit])
    return {"Tags": _described(shown), "HasMoreTags": len(tags) > limit}


def tag_resource(engine: Engine, given: dict[str, Any]) -> None:
    """Tag a stream or a consumer."""
    stream, tagged = _resource(engine, given)
    tagged.tags = _with(tagged.tags, given["Tags"])
    engine.save(stream)


def untag_resource(engine: Engine, given: dict[str, Any]) -> None:
    """Take tags from a stream or a consumer."""
    stream, tagged = _resource(engine, given)
    tagged.tags = _without(tagged.tags, given["TagKeys"])
    engine.save(stream)


def list_tags_for_resource(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """The tags of a stream or a consumer."""
    _, tagged = _resource(engine, given)
    return {"Tags": _described(dict(sorted(tagged.tags.items())))}


def put_resource_policy(engine: Engine, given: dict[str, Any]) -> None:
    """Keep a policy; nobody is asked for what it allows."""
    stream, resource = _resource(engine, given)
    resource.policy = given["Policy"]
    engine.save(stream)


def get_resource_policy(engine: Engine, given: dict[str, Any]) -> dict[str, Any]:
    """The policy that was put last."""
    _, resource = _resource(engine, given)
    if resource.policy is None:
        raise not_found(f"{given['ResourceARN']} has no policy.")
    return {"Policy": resource.policy}


def delete_resource_policy(engine: Engine, given: dict[str, Any]) -> None:
    """Forget the policy."""
    get_resource_policy(engine, given)
    stream, resource = _resource(engine, given)
    resource.policy = None
    engine.save(stream)


def _resource(engine: Engine, given: dict[str, Any]) -> tuple[Stream, Any]:
    arn = given["ResourceARN"]
    if "/consumer/" in arn:
        return consumer_of_arn(engine, arn)
    stream = engine.stream_of_arn(arn)
    return stream, stream


def _with(tags: dict[str, str], added: dict[str, str]) -> dict[str, str]:
    tags = {**tags, **added}
    if len(tags) > MOST_TAGS:
        raise invalid(f"There may be {MOST_TAGS} tags at most, not {len(tags)}.")
    return tags


def _without(tags: dict[str, str], removed: list[str]) -> dict[str, str]:
    return {key: value for key, value in tags.items() if key not in removed}


def _described(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


OPERATIONS: Final = {
    "AddTagsToStream": add_tags_to_stream,
    "RemoveTagsFromStream": remove_tags_from_stream,
    "ListTagsForStream": list_tags_for_stream,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsForResource": list_tags_for_resource,
    "PutResourcePolicy": put_resource_policy,
    "GetResourcePolicy": get_resource_policy,
    "DeleteResourcePolicy": delete_resource_policy,
}
