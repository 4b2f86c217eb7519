"""Registered consumers: a stream sends each of them its records, apart from all others, and AWS charges for each.

A connector's is called like its application. It is registered when its stream is first read, and stays until somebody
deregisters it: a connector that is stopped goes on with it later.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import ConsumersExhausted, FrazilError, StreamUnavailable
from frazil.sources.kinesis import faults

SHARED: Final = "SHARED_THROUGHPUT"
"""The `consumer_type` of a client that has no consumers of its own."""

_ARN: Final = "consumer_arn."
_EXHAUSTED: Final = "LimitExceededException"
_IN_USE: Final = "ResourceInUseException"
_ACTIVE: Final = "ACTIVE"
_KNOWN: Final = 60.0
"""Seconds for which a consumer is taken for registered: somebody else may deregister it."""

_PATIENCE: Final = 60.0
"""Seconds within which a consumer that was registered is ACTIVE; from then on that is trouble."""

_FIRST: Final = 0.1
_LONGEST: Final = 2.0
"""Seconds between two looks whether it is, at first and in the end."""

_REFUSED: Final = 15.0
"""Seconds until a stream that gave none is asked again, at most."""

_log = structlog.get_logger(__name__)


def is_fanned_out(client: Mapping[str, str]) -> bool:
    """Whether a client's configuration asks for a registered consumer."""
    return client.get("consumer_type", SHARED) != SHARED


def consumer_of(client: Mapping[str, str], stream: str) -> str | None:
    """The ARN of the consumer that a task's configuration has for a stream, if it has one."""
    return client.get(f"{_ARN}{stream}")


@dataclass(frozen=True, slots=True)
class Lack:
    """A stream has no consumer that may subscribe."""

    again: float
    """When it is asked again, in seconds on the monotonic clock."""

    since: float
    """Since when that has been so, likewise."""

    pause: float
    error: FrazilError | None = None
    """Why, where it is more than that one is on its way."""

    @property
    def seconds(self) -> float:
        """How long until it is asked again."""
        return max(0.0, self.again - time.monotonic())


class Consumers:
    """The consumers of one application, one a stream. Nothing is waited for here."""

    def __init__(self, client: Any, address: str, name: str) -> None:
        """Register with a client of botocore's.

        Args:
            client: the client.
            address: where the service is, for messages.
            name: what the consumers are called.
        """
        self._client = client
        self._address = address
        self._name = name
        self._known: dict[str, tuple[str, float]] = {}
        """ARNs of consumers and when they were looked at, by the ARN of their stream."""

        self._lacks: dict[str, Lack] = {}
        """Streams without one, by their ARN."""

    def options(self, streams: Mapping[str, str]) -> dict[str, str]:
        """What tasks need to subscribe to those of some streams that have a consumer, given their ARNs by name."""
        return {f"{_ARN}{name}": self._known[arn][0] for name, arn in streams.items() if arn in self._known}

    def lacking(self, streams: Mapping[str, str]) -> dict[str, Lack]:
        """Register what is missing with streams, given their ARNs by name; those that may not be subscribed to yet."""
        found = {name: self._lack(arn) for name, arn in streams.items()}
        return {name: lack for name, lack in found.items() if lack is not None}

    def deregister(self, stream: str) -> bool:
        """Have a stream send nothing to its consumer any more; whether there was one."""
        self._known.pop(stream, None)
        with faults.asking(self._address, f"deregister the consumer {self._name} of {stream}"):
            if self._described(stream) is None:
                return False
            self._client.deregister_stream_consumer(StreamARN=stream, ConsumerName=self._name)
        return True

    def _lack(self, stream: str) -> Lack | None:
        """What a stream lacks, asked anew if it is time."""
        now = time.monotonic()
        before = self._lacks.get(stream)
        if before is not None and now < before.again:
            return before
        _, looked_at = self._known.get(stream, ("", 0.0))
        if stream in self._known and now - looked_at < _KNOWN:
            return None
        lack = self._asked(stream, now, before)
        if lack is None:
            self._lacks.pop(stream, None)
            return None
        if lack.error is not None and (before is None or before.error is None):
            _log.error("a stream has no consumer for us: its shards wait", stream=stream, cause=lack.error.message)
        self._lacks[stream] = lack
        return lack

    def _asked(self, stream: str, now: float, before: Lack | None) -> Lack | None:
        since, pause = (now, _FIRST) if before is None else (before.since, 2 * before.pause)
        try:
            described = self._described(stream)
            if described is not None and described[1] == _ACTIVE:
                self._known[stream] = described[0], now
                return None
            self._known.pop(stream, None)
            if described is None:
                self._register(stream)
        except (ClientError, BotoCoreError) as error:
            if stream in self._known and faults.passes(error):
                # Whoever reads finds out whether it is there still.
                self._known[stream] = self._known[stream][0], now
                return None
            pause = min(_REFUSED, pause)
            action = f"register the consumer {self._name} with {stream}"
            return Lack(now + pause, since, pause, faults.translate(error, self._address, action))
        except ConsumersExhausted as error:
            return Lack(now + _REFUSED, since, _REFUSED, error)
        pause = min(_LONGEST, pause)
        if now - since < _PATIENCE:
            return Lack(now + pause, since, pause)
        cause = "it is missing" if described is None else f"it is {described[1]}"
        late = StreamUnavailable(self._address, f"register the consumer {self._name} with {stream}", cause)
        return Lack(now + pause, since, pause, late)

    def _register(self, stream: str) -> None:
        try:
            self._client.register_stream_consumer(StreamARN=stream, ConsumerName=self._name)
        except ClientError as error:
            if faults.code(error) == _EXHAUSTED:
                raise ConsumersExhausted(self._name, stream, faults.cause(error)) from error
            if faults.code(error) != _IN_USE:
                raise

    def _described(self, stream: str) -> tuple[str, str] | None:
        """The ARN and the status of the consumer, if there is one."""
        try:
            answer = self._client.describe_stream_consumer(StreamARN=stream, ConsumerName=self._name)
        except (ClientError, BotoCoreError) as error:
            if faults.code(error) == faults.GONE:
                return None
            raise
        found = answer["ConsumerDescription"]
        return found["ConsumerARN"], found["ConsumerStatus"]
