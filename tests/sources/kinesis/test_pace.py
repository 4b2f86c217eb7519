"""How soon a shard is asked again."""

from __future__ import annotations

import pytest

from frazil.sources.kinesis import pace
from frazil.sources.kinesis.pace import Pace

MIB = 1 << 20


class Clock:
    """The monotonic clock, as the test sets it."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1_000_000.0 + self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pace, "time", found)
    return found


def test_a_large_answer_is_paid_off_from_when_it_was_asked_for_not_from_when_it_has_come(clock: Clock) -> None:
    found = Pace(2 * MIB)

    clock.now += 0.5
    found.answered(10 * MIB, asked=100.0)

    assert 4.5 < found.seconds_left < 4.7


def test_small_answers_come_five_times_a_second_at_most(clock: Clock) -> None:
    found = Pace(2 * MIB)

    found.answered(10, asked=clock.now)

    assert 0.2 <= found.seconds_left < 0.3


def test_an_answer_that_took_longer_than_it_costs_is_followed_by_the_next_call_at_once(clock: Clock) -> None:
    found = Pace(2 * MIB)

    clock.now += 9
    found.answered(10 * MIB, asked=100.0)

    assert found.seconds_left == 0.0


def test_after_an_answer_refusals_are_counted_anew(clock: Clock) -> None:
    found = Pace(2 * MIB)
    for _ in range(10):
        found.refused()
    found.answered(0, asked=clock.now)

    found.refused()

    assert found.seconds_left <= 0.2 + 0.4
