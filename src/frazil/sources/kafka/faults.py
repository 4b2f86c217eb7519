"""Which of librdkafka's errors pass by themselves, and what the others mean to us."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError, KafkaException

from frazil.errors import BrokerRefused, BrokerUnavailable

QUIET: Final = {"log_level": 0}
"""librdkafka's own log lines go to standard error; every error also reaches us as a value."""

_PASSING: Final = {
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 (the library's names for its own codes)
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.NOT_CONTROLLER,
}


def passes(error: KafkaError) -> bool:
    """Whether the error goes away by itself once the brokers are well."""
    return bool(error.code() in _PASSING or error.retriable())


def is_vanished_offset(error: KafkaError) -> bool:
    """Whether the broker no longer has the offset that was asked for."""
    return bool(error.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET))  # noqa: SLF001


def is_missing_topic(error: KafkaError) -> bool:
    """Whether the broker does not know the topic or partition."""
    return bool(
        error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001
    )


def translate(error: KafkaException, brokers: str, action: str) -> BrokerUnavailable | BrokerRefused:
    """Our error for a failed request."""
    cause: KafkaError = error.args[0]
    if passes(cause):
        return BrokerUnavailable(brokers, action, cause.str())
    return BrokerRefused(brokers, action, cause.str())
