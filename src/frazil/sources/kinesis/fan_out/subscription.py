"""SubscribeToShard: a call over HTTP/2 whose answer goes on as records come.

botocore speaks no HTTP/2, which the service needs for this call. Its own are the signature, the errors, and how an
answer is divided into events.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from ssl import SSLContext
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.eventstream import EventStreamBuffer, EventStreamMessage
from botocore.eventstream import ParserError as EventStreamBroken
from botocore.exceptions import ClientError, EventStreamError, HTTPClientError
from botocore.parsers import create_parser

from frazil.sources.kinesis import client as clients
from frazil.sources.kinesis.answers import UnreadableAnswer, date_of, reading, require_document
from frazil.sources.kinesis.iterators import starting_position
from frazil.sources.kinesis.positions import KinesisPosition
from frazil.sources.kinesis.pulling import children_of, record_of
from frazil.sources.kinesis.shard_reading import RawRecord

_OPERATION: Final = "SubscribeToShard"
EVENT: Final = "SubscribeToShardEvent"
_HEADERS: Final = {
    "Content-Type": "application/x-amz-json-1.1",
    "X-Amz-Target": f"Kinesis_20131202.{_OPERATION}",
}
_AS_IT_IS: Final = {"Accept-Encoding": "identity"}
"""Not signed: what is between us and the service may change it."""

_ERROR: Final = 300
_PAGE: Final = "text/"
"""How the content type begins of what proxies answer."""

_CONNECT: Final = 10.0
"""Seconds until a connection, or sending a request, is given up."""


@dataclass(frozen=True, slots=True)
class Event:
    """What a consumer is sent at once."""

    records: Sequence[RawRecord]
    continuation: str | None
    """A place behind its records, which advances without records as well; None at the end of the shard."""

    behind: int
    """How far it is from the newest record of the shard, in ms."""

    children: Sequence[str] = ()
    """At the end of the shard, those that go on."""

    date: int = 0
    """When the service began the answer that it is part of, in ms since the epoch: an event may have waited for us."""


class Subscription:
    """One answer of SubscribeToShard, while it goes on."""

    def __init__(self, answer: httpx2.Response, timeout: dict[str, float]) -> None:
        """Read an answer; how long a read of it may take is what `timeout` says when it begins."""
        kind = answer.headers.get("content-type", "")
        if kind.startswith(_PAGE):
            raise UnreadableAnswer(operation=_OPERATION, problem=f"HTTP {answer.status_code}, {kind}")
        self.date = date_of(answer.headers, _OPERATION)
        """When the service began it, in ms since the epoch; of whole seconds, never later."""

        self._parts = answer.iter_raw()
        self._timeout = timeout
        self._buffer = EventStreamBuffer()

    def next(self, patience: float) -> Event | None:
        """The next event; None if there are no more, or none came in so many seconds, after which none can come.

        Raises:
            EventStreamError: the service ends the subscription, and says why.
            HTTPClientError: the connection broke.
            UnreadableAnswer: what came is not an event of the service.
        """
        deadline = time.monotonic() + patience
        with _as_botocore():
            while True:
                for message in self._buffer:
                    with reading(EVENT):
                        event = _event(message)
                    if event is not None:
                        return replace(event, date=self.date)
                self._timeout["read"] = deadline - time.monotonic()
                if self._timeout["read"] <= 0:
                    return None
                try:
                    part = next(self._parts, None)
                except httpx2.ReadTimeout:
                    return None
                if part is None:
                    return None
                self._buffer.add_data(part)


class Subscriber:
    """Subscribes a registered consumer to shards of one stream; several threads may at once."""

    def __init__(self, client: Mapping[str, str], consumer: str) -> None:
        """Subscribe with what the settings give as a client's configuration.

        Args:
            client: the configuration.
            consumer: the ARN of the consumer.
        """
        own = clients.kept_session(client)
        about = clients.kept(client).meta
        self._endpoint = str(about.endpoint_url)
        self._region = about.region_name
        self._credentials = own.get_credentials()
        self._consumer = consumer

    @contextmanager
    def subscribe(self, shard: str, position: KinesisPosition, patience: float) -> Iterator[Subscription]:
        """Be sent what is behind a position of a shard, until this is left.

        Args:
            shard: the shard's id.
            position: where to begin; records before a position within a record come again.
            patience: seconds to wait for the answer to begin.

        Raises:
            ClientError, HTTPClientError: as botocore says for other calls.
            UnreadableAnswer: the answer is not one of the service.
        """
        wanted = {"ConsumerARN": self._consumer, "ShardId": shard, "StartingPosition": starting_position(position)}
        timeout = {"connect": min(_CONNECT, patience), "read": patience, "write": _CONNECT, "pool": _CONNECT}
        # A connection for each: one that several share reads for all of them, and waits for none but its first.
        with _as_botocore(), self._http() as http:
            request = http.build_request(
                "POST", self._url, content=(body := orjson.dumps(wanted)), extensions={"timeout": timeout}
            )
            request.headers.update(self._signed(body))
            answer = http.send(request, stream=True)
            try:
                if answer.status_code >= _ERROR:
                    raise _refusal(answer)
                yield Subscription(answer, timeout)
            finally:
                answer.close()

    @property
    def _url(self) -> str:
        return self._endpoint if urlsplit(self._endpoint).path else f"{self._endpoint}/"

    def _http(self) -> httpx2.Client:
        # Only TLS lets both sides agree on HTTP/2; without it, it has to be known.
        if urlsplit(self._endpoint).scheme == "http":
            return httpx2.Client(http1=False, http2=True, headers=_AS_IT_IS)
        return httpx2.Client(http2=True, headers=_AS_IT_IS, verify=_tls())

    def _signed(self, body: bytes) -> dict[str, str]:
        request = AWSRequest("POST", self._url, headers=dict(_HEADERS), data=body)
        frozen = self._credentials.get_frozen_credentials() if self._credentials else None
        SigV4Auth(frozen, "kinesis", self._region).add_auth(request)
        return dict(request.headers.items())


@cache
def _tls() -> SSLContext:
    return httpx2.create_ssl_context()


@contextmanager
def _as_botocore() -> Iterator[None]:
    """Have errors of the connection as those of botocore's own connections."""
    try:
        yield
    except (httpx2.HTTPError, EventStreamBroken) as error:
        raise HTTPClientError(error=f"{type(error).__name__}: {error}".rstrip(": ")) from error


def _refusal(answer: httpx2.Response) -> ClientError:
    body = answer.read()
    require_document(_OPERATION, answer.status_code, answer.headers, body)
    found = {"status_code": answer.status_code, "headers": dict(answer.headers), "body": body}
    return ClientError(create_parser("json").parse(found, None), _OPERATION)


def _event(message: EventStreamMessage) -> Event | None:
    """What a message says; None if that is nothing of the shard."""
    headers = message.headers
    if headers[":message-type"] == "event":
        return _of_shard(orjson.loads(message.payload)) if headers[":event-type"] == EVENT else None
    code = headers.get(":exception-type") or headers.get(":error-code", "")
    said = orjson.loads(message.payload) if headers[":message-type"] == "exception" and message.payload else {}
    text = said.get("message") or said.get("Message") or headers.get(":error-message", "")
    raise EventStreamError({"Error": {"Code": str(code), "Message": str(text)}}, _OPERATION)


def _of_shard(document: Mapping[str, Any]) -> Event:
    return Event(
        [record_of(each) for each in document["Records"]],
        document.get("ContinuationSequenceNumber"),
        int(document["MillisBehindLatest"]),
        children_of(document),
    )
