"""RegexRouter, TimestampRouter and Filter."""

from __future__ import annotations

import pytest
from tests.records.smt.records import applied, problems, record, refused

REGEX, TIMESTAMP, FILTER = "RegexRouter", "TimestampRouter", "Filter"


def routed(kind: str, topic: str, options: dict[str, str], timestamp: int | None = 1_700_000_000_123) -> str:
    done = applied(kind, record(topic=topic, timestamp=timestamp), options)
    assert done is not None
    return done.topic


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "expected"),
    [
        ("(.*)_v[0-9]+", "$1", "orders_v12", "orders"),
        ("(?<env>[a-z]+)-(.*)", "${env}.$2", "prod-orders", "prod.orders"),
        ("orders", "x", "old_orders", "old_orders"),
        ("a|ab", "x", "ab", "xb"),
        ("", "x", "orders", "orders"),
        (".*", "", "orders", ""),
    ],
)
def test_a_topic_that_matches_as_a_whole_is_renamed(regex: str, replacement: str, topic: str, expected: str):
    assert routed(REGEX, topic, {"regex": regex, "replacement": replacement}) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "orders-20231114"),
        ({"topic.format": "${timestamp}/${topic}/${topic}", "timestamp.format": "yyyy-MM"}, "2023-11/orders/orders"),
        ({"topic.format": "fixed"}, "fixed"),
    ],
)
def test_a_topic_is_named_by_when_its_record_was_written(options: dict[str, str], expected: str):
    assert routed(TIMESTAMP, "orders", options) == expected


def test_a_record_without_a_timestamp_is_not_routed_by_it():
    assert "without a timestamp" in refused(TIMESTAMP, record(timestamp=None))


def test_a_filter_drops_what_gets_to_it():
    assert applied(FILTER, record()) is None


@pytest.mark.parametrize(
    ("kind", "options", "keys"),
    [
        (REGEX, {}, ["regex", "replacement"]),
        (REGEX, {"regex": "(", "replacement": "$1"}, ["regex", "replacement"]),
        (REGEX, {"regex": "a", "replacement": "$1"}, ["replacement"]),
        (TIMESTAMP, {"timestamp.format": "yyyy-ww"}, ["timestamp.format"]),
        (TIMESTAMP, {"timestamp.format": "yyyy'"}, ["timestamp.format"]),
        (FILTER, {}, []),
    ],
)
def test_all_that_is_wrong_with_their_options_is_found(kind: str, options: dict[str, str], keys: list[str]):
    assert [each.split()[0] for each in problems(kind, options)] == keys
