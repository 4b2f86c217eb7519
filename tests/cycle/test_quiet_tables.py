"""Places that move although no record was read are kept in mind, and committed now and then."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from frazil.cycle import quiet_tables
from frazil.cycle.quiet_tables import QuietTables
from frazil.model import SourcePartition, StagedRange, StagedTable, TableName
from frazil.sources import kinds
from frazil.sources.base import PartitionFacts, TopicFacts
from frazil.sources.kinesis.positions import END, KinesisPosition, after
from frazil.tables.rules.tokens import Tokens

NAME = TableName(("public",), "ORDERS")
SHARD = SourcePartition("orders", "shardId-000000000000")
FACTS = {"orders": TopicFacts("orders", "aws:us-east-1:1", "1", [PartitionFacts(str(SHARD.partition))])}


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return int(self.now * 10**9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(quiet_tables, "time", found)
    return found


class Table:
    """One open table, and the cycles that stage for it."""

    def __init__(self) -> None:
        self.opened: Any = SimpleNamespace(tokens=Tokens("shop", "c", "o", 1, source=kinds.KINESIS), holds=False)
        self._quiet = QuietTables(SimpleNamespace(is_on=False))  # type: ignore[arg-type]
        self._place = after(1)

    def commits(self, covered: KinesisPosition, beside: StagedRange | None = None, **staged: Any) -> bool:
        found = StagedRange(SHARD, self._place, replace(covered, records=0), **{"read_through": 5, **staged})
        self._place = covered
        part = StagedTable(SimpleNamespace(table=NAME), (found, *([beside] if beside else [])))  # type: ignore[arg-type]
        return NAME in self._quiet.without({NAME: [part]}, {NAME: self.opened}, FACTS)


def test_a_place_that_moves_without_records_commits_once_an_hour(clock: Clock) -> None:
    table = Table()

    assert [table.commits(after(number)) for number in (2, 3)] == [False, False]
    assert table.opened.tokens.channel(SHARD).token == "3"
    assert table.opened.holds
    clock.now += 3601
    assert table.commits(after(4))
    assert not table.commits(after(5))


@pytest.mark.parametrize(
    ("covered", "staged"), [(END, {}), (after(2), {"parsed": 1, "skipped": 1}), (after(2), {"read_through": None})]
)
def test_all_else_that_moves_commits_at_once(clock: Clock, covered: KinesisPosition, staged: dict[str, Any]) -> None:
    assert Table().commits(covered, **staged)


def test_a_place_that_stays_since_nobody_answers_lets_others_of_its_table_wait(clock: Clock) -> None:
    other = SourcePartition("orders", "shardId-000000000001")
    silent = StagedRange(other, after(1), after(1), trouble="InternalFailure")

    assert not Table().commits(after(2), beside=silent)


def test_a_place_that_stays_never_commits(clock: Clock) -> None:
    table = Table()
    table.commits(after(1))
    clock.now += 3601

    assert not table.commits(after(1))
    assert not table.opened.holds
