"""Which stream or consumer a request means: a stream by its name, its ARN, or both."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from frazil.dev.kinesis import iterators
from frazil.dev.kinesis.engine import Engine
from frazil.dev.kinesis.failures import Refused, invalid, not_found
from frazil.dev.kinesis.model import Consumer, Stream


def stream_of(engine: Engine, given: dict[str, Any]) -> Stream:
    """The stream that a request names.

    Raises:
        Refused: it names none, two, or one that is not there.
    """
    name, arn = given.get("StreamName"), given.get("StreamARN")
    if arn is None:
        if name is None:
            raise invalid("Either StreamName or StreamARN must be given.")
        return engine.stream(name)
    stream = engine.stream_of_arn(arn)
    if name not in (None, stream.name):
        raise invalid(f"StreamName {name} and StreamARN {arn} are not of one stream.")
    return stream


def consumer_of_arn(engine: Engine, arn: str) -> tuple[Stream, Consumer]:
    """The consumer that an ARN names, and its stream.

    Raises:
        Refused: there is none.
    """
    stream = engine.stream_of_arn(arn)
    found = next((consumer for consumer in stream.consumers.values() if consumer.arn == arn), None)
    if found is None:
        raise not_found(f"Consumer {arn} not found.")
    return stream, found


def aimed_at(engine: Engine, given: dict[str, Any]) -> tuple[str | None, str | None]:
    """The stream's name and the shard's id that a request is for, as far as it says; faults go by them."""
    try:
        if "ShardIterator" in given:
            iterator = iterators.parse(given["ShardIterator"])
            return engine.incarnation(iterator.stream).name, iterator.shard
        arn = given.get("StreamARN") or given.get("ConsumerARN") or given.get("ResourceARN")
        name = given.get("StreamName") or (arn and engine.stream_of_arn(arn).name)
    except Refused:
        return None, None
    return name, given.get("ShardId")


def rehearsed(given: dict[str, Any]) -> None:
    """End here if the client only wants to know whether the request could be carried out.

    Raises:
        Refused: it does.
    """
    if given.get("DryRun"):
        raise Refused("DryRunOperationException", "The request would have succeeded.")


def next_token(name: str) -> str:
    """What a list goes on with behind the stream or consumer of that name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def name_in(token: str) -> str:
    """The name behind which a list goes on.

    Raises:
        Refused: the token is none of `next_token`.
    """
    try:
        return base64.urlsafe_b64decode(token).decode()
    except (binascii.Error, ValueError):
        raise invalid("Invalid NextToken.") from None
