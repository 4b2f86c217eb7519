"""Streams and their shards as the service lists them; looked at again after a while, and at once when one has ended."""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import structlog
from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import FrazilError, StreamUnavailable
from frazil.model import SourcePartition
from frazil.sources.base import Held, PartitionFacts, TopicFacts
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.answers import date_of
from frazil.sources.kinesis.clock import ServiceClock

_HOUR: Final = 3_600_000
_STALE: Final = 60.0
"""Seconds for which what is known may stand where the service does not answer."""

_PATIENCE: Final = 5.0
"""Seconds for which the service is asked for what is not known at all, where it is too busy."""

_GAP: Final = 0.1
"""Seconds between two such questions."""

_Answer = TypeVar("_Answer")

_log = structlog.get_logger(__name__)

_REFUSED: Final = 15.0
"""Seconds after which a stream that may not be looked at is looked at again, at least."""

_ALIVE: Final = ("ACTIVE", "UPDATING")
"""What streams are that can be read."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream, as it was when it was looked at."""

    facts: TopicFacts
    hash_keys: Mapping[SourcePartition, tuple[int, int]]
    """The lowest and the highest hash key of each shard."""

    looked_at: float
    """When that was, in seconds on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stream that is known cannot be described or listed."""

    error: FrazilError
    held: Held
    """Why, and whether that passes by itself; else the user has to grant the right again."""

    again: float
    """When it is tried again, in seconds on the monotonic clock."""


