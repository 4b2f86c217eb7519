from __future__ import annotations

from dataclasses import replace

import pytest

from frazil.errors import (
    CherryPicked,
    ClockBehind,
    Fenced,
    ShapeMoved,
    StageTooOld,
    TableReplaced,
    TokensMoved,
    TokensUncertain,
)
from frazil.model import Column, IcebergType, ListType, MapType, Primitive, StructType, TableName, WriteShape
from frazil.tables.rules.checks import Expectation, check, incompatible_change, require_clock, require_fresh
from frazil.tables.rules.state import LogEntry
from frazil.tables.rules.tokens import Tokens

from .histories import CONNECTOR, TABLE, History


def expecting(
    tokens: Tokens | None, *, owner: str = "me", epoch: int = 1, shapes: tuple[WriteShape, ...] = ()
) -> Expectation:
    return Expectation(CONNECTOR, owner, epoch, tokens.commit if tokens else None, shapes, "the-table")


def test_what_was_planned_from_is_still_there() -> None:
    history = History()
    mine = history.ours(5)
    history.foreign(operation="replace")

    assert check(history.state, TABLE, expecting(mine)) == mine


def test_a_first_open_finds_nothing_and_may_go_on() -> None:
    assert check(History().state, TABLE, expecting(None)) is None


def test_an_opener_may_take_over_with_the_next_epoch() -> None:
    history = History()
    theirs = history.ours(5, owner="them", epoch=3)

    assert check(history.state, TABLE, expecting(theirs, owner="me", epoch=4)) == theirs


def test_a_newer_opener_fences_and_is_named() -> None:
    history = History()
    mine = history.ours(5, owner="me", epoch=1)
    history.ours(5, owner="rival", epoch=2)

    with pytest.raises(Fenced, match=r"rival's host .*owner epoch 2, ours was 1"):
        check(history.state, TABLE, expecting(mine))


def test_two_that_open_at_once_take_the_same_epoch_and_the_second_is_fenced() -> None:
    history = History()
    before = history.ours(5, owner="old", epoch=1)
    history.ours(5, owner="first", epoch=2)

    with pytest.raises(Fenced, match="first"):
        check(history.state, TABLE, expecting(before, owner="second", epoch=2))


def test_a_stale_writer_is_fenced_by_a_rival_known_only_to_the_mirror() -> None:
    history = History()
    mine = history.ours(5, owner="me", epoch=1)
    history.ours(5, owner="rival", epoch=2)
    history.foreign(operation="replace")
    history.expire(1, 2)

    with pytest.raises(Fenced, match="rival"):
        check(history.state, TABLE, expecting(mine))


def test_a_commit_of_our_own_that_we_did_not_hear_of_moves_the_tokens() -> None:
    history = History()
    planned = history.ours(5)
    history.ours(9)

    with pytest.raises(TokensMoved, match=r"are of commit commit-2, .* planned from commit-1"):
        check(history.state, TABLE, expecting(planned))


def test_a_rollback_between_plan_and_swap_moves_the_tokens() -> None:
    history = History()
    history.ours(5)
    planned = history.ours(9)
    history.roll_back(to=1)

    with pytest.raises(TokensMoved):
        check(history.state, TABLE, expecting(planned))


def test_tokens_that_vanish_or_appear_are_moved_tokens() -> None:
    history = History()
    planned = history.ours(5)

    with pytest.raises(TokensMoved, match="are of commit none"):
        check(History().state, TABLE, expecting(planned))
    with pytest.raises(TokensMoved, match="planned from none"):
        check(history.state, TABLE, expecting(None))


def test_what_tokens_cannot_tell_stops_the_commit_too() -> None:
    rolled_back, picked = History(), History()
    before = rolled_back.foreign()
    planned = rolled_back.ours(5)
    rolled_back.roll_back(to=before)
    picked.ours(5)
    picked.ours(9)
    picked.roll_back(to=1)
    picked.cherry_pick(2)

    with pytest.raises(TokensUncertain):
        check(rolled_back.state, TABLE, expecting(planned))
    with pytest.raises(CherryPicked):
        check(picked.state, TABLE, expecting(planned))


def test_a_replaced_table_is_named_before_anything_else() -> None:
    history = History()
    mine = history.ours(5)
    history.ours(5, owner="rival", epoch=2)
    history.uuid = "another-table"

    with pytest.raises(TableReplaced, match=r"another-table.*the-table"):
        check(history.state, TABLE, expecting(mine))


COLUMNS = (
    Column(1, "id", Primitive("int"), required=True),
    Column(2, "ratio", Primitive("float")),
    Column(3, "price", Primitive("decimal", 9, 2)),
    Column(4, "place", StructType((Column(5, "street", Primitive("string")),))),
    Column(6, "tags", ListType(7, Primitive("int"), element_required=False)),
    Column(8, "map", MapType(9, Primitive("string"), 10, Primitive("int"), value_required=False)),
)


def changed(number: int, **changes: object) -> tuple[Column, ...]:
    return tuple(replace(each, **changes) if each.id == number else each for each in COLUMNS)  # type: ignore[arg-type]


