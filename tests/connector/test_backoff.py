"""The law of the waits between attempts, without waiting."""

from __future__ import annotations

import pytest

from frazil.connector.backoff import FIRST, LONGEST, attempts
from frazil.errors import CatalogUnavailable, FrazilError, TopicMissing, Transient


class Waits:
    """Notes the waits that were asked for instead of waiting; says no after `most` of them."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.seconds: list[float] = []
        self.numbers: list[int] = []

    def __call__(self, error: Transient, attempt: int, seconds: float) -> bool:
        assert isinstance(error, CatalogUnavailable)
        self.numbers.append(attempt)
        self.seconds.append(seconds)
        return len(self.seconds) < self.most


LOCKED = CatalogUnavailable("load the table t", "it is locked")


def fail(times: int, waits: Waits, error: FrazilError = LOCKED) -> int:
    """Fail so many times, then work; the number of the attempt that did."""
    for attempt in attempts(waits):
        with attempt:
            if attempt.num <= times:
                raise error
    return attempt.num


def test_waits_double_from_half_a_second_to_a_minute_and_stay_there() -> None:
    waits = Waits()

    assert fail(30, waits) == 31

    bounds = [min(LONGEST, FIRST * 2**number) for number in range(30)]
    assert bounds[:8] == [0.5, 1, 2, 4, 8, 16, 32, 60]
    assert all(bound / 2 <= wait <= bound for wait, bound in zip(waits.seconds, bounds, strict=True))
    assert waits.numbers == list(range(1, 31))


def test_waits_are_spread_also_where_they_are_longest() -> None:
    waits = Waits()

    fail(200, waits)

    longest = waits.seconds[10:]
    assert max(longest) - min(longest) > LONGEST / 4
    assert len(set(longest)) == len(longest)


def test_a_success_begins_anew() -> None:
    waits = Waits()

    fail(8, waits)
    fail(1, waits)

    assert waits.seconds[-1] <= FIRST
    assert waits.numbers[-1] == 1


def test_what_does_not_pass_is_not_tried_again() -> None:
    waits = Waits()

    with pytest.raises(TopicMissing):
        fail(1, waits, TopicMissing("kafka", ["orders"], "kafka:9092"))

    assert waits.seconds == []


def test_who_waits_can_give_up() -> None:
    waits = Waits(most=3)

    with pytest.raises(CatalogUnavailable):
        fail(10, waits)

    assert len(waits.seconds) == 3
