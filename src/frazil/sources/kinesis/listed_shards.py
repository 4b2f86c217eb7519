"""What ListShards says of the shards of one stream, for a reader of some of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import SourcePartition, StageFailure
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.answers import UnreadableAnswer
from frazil.sources.kinesis.streams import is_closed, listed, range_of


class ListedShards:
    """Lists the shards of one stream, and only if it is asked."""

    def __init__(self, client: Any, stream: str, arn: str | None) -> None:
        """List with a client of botocore's; `arn` where the stream is not known by its name."""
        self._client = client
        self._stream = stream
        self._named = {"StreamName": stream} if arn is None else {"StreamARN": arn}
        self._hash_keys: Mapping[str, tuple[int, int]] | None = None

    def hash_keys(self, shard: str) -> tuple[int, int]:
        """The lowest and the highest hash key of a shard.

        Raises:
            ReadFailed: the service does not say.
        """
        if self._hash_keys is None:
            try:
                self._hash_keys = {each["ShardId"]: range_of(each) for each in self._listed()}
            except (ClientError, BotoCoreError) as error:
                raise self._failed(error, shard) from error
        if shard not in self._hash_keys:
            raise ReadFailed(StageFailure("stream_unavailable", f"{shard} is not listed", self._at(shard)))
        return self._hash_keys[shard]

    def require_end(self, operation: str, shard: str, children: Collection[str]) -> None:
        """Return only if a shard has ended, after an answer that leads no further.

        One answer may lack its end by mistake. Who took it at its word would never read the shard again.

        Args:
            operation: what was answered.
            shard: the shard's id.
            children: the shards that go on, as that answer names them.

        Raises:
            UnreadableAnswer: the shard is open.
            ClientError, HTTPClientError: the shards cannot be listed.
        """
        if not children and not any(each["ShardId"] == shard and is_closed(each) for each in self._listed()):
            problem = f"it leads no further, names no children, and {shard} is open"
            raise UnreadableAnswer(operation=operation, problem=problem)

    def _listed(self) -> list[dict[str, Any]]:
        return listed(self._client, self._named)

    def _failed(self, error: Exception, shard: str) -> ReadFailed:
        kind = "stream_unavailable" if faults.passes(error) else "stream_refused"
        return ReadFailed(StageFailure(kind, faults.cause(error), self._at(shard)))

    def _at(self, shard: str) -> SourcePartition:
        return SourcePartition(self._stream, shard)
