"""Rejects are in an error table once, whatever becomes of the swaps that append them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.memory.catalog import MemoryCatalog, Outcome
from tests.memory.table import MemoryRow
from tests.pipes.default.chunks import batch

from frazil.cycle.laying_out import lay_out
from frazil.errors import CatalogUnavailable, ErrorTableUnfit
from frazil.model import Column, Primitive, SourcePartition, TableName
from frazil.records.rejects import RejectReason, rejects_of
from frazil.tables.base import WritableTable
from frazil.tables.error_tables import ErrorTable
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.error_tables import REJECTS_OF, columns, mark
from frazil.tables.rules.tokens import key_of

ORDERS = TableName(("public",), "ORDERS")
ERRORS = TableName(("public",), "ORDERS_ERRORS")
_numbers = itertools.count()


class Set:
    """A table with rejects, and its error table."""

    def __init__(self, directory: Path) -> None:
        self.catalog = MemoryCatalog()
        self.catalog.create(ORDERS, [Column(1, "n", Primitive("long"))], {})
        self.table: WritableTable = self.catalog.open(ORDERS, None, None)  # type: ignore[arg-type]
        self.errors = ErrorTable(self.catalog, self.table, "SHOP", lay_out)
        self.lists: list[OutboxList] = []
        """Oldest first."""

        self._directory = directory

    def reject(self, *values: str) -> None:
        """Records of one commit are rejected."""
        number = next(_numbers)
        path = self._directory / f"rejects-{number}.parquet"
        read = pa.Table.from_batches([batch(values)])
        (found,) = rejects_of(read, "project", {row: RejectReason("no", "n") for row in range(len(values))}).tables
        pq.write_table(found, path)
        previous = self.lists[-1].path if self.lists else None
        self.lists.append(OutboxList(f"list-{number}", f"commit-{number}", (str(path),), previous, 1000))

    def append(self, lists: list[OutboxList] | None = None) -> int:
        return self.errors.append(self.lists if lists is None else lists, "shop").rows

    def rows(self) -> list[str]:
        """The values in the error table, by a reader that goes by the files of its newest version."""
        table = self.catalog.tables[ERRORS]
        paths = table.history[table.state.current_id].files if table.state.current_id else ()
        return [value.decode() for path in paths for value in pq.read_table(path).column("value").to_pylist()]


@pytest.fixture
def set_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Set:
    monkeypatch.chdir(tmp_path)
    return Set(tmp_path)


def test_each_commits_rejects_are_appended_once_in_their_order(set_: Set) -> None:
    set_.reject("a", "b")
    assert set_.append() == 2
    assert set_.append() == 0
    set_.reject("c")
    set_.reject("d")

    assert set_.append() == 2

    assert set_.rows() == ["a", "b", "c", "d"]
    assert set_.catalog.tables[ERRORS].state.property(mark("SHOP", set_.table.uuid)) == set_.lists[-1].commit


@pytest.mark.parametrize("outcome", ["lost", "never", "late"])
def test_an_append_that_nobody_knows_of_is_found_out(set_: Set, outcome: Outcome) -> None:
    set_.reject("a")
    set_.catalog.errors(ERRORS, columns(Primitive("int"), Primitive("long")), set_.table.uuid)
    set_.catalog.outcomes.append(outcome)

    if outcome == "lost":
        assert set_.append() == 1
    else:
        with pytest.raises(CatalogUnavailable, match="append to public"):
            set_.append()
        for _ in range(len(set_.catalog.flying)):
            set_.catalog.land()
    set_.append()

    assert set_.rows() == ["a"]


def test_a_rival_that_appends_the_same_at_that_moment_appends_it_instead(set_: Set) -> None:
    set_.reject("a")
    set_.reject("b")
    rival = ErrorTable(set_.catalog, set_.table, "SHOP", lay_out)
    waiting = [lambda: rival.append(set_.lists, "shop")]

    def first(request: str, name: TableName) -> None:
        if request == "build" and name == ERRORS and waiting:
            waiting.pop()()

    set_.catalog.on_table_request = first

    assert set_.append() == 0

    assert set_.rows() == ["a", "b"]


def test_what_is_there_is_not_appended_again_where_tokens_went_back(set_: Set) -> None:
    for value in "abc":
        set_.reject(value)
    set_.append()

    assert set_.append(set_.lists[:-1]) == 0

    assert set_.rows() == ["a", "b", "c"]


def test_another_connector_and_another_table_of_the_name_have_what_is_theirs(set_: Set) -> None:
    set_.reject("a")
    set_.append()

    assert ErrorTable(set_.catalog, set_.table, "OTHER", lay_out).append(set_.lists, "other").rows == 1

    assert set_.rows() == ["a", "a"]


def test_a_table_of_other_columns_is_refused_by_name(set_: Set) -> None:
    set_.reject("a")
    set_.catalog.create(ERRORS, [Column(1, "connector", Primitive("long"))], {})

    with pytest.raises(ErrorTableUnfit, match=r"it lacks, or has otherwise, connector, topic"):
        set_.append()


def test_an_error_table_is_marked_with_the_table_it_was_created_for(set_: Set) -> None:
    set_.reject("a")
    set_.append()

    assert set_.catalog.tables[ERRORS].state.property(REJECTS_OF) == set_.table.uuid


def test_a_table_in_which_records_are_landed_gets_no_rejects(set_: Set) -> None:
    set_.reject("a")
    set_.catalog.create(ERRORS, columns(Primitive("int"), Primitive("long")), {key_of("OTHER"): "tokens"})

    with pytest.raises(ErrorTableUnfit, match="records are landed in it by OTHER"):
        set_.append()


def test_an_unmarked_table_with_rows_gets_no_rejects(set_: Set) -> None:
    set_.reject("a")
    there = set_.catalog.create(ERRORS, columns(Primitive("int"), Primitive("long")), {})
    there.append(MemoryRow("", SourcePartition("orders", 0), 1))

    with pytest.raises(ErrorTableUnfit, match=f"it has rows, and the property {REJECTS_OF} does not mark it"):
        set_.append()


def test_error_tables_of_before_the_mark_are_appended_to(set_: Set) -> None:
    set_.reject("a")
    set_.append()
    set_.catalog.tables[ERRORS].set_property(REJECTS_OF, None)
    set_.reject("b")

    assert set_.append() == 1

    assert set_.rows() == ["a", "b"]


def test_columns_that_somebody_added_stay(set_: Set) -> None:
    more = (*columns(Primitive("int"), Primitive("long")), Column(99, "seen", Primitive("boolean")))
    set_.catalog.create(ERRORS, more, {})
    set_.reject("a")

    assert set_.append() == 1


def test_files_that_somebody_deleted_are_passed_over(set_: Set) -> None:
    set_.reject("a")
    set_.reject("b")
    set_.reject("c")
    for listed in (set_.lists[0], set_.lists[2]):
        Path(listed.files[0]).unlink()

    assert set_.append() == 1
    assert set_.append() == 0

    assert set_.rows() == ["b"]


def test_without_any_file_there_is_nothing_to_append(set_: Set) -> None:
    set_.reject("a")
    Path(set_.lists[0].files[0]).unlink()

    assert set_.append() == 0
    assert ERRORS not in set_.catalog.tables
