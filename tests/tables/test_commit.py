"""A commit whose answer is wrong or missing is looked for by its id; it is found, or nothing happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.memory import MemoryCatalog
from tests.memory.catalog import MemorySwap, MemoryTarget
from tests.support.channels import with_channel

from frazil.errors import CatalogUnavailable, CommitUnknown, Fenced, SchemaRace
from frazil.model import Column, Conversion, Primitive, SourcePartition, StagedFile, TableName, WriteShape
from frazil.tables.base import OutcomeUnknown, RaceLost
from frazil.tables.commit import Committed, commit
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.tokens import Tokens, read

NAME = TableName(("public",), "ORDERS")


@pytest.fixture
def catalog() -> MemoryCatalog:
    return MemoryCatalog()


@pytest.fixture
def table(catalog: MemoryCatalog) -> MemoryTarget:
    return catalog.open(NAME, {}, Conversion())


def append(
    table: MemoryTarget,
    commit_id: str,
    after: str | None = None,
    *,
    owner: str = "me",
    epoch: int = 1,
    shapes: tuple[WriteShape, ...] = (),
) -> Committed:
    """Commit one file, as the owner of the table."""
    tokens = with_channel(
        Tokens("shop", commit_id, owner, epoch, opener="here"), SourcePartition("orders", 0), Channel("9"), "c", "t"
    )
    path = table._table.write(())
    expected = Expectation("SHOP", owner, epoch, after, shapes, table.uuid)
    return commit(table, [StagedFile(path, 1, 1, {})], tokens, expected)


def committed(table: MemoryTarget) -> str | None:
    """The commit whose tokens the table has."""
    table._catalog.on_request = lambda _: None
    table.refresh()
    tokens = read(table.state(), str(NAME), "SHOP")
    return tokens.commit if tokens else None


def swapping(monkeypatch: pytest.MonkeyPatch, swap: Callable[[MemorySwap, Callable[[], object]], object]) -> None:
    """Have swaps go through `swap`, which gets what they would do."""
    real = MemorySwap.swap
    monkeypatch.setattr(MemorySwap, "swap", lambda each: swap(each, lambda: real(each)))


def fail_when(catalog: MemoryCatalog, request: str) -> None:
    """Have the catalog not answer that request any more."""

    def answer(asked: str) -> None:
        if asked == request:
            raise CatalogUnavailable(f"read the table {NAME}", "connection refused")

    catalog.on_request = answer


def test_a_race_lost_against_a_repeated_request_of_its_own_was_won(
    table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repeated(_: MemorySwap, swap: Callable[[], object]) -> object:
        swap()
        raise RaceLost

    swapping(monkeypatch, repeated)
    done = append(table, "first")

    assert (done.tokens.commit, committed(table)) == ("first", "first")
    assert len(table._table.history) == 1


def test_a_lost_answer_is_found(catalog: MemoryCatalog, table: MemoryTarget) -> None:
    catalog.outcomes.append("lost")

    assert append(table, "first").tokens.commit == committed(table) == "first"
    assert len(table._table.history) == 1


def test_what_never_happened_is_not_found(catalog: MemoryCatalog, table: MemoryTarget) -> None:
    catalog.outcomes.append("never")

    with pytest.raises(CommitUnknown, match="it is not in the table"):
        append(table, "first")

    assert committed(table) is None


def test_a_table_that_cannot_be_read_after_a_lost_answer_leaves_it_unknown(
    catalog: MemoryCatalog, table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_: MemorySwap, swap: Callable[[], object]) -> object:
        swap()
        fail_when(catalog, "refresh")
        raise OutcomeUnknown("the connection was reset")

    swapping(monkeypatch, lost)
    with pytest.raises(CommitUnknown, match=r"the connection was reset.*connection refused.*cannot be read"):
        append(table, "first")

    assert committed(table) == "first"


def test_a_commit_that_cannot_be_read_back_happened(
    catalog: MemoryCatalog, table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(_: MemorySwap, swap: Callable[[], object]) -> object:
        made = swap()
        fail_when(catalog, "refresh")
        return made

    swapping(monkeypatch, told)

    assert append(table, "first").tokens.commit == "first"
    assert committed(table) == "first"


def test_a_writer_that_was_overtaken_adds_nothing(catalog: MemoryCatalog, table: MemoryTarget) -> None:
    append(table, "first")
    rival = catalog.open(NAME, None, Conversion())
    append(rival, "second", after="first", owner="rival", epoch=2)

    with pytest.raises(Fenced):
        append(table, "stale", after="first")

    assert committed(table) == "second"
    assert len(table._table.history) == 2


def test_columns_that_change_at_the_moment_of_a_commit_are_told_of_and_the_commit_stands(
    table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a REST catalog, which puts an append on top of whatever schema it finds."""
    table._table.reshape([Column(1, "item", Primitive("string"))])
    table.refresh()

    def swap(each: MemorySwap, real: Callable[[], object]) -> object:
        made = real()
        table._table.rename_column("item", "thing")
        each.made = table._table.state
        return made

    swapping(monkeypatch, swap)

    with pytest.raises(SchemaRace, match="item was renamed to thing"):
        append(table, "first", shapes=(table.shape(),))
    assert committed(table) == "first"


@pytest.mark.parametrize("answer", [RaceLost, OutcomeUnknown])
def test_such_columns_are_told_of_where_the_answer_was_lost_too(
    table: MemoryTarget, monkeypatch: pytest.MonkeyPatch, answer: type[Exception]
) -> None:
    table._table.reshape([Column(1, "item", Primitive("string"))])
    table.refresh()

    def swap(each: MemorySwap, real: Callable[[], object]) -> object:
        each.whole = False
        real()
        table._table.rename_column("item", "thing")
        raise answer("the connection was reset")

    swapping(monkeypatch, swap)

    with pytest.raises(SchemaRace, match="item was renamed to thing"):
        append(table, "first", shapes=(table.shape(),))
    assert committed(table) == "first"
    assert len(table._table.history) == 1


def test_columns_that_change_after_a_commit_whose_answer_was_lost_do_no_harm(
    table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    table._table.reshape([Column(1, "item", Primitive("string"))])
    table.refresh()

    def swap(_: MemorySwap, real: Callable[[], object]) -> object:
        real()
        table._table.rename_column("item", "thing")
        raise OutcomeUnknown("the connection was reset")

    swapping(monkeypatch, swap)

    assert append(table, "first", shapes=(table.shape(),)).tokens.commit == committed(table) == "first"


def test_optional_columns_that_are_added_at_the_moment_of_a_commit_do_no_harm(
    table: MemoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    table._table.reshape([Column(1, "item", Primitive("string"))])
    table.refresh()

    def swap(each: MemorySwap, real: Callable[[], object]) -> object:
        made = real()
        table._table.add_column("other", Primitive("string"))
        table._table.change_spec()
        each.made = table._table.state
        return made

    swapping(monkeypatch, swap)

    assert append(table, "first", shapes=(table.shape(),)).tokens.commit == "first"
