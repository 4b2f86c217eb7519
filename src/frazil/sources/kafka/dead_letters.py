"""Rejected records in a topic of their own, with the bytes they were read with, as Kafka Connect's sinks leave them.

What says why is in headers, by the names that Kafka Connect gives them (KIP-298).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import NewTopic

from frazil.model import Reject, TableName
from frazil.sources.kafka.admin_client import BrokerAdmin
from frazil.sources.kafka.faults import QUIET, translate
from frazil.sources.kafka.timeouts import for_an_answer

PREFIX: Final = "__connect.errors."
TABLE: Final = "__frazil.errors.table"
"""The header that names the table which a record was rejected for: its topic may feed several."""

STAGES: Final = {"convert": "VALUE_CONVERTER", "transform": "TRANSFORMATION"}
"""Kafka Connect's words for stages; what is not one of those is what its sinks do with a record."""

_log = structlog.get_logger(__name__)


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

    def send(self, rejects: Iterable[Reject], connector: str, table: TableName) -> None:
        """Send records, and wait until the brokers have them all.

        A record that is larger than brokers take stays where it is, and is named in the log.

        Raises:
            BrokerUnavailable, BrokerRefused: some of them are not there.
        """
        producer = self._producer = self._producer or self._made()
        self._failure = None
        for each in rejects:
            self._send(producer, each, connector, table)
            if self._failure is not None:
                break
        left = producer.flush(for_an_answer(self._client) * 2)
        if self._failure is None and left:
            self._failure = KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001 (the library's name for its own code)
        if self._failure is not None:
            producer.purge()
            raise translate(KafkaException(self._failure), self._brokers, f"take rejected records to {self.topic}")

    def _send(self, producer: Producer, reject: Reject, connector: str, table: TableName) -> None:
        headers = [*reject.headers, *(context_of(reject, connector, table) if self._context else ())]
        while True:
            try:
                producer.produce(
                    self.topic,
                    reject.value,
                    reject.key,
                    headers=headers,
                    timestamp=reject.timestamp or 0,
                    on_delivery=self._hear,
                )
            except BufferError:
                producer.poll(0.1)
            except KafkaException as error:
                self._note(error.args[0], f"{reject.partition}, offset {reject.offset}")
                return
            else:
                producer.poll(0)
                return

    def _hear(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._note(error, f"a record of {len(message)} bytes")

    def _note(self, error: KafkaError, what: str) -> None:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            _log.warning("a rejected record is too large for the dead-letter topic", topic=self.topic, record=what)
        else:
            self._failure = error

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
