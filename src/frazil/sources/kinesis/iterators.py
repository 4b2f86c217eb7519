"""Where GetRecords and subscriptions begin for a position."""

from __future__ import annotations

import datetime as dt
from typing import Any

from frazil.model import SourcePartition
from frazil.sources.kinesis.positions import KinesisPosition, Mark


def iterator_at(client: Any, partition: SourcePartition, arn: str | None, position: KinesisPosition) -> str:
    """A new iterator of a shard, at a position; it is good for five minutes.

    Records before a position within a record come again: whoever reads leaves them out.

    Raises:
        ClientError, HTTPClientError: as botocore says.
    """
    stream = {"StreamName": partition.topic} if arn is None else {"StreamARN": arn}
    asked = client.get_shard_iterator(ShardId=str(partition.partition), **stream, **_place(position))
    return str(asked["ShardIterator"])


def starting_position(position: KinesisPosition) -> dict[str, Any]:
    """The same place for a subscription to a shard, as its JSON has it."""
    place = _place(position)
    found = {"Type": place["ShardIteratorType"]}
    if sequence := place.get("StartingSequenceNumber"):
        found["SequenceNumber"] = sequence
    if moment := place.get("Timestamp"):
        found["Timestamp"] = moment.timestamp()
    return found


def _place(position: KinesisPosition) -> dict[str, Any]:
    match position.mark:
        case Mark.TRIM_HORIZON:
            return {"ShardIteratorType": "TRIM_HORIZON"}
        case Mark.AT_TIMESTAMP:
            moment = dt.datetime.fromtimestamp(position.value / 1000, dt.UTC)
            return {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": moment}
        case Mark.SEQUENCE:
            kind = "AT_SEQUENCE_NUMBER" if position.is_within_a_record else "AFTER_SEQUENCE_NUMBER"
            return {"ShardIteratorType": kind, "StartingSequenceNumber": str(position.value)}
        case _:
            raise ValueError(f"nothing can be read at {position.last}")
