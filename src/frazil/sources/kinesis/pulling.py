"""Records as GetRecords gives them, read from the answer's JSON in one go.

botocore makes an object of each record three times slower than the whole answer takes to be read here.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from frazil.sources.kinesis.answers import date_of, reading
from frazil.sources.kinesis.shard_reading import RawRecord

_OPERATION: Final = "GetRecords"
_KEY: Final = "frazil"
"""Where the answer is that was read here, among what botocore gives."""

_ERROR: Final = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of GetRecords."""

    records: Sequence[RawRecord]
    size: int
    """Bytes of data and partition keys."""

    iterator: str | None
    """The next shard iterator; None at the end of the shard, if the service has not left it out by mistake."""

    behind: int
    """How far the answer is from the newest record of the shard, in ms."""

    date: int
    """When the service gave it, in ms since the epoch; of whole seconds, never later."""

    children: Sequence[str] = ()
    """At the end of the shard, those that go on, where the service names them."""


class Puller:
    """Asks for records; several threads may at once."""

    def __init__(self, client: Any, limit: int) -> None:
        """Ask with a client of botocore's, for `limit` records at most."""
        self._client = client
        self._limit = limit
        # The same function under the same id: the client may be shared, and have it already.
        client.meta.events.register("before-parse.kinesis.GetRecords", _read, unique_id="frazil-get-records")

    def pull(self, iterator: str, arn: str | None) -> Answer:
        """The records at a shard iterator.

        Raises:
            ClientError, HTTPClientError: as botocore says.
            UnreadableAnswer: the answer is not one of the service, or lacks something.
        """
        named = {} if arn is None else {"StreamARN": arn}
        answer = self._client.get_records(ShardIterator=iterator, Limit=self._limit, **named)
        with reading(_OPERATION):
            document = answer[_KEY]
            found = [record_of(each) for each in document["Records"]]
            return Answer(
                found,
                sum(len(each.data) + len(each.key or "") for each in found),
                document.get("NextShardIterator"),
                int(document["MillisBehindLatest"]),
                date_of(answer["ResponseMetadata"]["HTTPHeaders"], _OPERATION),
                children_of(document),
            )


def _read(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Read an answer in botocore's place, and leave it an empty one."""
    if response_dict["status_code"] < _ERROR:
        with reading(_OPERATION):
            customized_response_dict[_KEY] = orjson.loads(response_dict["body"])
        response_dict["body"] = b"{}"


def record_of(document: Mapping[str, Any]) -> RawRecord:
    """A record as the JSON of answers and events has it."""
    return RawRecord(
        document["SequenceNumber"],
        round(document["ApproximateArrivalTimestamp"] * 1000),
        a2b_base64(document["Data"], strict_mode=True),
        document.get("PartitionKey"),
    )


def children_of(document: Mapping[str, Any]) -> list[str]:
    """The shards that go on, as the JSON of answers and events has them; none before the end of a shard."""
    return [str(each["ShardId"]) for each in document.get("ChildShards") or ()]
