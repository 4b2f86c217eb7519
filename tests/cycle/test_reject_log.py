from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from frazil.cycle.reject_log import RejectLog
from frazil.model import Reject, RejectKind, SourcePartition
from frazil.staging.rejects import OTHER


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def kind(
    count: int = 1, column: str | None = "n", offset: int = 7, reason: str = "… is not a whole number"
) -> RejectKind:
    shown = reason.replace("…", "'1.5'")
    first = Reject(SourcePartition("orders", 0), offset, 1, None, b'{"n": 1.5}', (), "project", "5030", shown, column)
    return RejectKind("5030", column, reason, count, first)


def lines(log: RejectLog) -> list[dict[str, Any]]:
    with capture_logs() as logged:
        log.look()
    return [dict(line) for line in logged]


def test_the_first_rejects_of_a_kind_are_logged_at_once_without_what_they_hold(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    log.add("public.ORDERS", [kind(3)])

    assert lines(log) == [
        {
            "event": "records were rejected",
            "log_level": "error",
            "connector": "shop",
            "table": "public.ORDERS",
            "code": "5030",
            "column": "n",
            "reason": "… is not a whole number",
            "count": 3,
            "first": "orders-0 at offset 7",
        }
    ]


def test_with_messages_the_line_shows_what_the_first_record_holds(clock: Clock) -> None:
    log = RejectLog("shop", values=True, clock=clock)
    log.add("public.ORDERS", [kind()])

    (line,) = lines(log)
    assert (line["reason"], line["value"]) == ("'1.5' is not a whole number", '{"n": 1.5}')


def test_a_kind_is_logged_at_most_once_a_minute_and_the_next_line_counts_what_came_since(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    log.add("t", [kind(offset=1)])
    assert len(lines(log)) == 1

    for second in range(1, 60):
        clock.now = float(second)
        log.add("t", [kind(10, offset=second * 10)])
        assert lines(log) == []
    clock.now = 60.0

    (line,) = lines(log)
    assert (line["count"], line["first"]) == (590, "orders-0 at offset 10")


def test_each_column_and_each_reason_has_a_line_of_its_own(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    log.add("t", [kind(), kind(column="m"), kind(reason="the column must not be NULL")])
    log.add("u", [kind()])

    assert [(line["table"], line["column"], line["reason"]) for line in lines(log)] == [
        ("t", "n", "… is not a whole number"),
        ("t", "m", "… is not a whole number"),
        ("t", "n", "the column must not be NULL"),
        ("u", "n", "… is not a whole number"),
    ]


def test_what_came_last_is_logged_when_the_log_is_closed(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    log.add("t", [kind()])
    log.look()
    log.add("t", [kind(4)])

    with capture_logs() as logged:
        log.close()
        log.close()

    assert [line["count"] for line in logged] == [4]


def test_kinds_without_number_are_counted_together(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    for number in range(1000):
        log.add("t", [kind(column=f"c{number}")])

    logged = lines(log)
    assert len(logged) <= 201
    assert sum(line["count"] for line in logged) == 1000
    assert (logged[-1]["column"], logged[-1]["reason"]) == (None, OTHER)


def test_kinds_that_are_over_make_room_for_others(clock: Clock) -> None:
    log = RejectLog("shop", values=False, clock=clock)
    log.add("t", [kind(column=f"c{number}") for number in range(200)])
    log.look()
    clock.now = 61.0
    log.look()

    log.add("t", [kind(column="new")])

    assert [line["column"] for line in lines(log)] == ["new"]
