from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from tests.support.channels import at, with_channel

from frazil.cli.channels import _unsent
from frazil.connector.channels import channels_of, left_out_of, waiting_outputs_of
from frazil.connector.registered import LeftOut
from frazil.connector.states import Condition
from frazil.cycle.sending import Backlog
from frazil.cycle.table_failures import TableFailure
from frazil.errors import CatalogUnavailable
from frazil.model import ChannelStatus, Position, SourcePartition, TableName
from frazil.sources.base import Source
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, encode


class Clocked:
    """A source that knows when the records that wait were produced."""

    def __init__(self, stamps: Mapping[SourcePartition, int]) -> None:
        self._stamps = stamps
        self.asked: Mapping[SourcePartition, Position] = {}

    def oldest_timestamps(self, starts: Mapping[SourcePartition, Position]) -> Mapping[SourcePartition, int]:
        self.asked = starts
        return {each: self._stamps[each] for each in starts if each in self._stamps}


def orders(partition: int) -> SourcePartition:
    return SourcePartition("orders", partition)


def by_default(table: TableName, _: str) -> str:
    return f"{table.name}-STREAMING"


def statuses(
    tokens: Tokens, latest: Mapping[SourcePartition, Position], source: Clocked | None = None
) -> list[ChannelStatus]:
    tables = [(TableName(("public",), "ORDERS"), tokens)]
    return channels_of(
        "SHOP", tables, latest, Condition("RUNNING"), cast("Source", source) if source else None, pipe_of=by_default
    )


def held(*channels: Channel, **known: Any) -> Tokens:
    tokens = Tokens("shop", "c", "me", 3, **known)
    for number, channel in enumerate(channels):
        tokens = with_channel(tokens, orders(number), channel, "cluster", "id")
    return tokens


def test_a_channel_shows_its_token_its_counts_and_what_it_is_called() -> None:
    (status,) = statuses(held(Channel("9", 1, 8, 10, 2, 1_760_000_000_000)), {orders(0): at(10)})

    assert (status.channel, status.pipe, status.table) == ("SHOP_orders_0", "ORDERS-STREAMING", "public.ORDERS")
    assert (status.offset_token, status.latest_offset, status.lag_records, status.lag_seconds) == ("9", 9, 0, 0.0)
    assert (status.rows_inserted, status.rows_parsed, status.rows_error) == (8, 10, 2)
    assert (status.last_commit_time, status.owner_epoch) == ("2025-10-09T08:53:20.000+00:00", 3)


def test_lag_counts_what_waits_and_how_long_the_oldest_of_it_has() -> None:
    source = Clocked({orders(0): int(time.time() * 1000) - 90_000})

    waiting, idle = statuses(held(Channel("9"), Channel("4")), {orders(0): at(15), orders(1): at(5)}, source)

    assert source.asked == {orders(0): at(10)}
    assert waiting.lag_records == 5
    assert waiting.lag_seconds is not None
    assert 90 <= waiting.lag_seconds < 120
    assert (idle.lag_records, idle.lag_seconds) == (0, 0.0)


def test_what_the_broker_did_not_say_is_unknown_not_zero() -> None:
    silent, unread = statuses(held(Channel("9"), Channel("4")), {orders(1): at(8)}, Clocked({}))

    assert (silent.latest_offset, silent.lag_records, silent.lag_seconds) == (None, None, None)
    assert (unread.lag_records, unread.lag_seconds) == (3, None)


def test_a_channel_that_was_never_opened_lags_by_all_there_is() -> None:
    (status,) = statuses(held(Channel()), {orders(0): at(7)})

    assert (status.offset_token, status.lag_records) == (None, 7)


def test_the_last_error_is_shown_at_its_own_channel() -> None:
    error = {"topic": "orders", "partition": 1, "offset": 5, "column": "n", "code": "5030", "reason": "does not fit"}

    first, second = statuses(held(Channel("9"), Channel("9"), last_error=error), {})

    assert (first.last_error, second.last_error) == (None, "[5030] offset 5, column n: does not fit")


def test_the_times_of_records_that_wait_for_several_tables_are_asked_for_at_once() -> None:
    source = Clocked({orders(0): int(time.time() * 1000) - 90_000, orders(1): int(time.time() * 1000) - 30_000})
    one, two = held(Channel("9")), held(Channel("4"), Channel("4"))
    tables = [(TableName(("public",), "A"), one), (TableName(("public",), "B"), two)]

    behind, first, second = channels_of(
        "SHOP",
        tables,
        {orders(0): at(15), orders(1): at(8)},
        Condition("RUNNING"),
        cast("Source", source),
        pipe_of=by_default,
    )

    # Of two tables that wait for records of one partition, only the first are looked for.
    assert source.asked == {orders(0): at(5), orders(1): at(5)}
    assert (behind.table, behind.lag_records, behind.lag_seconds) == ("public.A", 5, None)
    assert first.lag_seconds is not None
    assert second.lag_seconds is not None
    assert first.lag_seconds >= 90 > second.lag_seconds >= 30


def test_the_channels_of_a_table_that_is_left_out_say_so_and_why() -> None:
    tables = [(TableName(("public",), name), held(Channel("9"))) for name in ("A", "B")]
    left_out = [LeftOut(("public",), "B", "RETRYING", "[catalog_unavailable] it is down", encode(held(Channel("9"))))]

    first, second = channels_of("SHOP", tables, {}, Condition("RUNNING"), None, left_out, pipe_of=by_default)

    assert (first.state, first.reason) == ("RUNNING", None)
    assert (second.state, second.reason) == ("RETRYING", "[catalog_unavailable] it is down")


def test_what_was_left_out_by_a_connector_that_has_ended_is_as_that_is() -> None:
    left_out = [LeftOut(("public",), "ORDERS", "RETRYING", "it was down", encode(held(Channel("9"))))]
    tables = [(TableName(("public",), "ORDERS"), held(Channel("9")))]

    (status,) = channels_of("SHOP", tables, {}, Condition("STOPPED"), None, left_out, pipe_of=by_default)

    assert (status.state, status.reason) == ("STOPPED", None)


def test_what_a_connector_knows_of_a_table_that_is_left_out_is_there_for_who_cannot_read_it() -> None:
    failure = TableFailure(CatalogUnavailable("read it", "gone"), 1, 5.0, held(Channel("9", 1, 8, 10, 2)))

    (left_out,) = left_out_of({TableName(("public",), "B"): failure})

    assert (left_out.table, left_out.state) == (TableName(("public",), "B"), "RETRYING")
    assert left_out.tokens == failure.tokens


def test_what_waits_to_be_sent_on_is_shown_with_the_channels_of_its_table_while_the_connector_runs() -> None:
    tables = [
        (TableName(("public",), "ORDERS"), held(Channel("9"))),
        (TableName(("public",), "OTHERS"), held(Channel("9"))),
    ]
    waiting = waiting_outputs_of({TableName(("public",), "ORDERS"): Backlog(7, 75.04)})

    running = channels_of("SHOP", tables, {}, Condition("RUNNING"), None, pipe_of=by_default, waiting_outputs=waiting)
    stopped = channels_of("SHOP", tables, {}, Condition("STOPPED"), None, pipe_of=by_default, waiting_outputs=waiting)

    assert [(each.output_files, each.output_seconds) for each in running] == [(7, 75.0), (0, None)]
    assert [(each.output_files, each.output_seconds) for each in stopped] == [(0, None), (0, None)]
    (line,) = _unsent(running)
    assert line.plain == (
        "SHOP has 7 files of accepted records of public.ORDERS to send on; the oldest has waited for 75 s"
    )
