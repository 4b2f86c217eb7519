"""Rejected records in a topic of their own, with the bytes they were read with, as Kafka Connect's sinks leave them.

What says why is in headers, by the names that Kafka Connect gives them (KIP-298). Only what writes to the dead-letter
topic gives headers such names: those of a record itself, by which a producer could forge where a record came from, are
kept under others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import NewTopic

from frazil.model import Reject, TableName
from frazil.records.odd_times import Headers, with_header
from frazil.sources.kafka.admin_client import BrokerAdmin
from frazil.sources.kafka.faults import QUIET, translate
from frazil.sources.kafka.timeouts import for_an_answer

PREFIX: Final = "__connect.errors."
TABLE: Final = "__frazil.errors.table"
"""The header that names the table which a record was rejected for: its topic may feed several."""

_OURS: Final = "__frazil."
_KEPT: Final = "__frazil.own."
"""What the name of a record's own header begins with that would pass for one of ours."""

STAGES: Final = {"convert": "VALUE_CONVERTER", "transform": "TRANSFORMATION"}
"""Kafka Connect's words for stages; what is not one of those is what its sinks do with a record."""

_OF_RECORDS: Final = frozenset(
    {
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_MSG_SIZE,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError._INVALID_DIFFERENT_RECORD,  # noqa: SLF001 (the library's names for its own codes)
        KafkaError._INVALID_ARG,  # noqa: SLF001
        KafkaError._BAD_MSG,  # noqa: SLF001
    }
)
"""What brokers, and the client before them, have against single records or a batch of them."""

_MOST_REFUSED: Final = 10_000
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Records that are refused, and bytes of their values, before they are sent singly: they are held until then."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Letter:
    """A rejected record in a form that it is sent in."""

    reject: Reject
    headers: Headers
    timestamp: int = 0
    """In ms since the epoch; 0 for the time at which it is sent."""

    @classmethod
    def timed(cls, reject: Reject, headers: Headers) -> _Letter:
        """The record with the timestamp it was read with."""
        return cls(reject, headers, reject.timestamp or 0)

    def untimed(self) -> _Letter:
        """The record with its timestamp in a header."""
        timestamp = self.reject.timestamp
        return _Letter(self.reject, self.headers if timestamp is None else with_header(self.headers, timestamp))


