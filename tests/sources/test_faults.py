"""What librdkafka tells aside, and what of it means that brokers do not let us in."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from frazil.errors import BrokerRefused, BrokerUnavailable
from frazil.sources.kafka.faults import Refusals, translate
from frazil.sources.kafka.timeouts import for_a_record, for_an_answer

TIMED_OUT = KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out"))
LOGIN = "SASL authentication error: Authentication failed: Invalid username or password"
VERIFY = "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
ALERT = "Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42"


def refusals(code: int, words: str) -> Refusals:
    heard = Refusals()
    heard.hear(KafkaError(code, words))
    return heard


@pytest.mark.parametrize(
    ("code", "words"),
    [(KafkaError._AUTHENTICATION, LOGIN), (KafkaError._SSL, VERIFY), (KafkaError._TRANSPORT, ALERT)],
)
def test_a_request_that_times_out_because_we_are_not_let_in_is_refused_and_says_why(code: int, words: str) -> None:
    error = translate(TIMED_OUT, "kafka:9093", "list topics", refusals(code, words))

    assert isinstance(error, BrokerRefused)
    assert words in str(error)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (KafkaError._TRANSPORT, "Connect to ipv4#127.0.0.1:9093 failed: Connection refused"),
        (KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"),
        (KafkaError._SSL, "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?"),
        (KafkaError._SSL, "SSL handshake failed: SSL transport error: Connection reset by peer"),
        (KafkaError._SSL, "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading"),
        (KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: HTTP 503"),
    ],
)
def test_what_a_restart_of_brokers_looks_like_passes(code: int, words: str) -> None:
    assert isinstance(translate(TIMED_OUT, "kafka:9093", "list topics", refusals(code, words)), BrokerUnavailable)


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN, KafkaError._UNKNOWN_PARTITION])
def test_what_a_broker_says_that_has_only_just_started_passes(code: int) -> None:
    error = translate(KafkaException(KafkaError(code)), "kafka:9092", "give the offsets of orders-0")

    assert isinstance(error, BrokerUnavailable)


def test_the_patience_is_what_the_client_was_given_for_its_requests() -> None:
    assert (for_an_answer({}), for_a_record({})) == (15, 30)
    assert (for_an_answer({"socket.timeout.ms": "2500"}), for_a_record({"socket.timeout.ms": "2500"})) == (2.5, 5)
