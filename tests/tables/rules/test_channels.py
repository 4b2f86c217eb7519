"""What tokens say of channels, written in columns: any ids, and many of them in little room."""

from __future__ import annotations

import random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.model import PartitionId
from frazil.tables.rules.channels import Channel, decode, encode
from frazil.tables.rules.tokens import Tokens, TopicTokens
from frazil.tables.rules.tokens import decode as tokens_of
from frazil.tables.rules.tokens import encode as text_of

some = st.integers(0, 2**60)
channel = st.builds(
    Channel,
    token=st.none() | st.text(),
    leader_epoch=st.none() | some,
    inserted=some,
    parsed=some,
    errors=some,
    time=st.none() | some,
    lost=some,
    closed=st.booleans(),
    parents=st.lists(st.text(), max_size=2).map(tuple),
    read_through=st.none() | some,
)


def written(channels: dict[PartitionId, Channel]) -> dict[PartitionId, Channel]:
    """Channels as they come back from what was written."""
    return decode(orjson.loads(orjson.dumps(encode(channels))))


@given(st.dictionaries(st.text(), channel, max_size=4))
def test_channels_of_any_names_are_read_back_in_their_order(channels: dict[PartitionId, Channel]) -> None:
    found = written(channels)

    assert found == channels
    assert list(found) == list(channels)


@given(st.dictionaries(st.integers(0, 9), channel, max_size=4))
def test_channels_by_number_are_read_back_with_those_between_them_never_opened(
    channels: dict[PartitionId, Channel],
) -> None:
    every = range(max((int(each) + 1 for each in channels), default=0))

    assert written(channels) == {number: channels.get(number, Channel()) for number in every}


def test_numbers_are_places_and_names_stand_beside_them() -> None:
    assert encode({0: Channel("7"), 2: Channel("9")}) == {"tokens": [7, None, 9]}
    assert encode({"shard-2": Channel("7"), "shard-0": Channel()}) == {
        "ids": ["shard-2", "shard-0"],
        "tokens": [7, None],
    }


def test_a_column_is_written_once_one_channel_has_something_in_it() -> None:
    ended = Channel("9", closed=True, parents=("a", "b"), read_through=1_760_000_000_000)

    assert encode({"c": ended, "d": Channel("4", inserted=6, parsed=9, errors=1)}) == {
        "ids": ["c", "d"],
        "tokens": [9, 4],
        "closed": [True, False],
        "parents": [("a", "b"), ()],
        "read-through": [1_760_000_000_000, None],
        "parsed": [0, 9],
        "errors": [0, 1],
        "skipped": [0, 2],
    }


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"tokens": None},
        {"tokens": ["7"], "ids": ["a", "b"]},
        {"tokens": ["7"], "time": 5, "behind": []},
        {"tokens": ["7"], "skipped": []},
    ],
)
def test_columns_of_different_lengths_are_refused(document: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode(document)


def test_a_thousand_partitions_take_no_more_than_a_summary_has_room_for() -> None:
    chance = random.Random(7)
    channels: dict[PartitionId, Channel] = {}
    for number in range(1000):
        offset, bad = chance.randrange(10**6, 10**7), int(chance.randrange(100) == 0)
        # Most were moved by the last commit; a cluster's partitions have had few elections.
        time = 1_760_000_000_000 - 1000 * int(chance.randrange(10) == 0)
        channels[number] = Channel(str(offset), chance.randrange(2), offset + 1 - bad, offset + 1, bad, time)
    tokens = Tokens("orders to the lake", "c", "o", 7, topics={"orders": TopicTokens("cluster", "id", channels)})

    text = text_of(tokens)

    assert tokens_of(text) == tokens
    assert len(text) <= 12_000
