"""A shard is read by subscriptions: from any place, to its end, through errors, and never twice within five seconds."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.dev.kinesis.support import put, settled
from tests.sources.kinesis.fan_out.support import FIRST, Reading, arn_of, consumers, prepared

from frazil.dev.kinesis.faults import SUBSCRIPTION_EVENTS
from frazil.sources.kinesis.fan_out.subscription import Event
from frazil.sources.kinesis.positions import BEGINNING, END, KinesisPosition, after, at_record, at_time
from frazil.sources.kinesis.pulling import record_of

MIDDLE = str(2**127)


def test_a_shard_is_read_until_nothing_more_is_there_for_a_second(local) -> None:
    kinesis, subscriber = prepared(local)
    *_, last = put(kinesis, b"1", b"2", b"3")
    reading = Reading(subscriber)

    began = time.monotonic()
    outcome = reading.run(BEGINNING, window=60.0)

    assert reading.data == [b"1", b"2", b"3"]
    assert {each.key for each in reading.records} == {"key"}
    assert after(int(last)) <= outcome.covered
    assert (outcome.is_quiet, outcome.held, outcome.trouble) == (True, None, None)
    assert outcome.read_through == int(local.engine.clock()) * 1000
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("place", ["after", "at", "within"])
def test_reading_goes_on_at_a_record(local, place: str) -> None:
    kinesis, subscriber = prepared(local)
    _, second, _ = (int(each) for each in put(kinesis, b"1", b"2", b"3"))
    start = {"after": after(second), "at": at_record(second), "within": after(second, 4)}[place]
    reading = Reading(subscriber)

    reading.run(start)

    assert reading.data == ([b"3"] if place == "after" else [b"2", b"3"])


def test_reading_begins_at_a_time(local, clock) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    clock.forward(10)
    put(kinesis, b"2")
    reading = Reading(subscriber)

    reading.run(at_time(int(clock.now * 1000) - 5000))

    assert reading.data == [b"2"]


def test_a_place_advances_without_records_and_nothing_is_missed_or_repeated_from_there(local, clock) -> None:
    kinesis, subscriber = prepared(local)
    (only,) = put(kinesis, b"1")
    clock.forward(60)
    first = Reading(subscriber).run(after(int(only)))
    assert after(int(only)) < first.covered
    assert first.is_quiet

    clock.forward(60)
    put(kinesis, b"2")
    reading = Reading(subscriber)
    reading.run(KinesisPosition(first.covered.mark, first.covered.value))

    assert reading.data == [b"2"]


def test_the_end_of_a_shard_is_found(local) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=FIRST.partition, NewStartingHashKey=MIDDLE)
    settled(kinesis)
    reading = Reading(subscriber)

    outcome = reading.run(BEGINNING)

    assert reading.data == [b"1"]
    assert outcome.covered == END
    assert outcome.read_through == reading.records[-1].arrival


def test_the_next_subscription_is_told_to_come_after_five_seconds(local) -> None:
    _, subscriber = prepared(local)
    began = time.monotonic()

    outcome = Reading(subscriber).run(BEGINNING)

    assert began + 5 < outcome.ready_at < time.monotonic() + 5.2


def test_nobody_subscribes_before_that(local) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    waits = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return True

    reading = Reading(subscriber)
    reading.run(BEGINNING, owed=4.0, wait=wait)

    assert reading.data == []
    assert 3 < waits[0] <= 4


def test_another_subscription_is_waited_out(local, clock) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    Reading(subscriber).run(BEGINNING)
    reading = Reading(subscriber)

    def wait(seconds: float) -> bool:
        clock.forward(seconds + 1)
        return False

    outcome = reading.run(BEGINNING, wait=wait)

    assert reading.data == [b"1"]
    assert outcome.trouble is None


def test_another_subscription_that_stays_is_no_trouble(local) -> None:
    _, subscriber = prepared(local)
    Reading(subscriber).run(BEGINNING)

    outcome = Reading(subscriber).run(BEGINNING, window=1.0)

    assert (outcome.covered, outcome.read_through, outcome.trouble) == (BEGINNING, None, None)


@pytest.mark.parametrize("operation", ["SubscribeToShard", SUBSCRIPTION_EVENTS])
def test_a_shard_without_its_key_is_held(local, operation: str) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    local.faults.kms("KMSDisabledException", operation)

    outcome = Reading(subscriber).run(BEGINNING)

    assert (outcome.covered, outcome.held) == (BEGINNING, "KMSDisabledException")


@pytest.mark.parametrize("error", ["InternalFailureException", "KMSThrottlingException", "ResourceInUseException"])
def test_an_error_within_a_subscription_leaves_what_came_before(local, error: str) -> None:
    kinesis, subscriber = prepared(local)
    (only,) = put(kinesis, b"1")

    def break_it(_: object) -> bool:
        local.faults.kms(error, SUBSCRIPTION_EVENTS)
        return True

    reading = Reading(subscriber)
    outcome = reading.run(BEGINNING, deliver=break_it)

    assert reading.data == [b"1"]
    assert (outcome.covered, outcome.held, outcome.trouble) == (after(int(only)), None, None)
    assert outcome.ready_at > time.monotonic()


def test_a_connection_that_breaks_leaves_what_came_before(local) -> None:
    kinesis, subscriber = prepared(local)
    (only,) = put(kinesis, b"1")

    def break_it(_: object) -> bool:
        local.faults.reset(SUBSCRIPTION_EVENTS)
        return True

    outcome = Reading(subscriber).run(BEGINNING, deliver=break_it)

    assert (outcome.covered, outcome.held, outcome.trouble) == (after(int(only)), None, None)


def test_a_service_that_does_not_answer_is_trouble(local) -> None:
    _, subscriber = prepared(local)
    local.stop()

    outcome = Reading(subscriber).run(BEGINNING, window=1.0)

    assert outcome.trouble
    assert (outcome.covered, outcome.read_through) == (BEGINNING, None)


def test_a_service_that_fails_for_a_while_is_asked_again(local) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    local.faults.reset("SubscribeToShard", times=1)
    local.faults.throttle("SubscribeToShard", times=1)
    reading = Reading(subscriber)

    outcome = reading.run(BEGINNING, window=20.0)

    assert reading.data == [b"1"]
    assert outcome.trouble is None


def test_a_wait_that_takes_too_long_ends_the_reading(local) -> None:
    _, subscriber = prepared(local)
    local.faults.throttle("SubscribeToShard")

    def late(seconds: float) -> bool:
        time.sleep(seconds and 1.1)
        return False

    outcome = Reading(subscriber).run(BEGINNING, window=1.0, wait=late)

    assert (outcome.covered, outcome.trouble) == (BEGINNING, None)


def test_a_task_that_has_enough_is_sent_no_more(local) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, *[bytes(700_000)] * 3)
    reading = Reading(subscriber)

    outcome = reading.run(BEGINNING, deliver=lambda _: False)

    assert len(reading.records) == 1
    assert outcome.covered == after(int(reading.records[-1].sequence))


def test_a_consumer_that_is_gone_is_left_to_the_next_cycle(local) -> None:
    kinesis, subscriber = prepared(local)
    consumers(local, kinesis).deregister(arn_of(kinesis))

    outcome = Reading(subscriber).run(BEGINNING)

    assert outcome.covered == BEGINNING
    assert "ResourceNotFoundException" in (outcome.trouble or "")


def test_an_open_shard_has_not_ended_because_an_event_leads_no_further(local, monkeypatch: pytest.MonkeyPatch) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.subscription._of_shard", _leading_no_further)
    reading = Reading(subscriber, listing=kinesis)

    outcome = reading.run(BEGINNING)

    assert outcome.covered == BEGINNING
    assert reading.data == []
    assert outcome.trouble is not None
    assert "is open" in outcome.trouble


def test_a_shard_that_is_listed_as_closed_has_ended_though_its_event_names_no_children(
    local, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    kinesis.split_shard(StreamName="orders", ShardToSplit=FIRST.partition, NewStartingHashKey=MIDDLE)
    settled(kinesis)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.subscription._of_shard", _leading_no_further)
    reading = Reading(subscriber, listing=kinesis)

    outcome = reading.run(BEGINNING)

    assert (outcome.covered, reading.data) == (END, [b"1"])


def _leading_no_further(document: dict[str, Any]) -> Event:
    return Event([record_of(each) for each in document["Records"]], None, 0)


def test_a_shard_that_always_claims_more_is_caught_up_with_once_events_lead_no_further(
    local, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinesis, subscriber = prepared(local)
    put(kinesis, b"1")
    monkeypatch.setattr("frazil.dev.kinesis.subscriptions.IDLE", 0.02)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.subscription._of_shard", _always_behind)
    reading = Reading(subscriber)
    began = time.monotonic()

    outcome = reading.run(BEGINNING, window=60.0)

    assert reading.data == [b"1"]
    assert time.monotonic() - began < 30
    assert outcome.is_quiet
    assert outcome.read_through is not None
    assert outcome.read_through >= (int(local.engine.clock()) - 30) * 1000


def test_two_events_that_lead_no_further_are_enough_where_they_come_seldom(
    local, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, subscriber = prepared(local)
    monkeypatch.setattr("frazil.dev.kinesis.subscriptions.IDLE", 0.4)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.shard._STILL", 0.2)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.shard._SETTLING", 0.0)
    monkeypatch.setattr("frazil.sources.kinesis.fan_out.subscription._of_shard", _always_behind)

    assert Reading(subscriber).run(BEGINNING, window=60.0).is_quiet


def _always_behind(document: dict[str, Any]) -> Event:
    records = [record_of(each) for each in document["Records"]]
    return Event(records, document["ContinuationSequenceNumber"], 3_600_000)