class Streams:
    """Looks at streams. Any thread may ask."""

    def __init__(
        self, client: Any, address: str, arns: Mapping[str, str], interval: float, clock: ServiceClock
    ) -> None:
        """Look with a client of botocore's.

        Args:
            client: the client.
            address: where the service is, for messages.
            arns: of streams that are not known by their names alone, by name.
            interval: seconds for which what is known of a stream stands.
            clock: hears the dates of answers.
        """
        self._client = client
        self._address = address
        self._arns = arns
        self._interval = interval
        self._clock = clock
        self._known: dict[str, Stream] = {}
        self._due: set[str] = set()
        """Streams that are to be looked at anew, whatever is known of them."""

        self._refusals: dict[str, Refusal] = {}
        self._names: list[str] = []
        self._names_since: float | None = None
        """When they were listed, in seconds on the monotonic clock."""

        self._names_told = 0.0
        """When the log said that they are old, likewise."""

    def arn(self, stream: str) -> str | None:
        """The ARN of a stream that is not known by its name alone."""
        return self._arns.get(stream)

    def arns(self) -> dict[str, str]:
        """The ARNs of the streams that were looked at, by name."""
        return {
            name: self._arns.get(name) or arn_of(known.facts.cluster, name) for name, known in [*self._known.items()]
        }

    def cluster(self) -> str:
        """Where the streams that were looked at are, as `TopicFacts.cluster` says; empty if none was."""
        return next((each.facts.cluster for each in self._known.values()), "")

    def names(self) -> list[str]:
        """The names of all streams that there are; an account may ask for them five times a second."""
        since = self._names_since
        age = math.inf if since is None else time.monotonic() - since
        if age >= self._interval:
            try:
                self._names = self._listed_names(is_patient=age >= _STALE)
            except (ClientError, BotoCoreError) as error:
                if since is None or not faults.passes(error):
                    raise faults.translate(error, self._address, "list streams") from error
                if age >= _STALE:
                    self._tell_that_names_are_old(faults.cause(error))
            else:
                self._names_since = self._names_told = time.monotonic()
        return self._names

    def _listed_names(self, *, is_patient: bool) -> list[str]:
        found: list[str] = []
        more: dict[str, str] = {}
        while True:
            page = _asked(partial(self._client.list_streams, **more), is_patient=is_patient)
            found += page["StreamNames"]
            if token := page.get("NextToken"):
                more = {"NextToken": token}
            elif page["HasMoreStreams"] and page["StreamNames"]:
                # Older versions of the service, and servers that stand in for it, give no tokens.
                more = {"ExclusiveStartStreamName": page["StreamNames"][-1]}
            else:
                return sorted(found)

    def _tell_that_names_are_old(self, cause: str) -> None:
        if time.monotonic() - self._names_told >= _STALE:
            self._names_told = time.monotonic()
            _log.warning("streams cannot be listed: those that are known go on, new ones are not found", cause=cause)

    def find(self, streams: Collection[str]) -> dict[str, Stream]:
        """Those of the streams that exist.

        Raises:
            StreamUnavailable: none of them has been described for a while.
        """
        kept = {name: self._unasked(name) for name in streams}
        looked = {name: stream or self._look(name) for name, stream in kept.items()}
        found = {name: stream for name, stream in looked.items() if stream is not None}
        failing = self.failing()
        if found and found.keys() <= failing.keys():
            # An outage. The cycles wait, so each of them asks again.
            first = next(iter(found))
            error = self._refusals[first].error
            for name in found:
                self._refusals[name] = replace(self._refusals[name], again=0.0)
            raise error
        return found

    def identities(self, streams: Collection[str]) -> dict[str, TopicFacts]:
        """The same as the service says at this moment, but for the shards of those that are known already."""
        found = {}
        for name in streams:
            known = self._known.get(name) or self._look(name)
            facts = None if known is None else self._identity(name, known)
            if facts is not None:
                found[name] = facts
        return found

    def failing(self) -> dict[str, float]:
        """Streams that give no answer about themselves for now, and how many seconds until they are asked again."""
        now = time.monotonic()
        return {name: max(0.0, each.again - now) for name, each in [*self._refusals.items()] if each.held.passes}

    def held(self) -> dict[SourcePartition, Held]:
        """The shards of streams that cannot be described or listed, and why."""
        return {
            shard: refusal.held
            for name, refusal in [*self._refusals.items()]
            if (known := self._known.get(name)) is not None
            for shard in known.hash_keys
        }

    def forget(self, stream: str) -> None:
        """Have a stream looked at anew when it is asked for."""
        self._due.add(stream)

    def _unasked(self, name: str) -> Stream | None:
        """What is known of a stream, if it is not to be looked at just now."""
        refusal = self._refusals.get(name)
        if refusal is not None and time.monotonic() < refusal.again:
            return self._known.get(name)
        return None if name in self._due else self._kept(name, self._interval)

    def _kept(self, name: str, seconds: float) -> Stream | None:
        known = self._known.get(name)
        return known if known is not None and time.monotonic() - known.looked_at < seconds else None

    def _look(self, name: str) -> Stream | None:
        try:
            # Of many streams at once, an account may ask too often. Of those that are known, that can wait.
            found = _asked(partial(self._found, name), is_patient=self._kept(name, _STALE) is None)
        except (ClientError, BotoCoreError) as error:
            translated = faults.translate(error, self._address, f"describe the stream {name}")
            known, passes = self._known.get(name), faults.passes(error)
            if known is None or not (passes or faults.code(error) in faults.HELD):
                raise translated from error
            if not passes or self._kept(name, _STALE) is None:
                self._refuse(name, translated, Held(faults.cause(error), passes))
            return known
        self._due.discard(name)
        if self._refusals.pop(name, None) is not None:
            _log.info("a stream may be looked at again", stream=name)
        if found is None:
            self._known.pop(name, None)
        else:
            self._known[name] = found
        return found

    def _refuse(self, name: str, error: FrazilError, held: Held) -> None:
        before = self._refusals.get(name)
        if before is None or before.held.passes != held.passes:
            told = (
                "a stream cannot be described: its shards wait until it can, and other streams go on"
                if held.passes
                else "a stream may not be described any more: its shards go on as they were, and it is tried again"
            )
            _log.error(told, stream=name, cause=held.reason)
        self._refusals[name] = Refusal(error, held, time.monotonic() + max(self._interval, _REFUSED))

    def _found(self, name: str) -> Stream | None:
        summary = self._described(name)
        if summary is None:
            return None
        shards = listed(self._client, self._named(name))
        partitions = [_partition(each) for each in shards]
        hash_keys = {SourcePartition(name, each["ShardId"]): range_of(each) for each in shards}
        return Stream(self._facts(name, summary, partitions), hash_keys, time.monotonic())

    def _identity(self, name: str, known: Stream) -> TopicFacts | None:
        try:
            summary = self._described(name)
        except (ClientError, BotoCoreError) as error:
            if not faults.passes(error) and faults.code(error) not in faults.HELD:
                raise faults.translate(error, self._address, f"describe the stream {name}") from error
            # An account may ask that 20 times a second, of all its streams.
            if self._is_still_there(name, known):
                return known.facts
            # What was read of a stream that may be another one waits until that is known.
            action = f"say whether {name} is the stream it was"
            raise StreamUnavailable(self._address, action, faults.cause(error)) from error
        return None if summary is None else self._facts(name, summary, known.facts.partitions)

    def _is_still_there(self, name: str, known: Stream) -> bool:
        """Whether the stream of that name is known to be the same, by what may be asked far more often."""
        created = dt.datetime.fromtimestamp(int(known.facts.id) / 1000, dt.UTC)
        try:
            ask = partial(self._client.list_shards, StreamCreationTimestamp=created, MaxResults=1)
            _asked(partial(ask, **self._named(name)), is_patient=True)
        except (ClientError, BotoCoreError) as error:
            if faults.code(error) == faults.GONE:
                self.forget(name)
            elif not faults.passes(error) and faults.code(error) not in faults.HELD:
                raise faults.translate(error, self._address, f"list the shards of the stream {name}") from error
            return False
        return True

    def _described(self, name: str) -> dict[str, Any] | None:
        try:
            answer = self._client.describe_stream_summary(**self._named(name))
        except ClientError as error:
            if faults.code(error) == faults.GONE:
                return None
            raise
        self._clock.hear(date_of(answer["ResponseMetadata"]["HTTPHeaders"], "DescribeStreamSummary"))
        summary: dict[str, Any] = answer["StreamDescriptionSummary"]
        return summary if summary["StreamStatus"] in _ALIVE else None

    def _facts(self, name: str, summary: Mapping[str, Any], partitions: Collection[PartitionFacts]) -> TopicFacts:
        _, partition, _, region, account, _ = str(summary["StreamARN"]).split(":", 5)
        created = round(summary["StreamCreationTimestamp"].timestamp() * 1000)
        return TopicFacts(
            name,
            f"{partition}:{region}:{account}",
            str(created),
            [*partitions],
            self._clock.moment,
            summary["RetentionPeriodHours"] * _HOUR,
            created,
        )

    def _named(self, name: str) -> dict[str, str]:
        arn = self.arn(name)
        return {"StreamName": name} if arn is None else {"StreamARN": arn}


