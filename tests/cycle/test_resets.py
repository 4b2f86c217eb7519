from __future__ import annotations

from typing import Any

import pytest
from tests.support.channels import at, topic, with_channel

from frazil.cycle.resets import Move, after, chosen, moves
from frazil.errors import ResetRefused
from frazil.model import SourcePartition
from frazil.sources.kinesis import positions as kinesis
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens

NOW = 1_760_000_000_000
FACTS = {"orders": topic("orders", "cluster", "id", 2), "more": topic("more", "cluster", "id-2", 1)}


def orders(partition: int) -> SourcePartition:
    return SourcePartition("orders", partition)


def held(**known: Any) -> Tokens:
    """Two channels of orders, at 10 and at 5, and one of another topic."""
    tokens = Tokens("shop", "c", "o", 3, **known)
    tokens = with_channel(tokens, orders(0), Channel("9", 4, 8, 10, 2, 1), "cluster", "id")
    tokens = with_channel(tokens, orders(1), Channel("4", 4, 5, 5, 0, 1), "cluster", "id")
    return with_channel(tokens, SourcePartition("more", 0), Channel("7"), "cluster", "id-2")


def test_going_back_reads_again_and_going_forth_skips() -> None:
    back, forth = moves(held(), {orders(0): at(2), orders(1): at(8)}, FACTS)

    assert (back.before, back.after, back.again, back.skipped) == (at(10), at(2), 8, 0)
    assert (forth.before, forth.after, forth.again, forth.skipped) == (at(5), at(8), 0, 3)
    assert "8 offsets are read again" in back.meaning
    assert "3 offsets are skipped" in forth.meaning


def test_a_partition_that_was_never_read_would_have_begun_at_0() -> None:
    (move,) = moves(
        with_channel(Tokens("shop", "c", "o", 1), orders(0), Channel("9"), "cluster", "id"), {orders(1): at(6)}, FACTS
    )

    assert (move.before, move.skipped) == (at(0), 6)


@pytest.mark.parametrize(
    ("target", "meaning"),
    [
        (kinesis.BEGINNING, "those behind it are read again; rows of them come a second time"),
        (kinesis.at_time(NOW - 1), "those behind it are read again; rows of them come a second time"),
        (kinesis.at_time(NOW + 1), "what is before it and not read yet is skipped"),
        (kinesis.END, "what is before it and not read yet is skipped"),
        (kinesis.after(9), "no other offset"),
    ],
)
def test_in_a_shard_a_place_is_before_or_after_another_by_when_what_had_come_was_read(
    target: kinesis.KinesisPosition, meaning: str
) -> None:
    shard = SourcePartition("orders", "shardId-000000000000")
    tokens = Tokens("shop", "c", "o", 3, source="kinesis")
    tokens = with_channel(tokens, shard, Channel("9", read_through=NOW), "cluster", "id")

    (move,) = moves(tokens, {shard: target}, FACTS)

    assert (move.meaning, move.again, move.skipped) == (meaning, None, None)


def test_only_the_channels_that_move_change_and_their_counts_stay() -> None:
    tokens = after(held(), [Move(orders(0), at(10), at(2))], FACTS, NOW)

    assert tokens.channel(orders(0)) == Channel("1", None, 8, 10, 2, NOW)
    assert tokens.channel(orders(1)) == held().channel(orders(1))
    assert tokens.topics["more"] == held().topics["more"]


@pytest.mark.parametrize(("partition", "left"), [(0, False), (1, True)])
def test_the_last_error_goes_with_its_channel(partition: int, left: bool) -> None:
    error = {"topic": "orders", "partition": partition, "offset": 3, "column": None, "code": "5015", "reason": "bad"}

    tokens = after(held(last_error=error), [Move(orders(0), at(10), at(2))], FACTS, NOW)

    assert (tokens.last_error is not None) == left


def test_all_channels_of_a_topic_are_those_it_has_now() -> None:
    facts = {**FACTS, "orders": topic("orders", "cluster", "id", 3)}

    assert chosen(held(), facts, ["orders", "gone"], None) == [orders(0), orders(1), orders(2)]
    assert chosen(held(), facts, ["orders"], orders(1)) == [orders(1)]


def test_a_topic_made_again_is_taken_as_it_is_now_with_all_of_its_channels() -> None:
    facts = {"orders": topic("orders", "another", "new-id", 1)}

    done = moves(held(), {orders(0): at(0)}, facts)
    tokens = after(held(), done, facts, NOW)

    assert (done[0].before, done[0].again, done[0].skipped) == (None, 0, 0)
    assert (tokens.topics["orders"].cluster, tokens.topics["orders"].id) == ("another", "new-id")
    assert tokens.topics["orders"].channels == {0: Channel("-1", None, 8, 10, 2, NOW)}


def test_one_channel_of_a_topic_made_again_cannot_be_reset_without_the_others() -> None:
    facts = {"orders": topic("orders", "cluster", "new-id", 2)}

    with pytest.raises(ResetRefused, match="frazil channels reset shop --topic orders"):
        chosen(held(), facts, ["orders"], orders(0))
    alone = {"orders": topic("orders", "cluster", "new-id", 1)}
    assert chosen(held(), alone, ["orders"], orders(0)) == [orders(0)]


def test_a_partition_that_the_broker_does_not_have_cannot_be_reset() -> None:
    with pytest.raises(ResetRefused, match="orders-5"):
        chosen(held(), FACTS, ["orders"], orders(5))


@pytest.mark.parametrize(
    ("source", "said"), [("kafka", "the broker has no orders-7"), ("kinesis", "Kinesis has no orders-7")]
)
def test_a_channel_that_is_not_there_is_missed_by_who_was_asked(source: str, said: str) -> None:
    with pytest.raises(ResetRefused, match=said):
        chosen(held(source=source), FACTS, ["orders"], orders(7))