def retyped(number: int, kind: IcebergType) -> tuple[Column, ...]:
    return changed(number, type=kind)


NEW = Column(20, "new", Primitive("string"))
STREET = Column(5, "street", Primitive("string"))


@pytest.mark.parametrize(
    "now",
    [
        COLUMNS,
        (*COLUMNS, NEW),
        tuple(reversed(COLUMNS)),
        changed(1, required=False),
        retyped(1, Primitive("long")),
        retyped(2, Primitive("double")),
        retyped(3, Primitive("decimal", 38, 2)),
        retyped(4, StructType((STREET, NEW))),
        retyped(6, ListType(7, Primitive("long"), element_required=False)),
    ],
)
def test_added_optional_columns_and_promotions_pass(now: tuple[Column, ...]) -> None:
    assert incompatible_change(COLUMNS, now) is None


@pytest.mark.parametrize(
    ("now", "change"),
    [
        (COLUMNS[1:], "column id was dropped"),
        (changed(2, name="quota"), "column ratio was renamed to quota"),
        (changed(2, name="RATIO"), "column ratio was renamed to RATIO"),
        (changed(2, id=21), "column ratio was dropped"),
        (changed(2, required=True), "column ratio became NOT NULL"),
        ((*COLUMNS, replace(NEW, required=True)), "column new was added and is NOT NULL"),
        (retyped(1, Primitive("string")), "column id: its type int became string"),
        (retyped(2, Primitive("int")), "column ratio: its type float became int"),
        (retyped(3, Primitive("decimal", 9, 3)), "its type decimal(9,2) became decimal(9,3)"),
        (retyped(3, Primitive("decimal", 8, 2)), "its type decimal(9,2) became decimal(8,2)"),
        (retyped(4, StructType(())), "column place: column street was dropped"),
        (retyped(4, StructType((STREET, replace(NEW, required=True)))), "column place: column new was added"),
        (retyped(4, Primitive("string")), "became string"),
        (retyped(6, ListType(7, Primitive("string"), element_required=False)), "its type int became string"),
        (retyped(6, ListType(77, Primitive("int"), element_required=False)), "column tags"),
        (retyped(6, ListType(7, Primitive("int"), element_required=True)), "column tags"),
        (retyped(8, MapType(9, Primitive("string"), 10, Primitive("long"), value_required=False)), "column map"),
    ],
)
def test_every_other_change_of_the_columns_stages_again(now: tuple[Column, ...], change: str) -> None:
    found = incompatible_change(COLUMNS, now)

    assert found
    assert change in found


STAGED = WriteShape(TableName(("public",), "ORDERS"), "the-table", 0, 0, 0, COLUMNS, has_rows=True, evolves=False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec_id": 1}, "partition spec 0 became 1"),
        ({"sort_order_id": 1}, "sort order 0 became 1"),
        ({"schema_id": 1, "schema": COLUMNS[1:]}, "column id was dropped"),
    ],
)
def test_files_staged_for_another_shape_are_not_committed(change: dict[str, object], reason: str) -> None:
    history = History(schema=COLUMNS)
    mine = history.ours(5)
    now = replace(history.state, **change)  # type: ignore[arg-type]

    with pytest.raises(ShapeMoved, match=reason):
        check(now, TABLE, expecting(mine, shapes=(STAGED,)))
    assert check(now, TABLE, expecting(mine)) == mine  # a commit without files does not care


def test_files_staged_for_an_older_schema_pass_where_only_columns_were_added() -> None:
    history = History(schema=(*COLUMNS, NEW))
    mine = history.ours(5)

    assert check(replace(history.state, schema_id=3), TABLE, expecting(mine, shapes=(STAGED,))) == mine


def test_what_was_staged_may_be_as_old_as_the_setting_says_and_no_older() -> None:
    staged = replace(expecting(None), staged_at=1000.0, max_age=3600.0)

    require_fresh(TABLE, staged, 4600.0)
    with pytest.raises(StageTooOld, match=r"begun 3601 s ago, and frazil.stage.max.age is 3600 s"):
        require_fresh(TABLE, staged, 4601.0)


def test_a_commit_that_only_opens_has_no_age() -> None:
    require_fresh(TABLE, expecting(None), 1e12)


@pytest.mark.parametrize("behind", ["the last change of main", "the version"])
def test_a_clock_more_than_a_minute_behind_the_table_is_refused_with_both_times(behind: str) -> None:
    history = History()
    history.foreign()
    state = replace(history.state, last_updated=1_760_000_100_000)
    if behind == "the last change of main":
        state = replace(state, last_updated=0, snapshot_log=(LogEntry(1_760_000_100_000, 1),))

    require_clock(state, TABLE, 1_760_000_040.0)
    with pytest.raises(ClockBehind, match=rf"says 2025-10-09T08:53:59Z, but the table {TABLE} .* 2025-10-09T08:55:00Z"):
        require_clock(state, TABLE, 1_760_000_039.999)
