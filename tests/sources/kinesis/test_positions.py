"""Positions in shards: their texts, their order, and what lies between them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.sources import kinds
from frazil.sources.kinesis.positions import (
    BEGINNING,
    END,
    Hints,
    KinesisPosition,
    after,
    at,
    at_record,
    at_time,
    before,
    now,
    of_offset,
)

SEQUENCE = 49_546_986_683_135_544_286_507_457_936_321_625_675_700_192_471_156_785_154

POSITIONS = st.one_of(
    st.sampled_from([BEGINNING, END]),
    st.builds(at_time, st.integers(0, 2**45)),
    st.builds(after, st.integers(0, 10**129)),
    st.builds(after, st.integers(0, 10**57), st.integers(0, 10**6)),
    st.builds(at_record, st.integers(0, 10**57)),
)


@pytest.mark.parametrize(
    ("token", "position"),
    [
        ("TRIM_HORIZON", BEGINNING),
        ("SHARD_END", END),
        ("AT_TIMESTAMP:1795482419033", at_time(1795482419033)),
        (str(SEQUENCE), after(SEQUENCE)),
        (f"{SEQUENCE}:3", after(SEQUENCE, 3)),
        (f"AT_SEQUENCE_NUMBER:{SEQUENCE}", at_record(SEQUENCE)),
    ],
)
def test_tokens_are_what_people_of_kinesis_know(token: str, position: KinesisPosition) -> None:
    assert kinds.at("kinesis", token) == position
    assert position.last == token


@given(POSITIONS)
def test_a_token_gives_its_position_back(position: KinesisPosition) -> None:
    assert at(position.last) == position
    assert pickle.loads(pickle.dumps(position)) == position


@pytest.mark.parametrize("text", ["", "latest", "12:x", "AT_TIMESTAMP:", "1.5"])
def test_other_texts_are_no_tokens(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        at(text)


def test_places_of_a_shard_are_in_order() -> None:
    places = [
        BEGINNING,
        at_time(5),
        at_time(6),
        at_record(9),
        after(9, 0),
        after(9, 1),
        after(9),
        at_record(10),
        after(10),
        after(SEQUENCE),
        now(7, None, Hints()),
        now(8, None, Hints()),
        END,
    ]

    assert sorted([*places[6:], *places[:6]]) == places
    assert len({*places}) == len(places)


def test_sequence_numbers_are_compared_as_numbers() -> None:
    assert after(9) < after(10)
    assert not after(10) < after(9)


@given(st.integers(0, 10**57), st.none() | st.integers(0, 99))
def test_a_record_lies_between_the_places_before_and_behind_it(sequence: int, sub: int | None) -> None:
    offset = str(sequence) if sub is None else f"{sequence}:{sub}"

    assert before(offset) < of_offset(offset)
    if sub:
        assert before(offset) == of_offset(f"{sequence}:{sub - 1}")
    else:
        assert before(offset) == at_record(sequence)


def test_what_had_come_by_a_moment_is_covered_by_whoever_read_through_it() -> None:
    goal = now(1000, None, Hints())

    assert not goal.covered_by(after(SEQUENCE), None)
    assert not goal.covered_by(after(SEQUENCE), 999)
    assert goal.covered_by(after(SEQUENCE), 1000)
    assert goal.covered_by(END, None)
    assert after(5).covered_by(after(5), None)
    assert not after(6).covered_by(after(5), 10**15)


def test_how_much_waits_is_what_was_counted_or_guessed() -> None:
    start = after(5)

    assert start.distance(now(1000, 70, Hints())) == 70
    assert start.distance(now(1000, None, Hints())) == 1
    assert start.distance(start) == 0
    assert after(6).distance(after(5)) == 0
    assert KinesisPosition(start.mark, 5, read_through=1000).distance(now(1000, 70, Hints())) == 0


def test_hints_and_counts_make_no_other_position() -> None:
    bare = after(5)
    told = KinesisPosition(bare.mark, 5, records=3, read_through=9, is_quiet=True, hints=Hints(iterator="secret"))

    assert told == bare
    assert hash(told) == hash(bare)
    assert "secret" not in repr(told)


def test_only_the_stream_knows_a_place_further_on() -> None:
    end = now(1000, 70, Hints())

    assert after(5).ahead(10, end) is end
    assert after(5).ahead(0, end) == after(5)
