"""What a connector reports of keys without a column, however many there are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import structlog
from tests.cycle.memory import settings

from frazil.cycle.warnings_log import WarningsLog
from frazil.model import StagedTable, TableName, WriteShape
from frazil.records.dropped import OTHER

ORDERS = TableName(("public",), "ORDERS")
SHAPE = WriteShape(ORDERS, "u", 0, 0, 0, (), has_rows=True, evolves=False)


@pytest.fixture
def known() -> WarningsLog:
    return WarningsLog(settings())


def staged(dropped: Mapping[str, int]) -> list[StagedTable]:
    return [StagedTable(SHAPE, (), dropped=dropped)]


def test_a_key_is_counted_each_time_and_reported_once(known: WarningsLog) -> None:
    with structlog.testing.capture_logs() as lines:
        known.committed(ORDERS, staged({"late": 2}))
        known.committed(ORDERS, staged({"late": 3, "new": 1}))

    assert known.dropped == {"public.ORDERS.late": 5, "public.ORDERS.new": 1}
    assert [line["key"] for line in lines] == ["late", "new"]


def test_keys_made_up_record_by_record_flood_neither_the_log_nor_the_memory(known: WarningsLog) -> None:
    with structlog.testing.capture_logs() as lines:
        for chunk in range(20):
            known.committed(ORDERS, staged({f"{chunk}-{number}": 1 for number in range(1000)}))

    assert len(known.dropped) == 1001
    # Twenty by name and a line for the others; later all are one key more.
    assert len(lines) == 22
    assert known.dropped.total() == 20_000
    assert known.dropped[OTHER] == 19_000


def test_a_long_key_is_reported_by_its_beginning(known: WarningsLog) -> None:
    known.committed(ORDERS, staged({"x" * 1_000_000: 1}))

    (key,) = known.dropped
    assert len(key) < 400
