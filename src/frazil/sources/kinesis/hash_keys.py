"""The hash keys of shards, for a task that has to know which records are a shard's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import SourcePartition, StageFailure
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.streams import listed, range_of


class HashKeys:
    """Looks at the shards of one stream, once and only if it is asked."""

    def __init__(self, client: Any, stream: str, arn: str | None) -> None:
        """Look with a client of botocore's; `arn` where the stream is not known by its name."""
        self._client = client
        self._stream = stream
        self._named = {"StreamName": stream} if arn is None else {"StreamARN": arn}
        self._known: Mapping[str, tuple[int, int]] | None = None

    def of(self, shard: str) -> tuple[int, int]:
        """The lowest and the highest hash key of a shard.

        Raises:
            ReadFailed: the service does not say.
        """
        if self._known is None:
            try:
                self._known = {each["ShardId"]: range_of(each) for each in listed(self._client, self._named)}
            except (ClientError, BotoCoreError) as error:
                raise self._failed(error, shard) from error
        if shard not in self._known:
            raise ReadFailed(StageFailure("stream_unavailable", f"{shard} is not listed", self._at(shard)))
        return self._known[shard]

    def _failed(self, error: Exception, shard: str) -> ReadFailed:
        kind = "stream_unavailable" if faults.passes(error) else "stream_refused"
        return ReadFailed(StageFailure(kind, faults.cause(error), self._at(shard)))

    def _at(self, shard: str) -> SourcePartition:
        return SourcePartition(self._stream, shard)