def arn_of(cluster: str, name: str) -> str:
    """The ARN of a stream, from where it is; see `TopicFacts.cluster`."""
    partition, region, account = cluster.split(":")
    return f"arn:{partition}:kinesis:{region}:{account}:stream/{name}"


def _asked(ask: Callable[[], _Answer], *, is_patient: bool) -> _Answer:
    """What the service says; it is asked again for a while where it is too busy and somebody is patient."""
    deadline = time.monotonic() + (_PATIENCE if is_patient else 0.0)
    while True:
        try:
            return ask()
        except ClientError as error:
            if faults.code(error) not in faults.THROTTLED or time.monotonic() >= deadline:
                raise
        time.sleep(_GAP)


def _partition(shard: Mapping[str, Any]) -> PartitionFacts:
    parents = (shard.get("ParentShardId"), shard.get("AdjacentParentShardId"))
    return PartitionFacts(shard["ShardId"], tuple(each for each in parents if each), is_closed(shard))


def listed(client: Any, named: Mapping[str, str]) -> list[dict[str, Any]]:
    """The shards of a stream, those that are closed and still kept among them, by their ids.

    Args:
        client: botocore's.
        named: the stream, as requests name it.

    Raises:
        ClientError, HTTPClientError: as botocore says.
    """
    page = client.list_shards(**named)
    found: list[dict[str, Any]] = [*page["Shards"]]
    while token := page.get("NextToken"):
        page = client.list_shards(NextToken=token)
        found += page["Shards"]
    return sorted(found, key=lambda each: str(each["ShardId"]))


def is_closed(shard: Mapping[str, Any]) -> bool:
    """Whether a listed shard takes no more records."""
    return shard["SequenceNumberRange"].get("EndingSequenceNumber") is not None


def range_of(shard: Mapping[str, Any]) -> tuple[int, int]:
    """The lowest and the highest hash key of a listed shard."""
    hash_keys = shard["HashKeyRange"]
    return int(hash_keys["StartingHashKey"]), int(hash_keys["EndingHashKey"])
