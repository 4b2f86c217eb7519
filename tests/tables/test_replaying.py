"""Replayed records are in the table once, and in its ledger, whatever becomes of the swaps that append them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.catalog import MemoryCatalog, Outcome
from tests.memory.table import MemoryFile, MemoryRow

from frazil.errors import CommitUnknown, ShapeMoved
from frazil.model import Column, Primitive, RecordPlace, SourcePartition, StagedFile, TableName
from frazil.sources import kinds
from frazil.tables.base import WritableTable
from frazil.tables.replaying import LedgerMoved, OpenLedger, Replay, append, ledger_in
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, TopicTokens, encode, key_of

ORDERS = TableName(("public",), "ORDERS")
PARTITION = SourcePartition("orders", 0)
_files = iter(range(10**6))


class Lake:
    """A table of which a connector has read the offsets up to 9."""

    def __init__(self) -> None:
        self.catalog = MemoryCatalog()
        self.catalog.create(ORDERS, [Column(1, "n", Primitive("long"))], {})
        self.read_up_to(9)

    def opened(self) -> WritableTable:
        return self.catalog.open(ORDERS, None, None)  # type: ignore[arg-type]

    def read_up_to(self, offset: int) -> None:
        """The connector commits."""
        swap = self.opened().begin()
        topics = {"orders": TopicTokens("", "", {0: Channel(token=str(offset))})}
        tokens = Tokens("shop", f"commit-{offset}", "owner", 1, swap.base.next_sequence_number, topics)
        swap.build([], key_of("SHOP"), encode(tokens), {})
        swap.swap()

    def rows(self) -> list[int]:
        table = self.catalog.tables[ORDERS]
        paths = table.history[table.state.current_id].files if table.state.current_id else ()
        return sorted(row.offset for path in paths for row in self.catalog.files.data[path].rows)

    def replay(self, offsets: Collection[int], known: OpenLedger | None = None, **others: Any) -> set[int]:
        """Replay what the ledger lacks, as a process would that had read it as `known`; what that was."""
        table = self.opened()
        known = known or ledger_in(table, table.state(), "SHOP")
        left = {offset for offset in offsets if (PARTITION, offset) not in known.ledger}
        places: set[RecordPlace] = {(PARTITION, offset) for offset in left}
        path = table.new_data_path(f"replay-{next(_files)}.parquet")
        rows = tuple(MemoryRow("SHOP", PARTITION, offset) for offset in sorted(left))
        self.catalog.files.data[path] = MemoryFile(rows)
        shape = replace(table.shape(), **others)
        append(table, Replay("SHOP", places, [StagedFile(path, len(rows), 1)], [shape], known, {}))
        return left

    def ledger(self) -> set[int]:
        table = self.opened()
        return {*ledger_in(table, table.state(), "SHOP").ledger.offsets.get(PARTITION, ())}


@pytest.fixture
def lake() -> Lake:
    return Lake()


@given(st.lists(st.tuples(st.sets(st.integers(0, 9)), st.sampled_from(["told", "lost", "never", "late"]))))
def test_however_often_and_with_whatever_luck_records_are_replayed_each_is_there_once(
    tries: list[tuple[set[int], Outcome]],
) -> None:
    lake = Lake()
    certain: set[int] = set()
    for offsets, outcome in tries:
        lake.catalog.outcomes.append(outcome)
        try:
            lake.replay(offsets)
            certain |= offsets
        except CommitUnknown:
            if lake.catalog.flying and len(offsets) % 2:
                lake.catalog.land()
        lake.catalog.outcomes.clear()
    while lake.catalog.flying:
        lake.catalog.land()

    assert lake.rows() == sorted(lake.ledger())
    assert certain <= lake.ledger()


def test_whoever_decided_by_an_older_ledger_appends_nothing(lake: Lake) -> None:
    table = lake.opened()
    known = ledger_in(table, table.state(), "SHOP")
    lake.replay({3})

    with pytest.raises(LedgerMoved):
        lake.replay({3, 4}, known)

    assert lake.rows() == [3]


def test_a_commit_of_the_connector_in_between_moves_no_ledger(lake: Lake) -> None:
    waiting = [lambda: lake.read_up_to(12)]

    def first(request: str, name: TableName) -> None:
        if request == "build" and waiting:
            waiting.pop()()

    lake.catalog.on_table_request = first

    assert lake.replay({3}) == {3}

    assert (lake.rows(), waiting) == ([3], [])


def test_a_record_that_the_connector_is_to_read_is_not_replayed(lake: Lake) -> None:
    with pytest.raises(LedgerMoved):
        lake.replay({10})
    lake.read_up_to(2)
    with pytest.raises(LedgerMoved):
        lake.replay({3})

    assert lake.rows() == []


def test_rows_for_other_columns_are_refused(lake: Lake) -> None:
    with pytest.raises(ShapeMoved):
        lake.replay({3}, schema_id=7, columns=(Column(9, "gone", Primitive("long")),))

    assert (lake.rows(), lake.ledger()) == ([], set())


def test_the_connector_finds_its_tokens_below_a_replay(lake: Lake) -> None:
    lake.replay({3})

    lake.read_up_to(20)

    assert (lake.rows(), lake.ledger()) == ([3], {3})
    assert kinds.at("kafka", "20").first == 21
