"""Channels of streams: what is known of a shard is by when it was read, and how long its records are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

import pytest
from rich.console import Console

from frazil.cli.channels import _shown
from frazil.connector.channels import channels_of
from frazil.connector.states import Condition
from frazil.model import ChannelStatus, Position, SourcePartition, TableName
from frazil.sources.base import Held, Source, TopicFacts
from frazil.sources.kinesis.positions import END, Hints, after, now
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens

NOW = 1_800_000_000_000
HOUR = 3_600_000
SHARD = SourcePartition("orders", "shardId-000000000000")
ENDS = {SHARD: now(NOW, 1000, Hints())}


class Service:
    """A stream that keeps its records for a day, and may have one that waits."""

    def __init__(self, oldest: int | None = None) -> None:
        self._oldest = oldest

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        return {} if self._oldest is None else dict.fromkeys(starts, self._oldest)

    def facts(self, topics: Collection[str]) -> Mapping[str, TopicFacts]:
        return {each: TopicFacts(each, "aws", "1", (), NOW, 24 * HOUR) for each in topics}


def status(
    channel: Channel,
    ends: Mapping[SourcePartition, Position] = ENDS,
    service: Service | None = None,
    held: Mapping[SourcePartition, Held] | None = None,
    application: str | None = None,
) -> ChannelStatus:
    topics = {"orders": TopicTokens("aws", "1", {SHARD.partition: channel})}
    tokens = Tokens("shop", "commit", "owner", 1, topics=topics, source="kinesis")
    (found,) = channels_of(
        "SHOP",
        [(TableName(("public",), "ORDERS"), tokens)],
        ends,
        Condition("RUNNING"),
        cast("Source", service or Service()),
        held=held or {},
        pipe_of=lambda table, _: table.name,
        application=application,
    )
    return found


def test_a_channel_is_called_by_its_shard_and_shows_by_when_it_is_read() -> None:
    found = status(Channel("7", read_through=NOW - 6 * HOUR))

    assert (found.channel, found.partition) == ("SHOP_orders_shardId-000000000000", "shardId-000000000000")
    assert (found.offset_token, found.latest_offset) == ("7", None)
    assert found.read_through == "2027-01-15T02:00:00.000+00:00"
    assert found.retention_used == 0.25


def test_a_channel_says_as_whom_its_stream_is_read_where_that_is_known() -> None:
    assert status(Channel("7"), application="Shop's").application == "Shop's"
    assert status(Channel("7")).application is None


def test_how_many_records_wait_is_unknown_unless_none_does() -> None:
    assert status(Channel("7", read_through=NOW - 1)).lag_records is None
    assert status(Channel("7", read_through=NOW)).lag_records == 0
    assert status(Channel("SHARD_END", closed=True), {SHARD: END}).lag_records == 0


def test_how_long_the_record_behind_the_token_waits_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.connector.channels.time.time", lambda: NOW / 1000)
    behind = Channel("7", read_through=NOW - HOUR)

    assert status(behind, service=Service(oldest=NOW - 90_000)).lag_seconds == 90.0
    assert status(behind, service=Service()).lag_seconds == 0.0, "nothing was found behind it"
    assert status(Channel("7", read_through=NOW)).lag_seconds == 0.0
    assert status(behind, {}).lag_seconds is None, "nobody answered"


def test_a_shard_that_is_read_to_its_end_uses_no_retention() -> None:
    found = status(Channel("SHARD_END", closed=True, read_through=NOW - 30 * HOUR), {SHARD: END})

    assert (found.retention_used, found.lag_seconds) == (None, 0.0)


def test_a_shard_that_is_held_says_so_and_why() -> None:
    found = status(Channel("7", read_through=NOW), held={SHARD: Held("KMSDisabledException")})

    assert (found.state, found.reason) == ("HELD", "KMSDisabledException")


def test_a_shard_that_gives_no_answer_is_tried_again_and_says_why() -> None:
    found = status(Channel("7", read_through=NOW), held={SHARD: Held("InternalFailure", passes=True)})

    assert (found.state, found.reason) == ("RETRYING", "InternalFailure")


def test_where_half_of_the_retention_is_used_a_line_warns() -> None:
    near = status(Channel("7", read_through=NOW - 12 * HOUR))
    far = status(Channel("8", read_through=NOW - 11 * HOUR))

    assert "50% of the time for which its stream keeps records has passed" in printed(near)
    assert "keeps records" not in printed(far)


def test_a_position_between_others_is_none_of_a_record_that_is_known() -> None:
    assert status(Channel("7"), {SHARD: after(9)}).latest_offset == "9"


def printed(found: ChannelStatus) -> str:
    console = Console(width=400)
    with console.capture() as output:
        console.print(_shown([found]))
    return output.get()