class DeadLetterTopic:
    """A topic that rejected records go to; made when it is first needed."""

    def __init__(self, client: Mapping[str, Any], topic: str, replication: int, *, context: bool) -> None:
        """Send with the configuration of a client.

        Args:
            client: in librdkafka's own keys, those that every client takes.
            topic: the topic's name.
            replication: how many brokers have it, where it has to be made.
            context: whether headers say why a record was rejected.
        """
        self.topic = topic
        self._client = dict(client)
        self._brokers = str(client["bootstrap.servers"])
        self._replication = replication
        self._context = context
        self._producer: Producer | None = None
        self._failure: KafkaError | None = None
        """Why the brokers take nothing, of what is being sent."""

        self._refused: list[tuple[_Letter, KafkaError]] = []
        """What they refused for what it is, or for what came in one batch with it."""

        self._refused_bytes = 0
        """Bytes of these values, since records were last sent singly."""

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> int:
        """Send records, and wait until the brokers have all that the topic can take.

        One refused record makes brokers refuse all that came in one batch with it. So those are sent again, one by
        one: as they are, then without their timestamp, which becomes a header. A record that the topic takes in
        neither form is named in the log; how many there are comes back.

        Raises:
            BrokerUnavailable, BrokerRefused: some of them are not there.
        """
        producer = self._producer = self._producer or self._made()
        refused = 0
        try:
            for each in rejects:
                self._produce(producer, _Letter.timed(each, self._headers(each, connector, table)))
                if len(self._refused) >= _MOST_REFUSED or self._refused_bytes >= _MOST_BYTES:
                    refused += self._send_singly(producer)
                if self._failure is not None:
                    break
            refused += self._send_singly(producer)
            return refused
        finally:
            self._refused.clear()
            self._failure = None

    def _send_singly(self, producer: Producer) -> int:
        """Wait for what is on its way, and send what was refused by itself; how many records are not taken at all."""
        self._flush(producer)
        again = [each for each, _ in self._refused]
        self._refused.clear()
        self._refused_bytes = 0
        return sum(not self._is_taken(producer, each) for each in again)

    def _is_taken(self, producer: Producer, letter: _Letter) -> bool:
        reject = letter.reject
        for form in (letter, letter.untimed()):
            self._produce(producer, form)
            self._flush(producer)
            if not self._refused:
                return True
            ((_, error),) = self._refused
            self._refused.clear()
        _log.warning(
            "a rejected record is not taken by the dead-letter topic: it stays in its reject file",
            dead_letters=self.topic,
            topic=reject.partition.topic,
            partition=reject.partition.partition,
            offset=reject.offset,
            cause=error.str(),
        )
        return False

    def _produce(self, producer: Producer, letter: _Letter) -> None:
        def hear(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                self._note(error, letter)

        while True:
            try:
                producer.produce(
                    self.topic,
                    letter.reject.value,
                    letter.reject.key,
                    headers=[*letter.headers],
                    timestamp=letter.timestamp,
                    on_delivery=hear,
                )
            except BufferError:
                producer.poll(0.1)
            except KafkaException as error:
                self._note(error.args[0], letter)
                return
            else:
                producer.poll(0)
                return

    def _note(self, error: KafkaError, letter: _Letter) -> None:
        if error.code() in _OF_RECORDS:
            self._refused.append((letter, error))
            self._refused_bytes += len(letter.reject.value or b"")
        else:
            self._failure = error

    def _flush(self, producer: Producer) -> None:
        """Wait until the brokers have answered; raises what `send` does."""
        left = producer.flush(for_an_answer(self._client) * 2)
        if self._failure is None and left:
            self._failure = KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001 (the library's name for its own code)
        if self._failure is not None:
            producer.purge()
            raise translate(KafkaException(self._failure), self._brokers, f"take rejected records to {self.topic}")

    def _headers(self, reject: Reject, connector: str, table: TableName) -> Headers:
        return (*escaped(reject.headers), *(context_of(reject, connector, table) if self._context else ()))

    def _made(self) -> Producer:
        admin = BrokerAdmin(self._client, "read_uncommitted")
        action = f"make the topic {self.topic}"
        wanted = [NewTopic(self.topic, 1, self._replication)]
        (future,) = admin.ask(
            action, lambda: admin.admin.create_topics(wanted, request_timeout=admin.patience)
        ).values()
        try:
            admin.answer(action, future)
        except Exception as error:
            cause = error.__cause__
            code = cause.args[0].code() if isinstance(cause, KafkaException) else None
            if code != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        return Producer(
            {"linger.ms": 20, "compression.type": "lz4", **QUIET, **self._client, "enable.idempotence": True}
        )


def escaped(own: Headers) -> Headers:
    """A record's own headers under names that cannot pass for the context of a dead letter."""
    return tuple((_KEPT + name if name.startswith((PREFIX, _OURS)) else name, value) for name, value in own)


def unescaped(headers: Headers) -> Headers:
    """A record's own headers under their own names."""
    return tuple((name.removeprefix(_KEPT), value) for name, value in headers)


def context_of(reject: Reject, connector: str, table: TableName) -> Iterator[tuple[str, bytes]]:
    """Why a record was rejected, as headers."""
    said = {
        "topic": str(reject.partition.topic),
        "partition": str(reject.partition.partition),
        "offset": str(reject.offset),
        "connector.name": connector,
        "task.id": "0",
        "stage": STAGES.get(reject.stage, "TASK_PUT"),
        "class.name": "frazil.KafkaConnector",
        "exception.class.name": f"frazil.{reject.code}",
        "exception.message": f"{reject.column}: {reject.reason}" if reject.column else reject.reason,
        "exception.stacktrace": "",
    }
    for name, text in said.items():
        yield PREFIX + name, text.encode()
    yield TABLE, str(table).encode()
