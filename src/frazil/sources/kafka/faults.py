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
    KafkaError._NOENT,  # noqa: SLF001 (no leader yet, or no longer)
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
    # A broker that has only just started does not know its topics yet. Those that were deleted, discovery misses.
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_TOPIC_ID,
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.UNKNOWN,
    KafkaError.FETCH_SESSION_ID_NOT_FOUND,
    KafkaError.INVALID_FETCH_SESSION_EPOCH,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
}

_VANISHED: Final = {
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    KafkaError._LOG_TRUNCATION,  # noqa: SLF001
}


def passes(error: KafkaError) -> bool:
    """Whether the error goes away by itself once the brokers are well."""
    return bool(error.code() in _PASSING or error.retriable())


def is_vanished_offset(error: KafkaError) -> bool:
    """Whether the broker no longer has the offset that was asked for, or has it in another log than it was of."""
    return error.code() in _VANISHED


def is_missing_topic(error: KafkaError) -> bool:
    """Whether the broker does not know the topic or partition."""
    return bool(
        error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001
    )


class Refusals:
    """Why brokers do not let us in: librdkafka tells it aside, goes on trying, and our requests only time out."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The newest reason; whoever gets an answer sets it back."""

        self.all_down = False
        """Whether the client has lost all brokers, or has found none."""

        self.trouble: str | None = None
        """The newest other error, such as a refused connection or a name that does not resolve."""

    def hear(self, error: KafkaError) -> None:
        """Take what a client tells aside: its `error_cb`."""
        if _is_refusal(error):
            self.last = str(error.str())
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self.all_down = True
        else:
            self.trouble = str(error.str())


def _is_refusal(error: KafkaError) -> bool:
    words = str(error.str())
    if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001
        return "acquire SASL OAUTHBEARER token" not in words  # no broker was asked yet
    # Of TLS 1.3, clients hear only after the handshake that their certificate is refused, hence no code tells.
    return "SSL routines" in words and "unexpected eof" not in words


def translate(
    error: KafkaException, brokers: str, action: str, refusals: Refusals | None = None
) -> BrokerUnavailable | BrokerRefused:
    """Our error for a failed request."""
    cause: KafkaError = error.args[0]
    if refusals and refusals.last:
        return BrokerRefused(brokers, action, refusals.last)
    if passes(cause):
        return BrokerUnavailable(brokers, action, cause.str())
    return BrokerRefused(brokers, action, cause.str())
