"""A shard is caught up with when answers lead no further, and not while they do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.sources.kinesis.pulling import Answer
from frazil.sources.kinesis.shard_reading import RawRecord
from frazil.sources.kinesis.standstill import Standstill

RECORD = RawRecord("1", 0, b"", "k")
NOON = 1_790_000_000_000


def answer(behind: int, second: int = 0, *, records: bool = False) -> Answer:
    return Answer([RECORD] if records else [], 0, "next", behind, NOON + second * 1000)


def test_five_answers_with_nothing_that_lead_no_further_are_the_end_as_of_the_first_of_the_last_five() -> None:
    found = Standstill()

    said = [found.read_through(answer(7_000, second)) - NOON for second in range(7)]

    assert said == [-7_000, -6_000, -5_000, -4_000, -1_000, 0, 1_000]


def test_answers_with_nothing_that_lead_further_are_not() -> None:
    found = Standstill()

    for second in range(20):
        found.read_through(answer(30_000 - second, second))

    assert not found.is_reached


def test_a_record_begins_it_anew() -> None:
    found = Standstill()
    for second in range(4):
        found.read_through(answer(7_000, second))

    found.read_through(answer(7_000, 4, records=True))
    found.read_through(answer(7_000, 5))

    assert not found.is_reached


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=30))
def test_what_is_read_through_is_never_later_than_the_answer(answers: list[tuple[int, bool]]) -> None:
    found = Standstill()

    for second, (behind, records) in enumerate(answers):
        given = answer(behind * 1000, second, records=records)
        assert found.read_through(given) <= given.date
