"""Registered consumers: a stream sends each of them its records, apart from all others, and AWS charges for each.

A connector's is called like its application. It is registered when its stream is first read, and stays until somebody
deregisters it: a connector that is stopped goes on with it later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.errors import ConsumersExhausted, StreamUnavailable
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
"""Seconds until a consumer that was registered is ACTIVE, at most."""

_FIRST: Final = 0.1
_LONGEST: Final = 2.0
"""Seconds between two looks whether it is, at first and in the end."""


def is_fanned_out(client: Mapping[str, str]) -> bool:
    """Whether a client's configuration asks for a registered consumer."""
    return client.get("consumer_type", SHARED) != SHARED


def consumer_of(client: Mapping[str, str], stream: str) -> str | None:
    """The ARN of the consumer that a task's configuration has for a stream, if it has one."""
    return client.get(f"{_ARN}{stream}")


class Consumers:
    """The consumers of one application, one a stream."""

    def __init__(self, client: Any, address: str, name: str, sleep: Callable[[float], None] = time.sleep) -> None:
        """Register with a client of botocore's.

        Args:
            client: the client.
            address: where the service is, for messages.
            name: what the consumers are called.
            sleep: waits some seconds.
        """
        self._client = client
        self._address = address
        self._name = name
        self._sleep = sleep
        self._known: dict[str, tuple[str, float]] = {}
        """ARNs of consumers and when they were looked at, by the ARN of their stream."""

    def options(self, streams: Mapping[str, str]) -> dict[str, str]:
        """What tasks need to subscribe to streams; consumers that are missing are registered.

        Args:
            streams: their ARNs, by name.

        Raises:
            ConsumersExhausted: a stream takes no more of them.
            StreamUnavailable, StreamRefused: the service gave none.
        """
        return {f"{_ARN}{name}": self.arn(stream) for name, stream in streams.items()}

    def arn(self, stream: str) -> str:
        """The ARN of the consumer of a stream, which is ACTIVE; raises as `options` does."""
        found, looked_at = self._known.get(stream, ("", 0.0))
        now = time.monotonic()
        if not found or now - looked_at >= _KNOWN:
            with faults.asking(self._address, f"describe the consumer {self._name} of {stream}"):
                described = self._described(stream)
            found = self._active(stream) if described is None or described[1] != _ACTIVE else described[0]
            self._known[stream] = found, now
        return found

    def deregister(self, stream: str) -> bool:
        """Have a stream send nothing to its consumer any more; whether there was one."""
        self._known.pop(stream, None)
        with faults.asking(self._address, f"deregister the consumer {self._name} of {stream}"):
            if self._described(stream) is None:
                return False
            self._client.deregister_stream_consumer(StreamARN=stream, ConsumerName=self._name)
        return True

    def _active(self, stream: str) -> str:
        """Register a consumer, unless it is there already, and wait until it may subscribe."""
        end, pause = time.monotonic() + _PATIENCE, _FIRST
        while True:
            with faults.asking(self._address, f"register the consumer {self._name} with {stream}"):
                described = self._described(stream)
                if described is None:
                    self._register(stream)
                elif described[1] == _ACTIVE:
                    return described[0]
            if time.monotonic() >= end:
                status = described[1] if described else "missing"
                raise StreamUnavailable(self._address, f"register the consumer {self._name}", f"it is {status}")
            self._sleep(pause)
            pause = min(_LONGEST, pause * 2)

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
