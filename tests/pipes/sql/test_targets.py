"""A pipe's items go to the columns they went to when it was created, whatever becomes of the table meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pipes.default.chunks import Worker, column, columns
from tests.pipes.sql.landing import compiled, create, land

from frazil.errors import InvalidQuery
from frazil.model import Column, PipeTarget
from frazil.pipes.stored import StoredPipe

PERSON = columns(first="string", last="string", mail="string", phone="string")
FIRST, LAST, MAIL, PHONE = PERSON
ADDED = replace(column("title", "string"), id=9)

ITEMS = "$1:first, $1:last, $1:mail"
RECORD = '{"first": "Alan", "last": "Turing", "mail": "alan@x"}'


def landed(worker: Worker, sql: str, created: tuple[Column, ...], now: tuple[Column, ...]) -> dict[str, object]:
    """The row of a record through a pipe that was created for other columns, by column."""
    targets = compiled(sql, created).targets
    (row,) = land(worker, sql, now, RECORD, targets=targets).rows
    return {each.name: value for each, value in zip(now, row, strict=True) if value is not None}


@pytest.mark.parametrize("listed", ["", "(first, last, mail)"])
@pytest.mark.parametrize(
    "now",
    [
        (ADDED, FIRST, LAST, MAIL, PHONE),
        (PHONE, MAIL, LAST, FIRST),
        (FIRST, LAST, MAIL),
        (LAST, ADDED, MAIL, FIRST),
    ],
    ids=["added first", "moved", "dropped beside", "all of it"],
)
def test_values_stay_in_their_columns_when_others_come_go_and_move(
    worker: Worker, listed: str, now: tuple[Column, ...]
) -> None:
    row = landed(worker, create(ITEMS, columns=listed), PERSON, now)

    assert row == {"first": "Alan", "last": "Turing", "mail": "alan@x"}


@pytest.mark.parametrize("listed", ["", "(first, last, mail)"])
def test_values_follow_a_renamed_column_even_if_another_takes_its_name(worker: Worker, listed: str) -> None:
    now = (FIRST, replace(LAST, name="family"), MAIL, replace(ADDED, name="last"))
    sql = create(ITEMS, columns=listed)

    assert landed(worker, sql, PERSON, now) == {"first": "Alan", "family": "Turing", "mail": "alan@x"}
    (warning,) = compiled(sql, now, targets=compiled(sql, PERSON).targets).warnings
    assert "last was renamed" in warning
    assert "family" in warning


@pytest.mark.parametrize("listed", ["", "(first, last, mail)"])
@pytest.mark.parametrize("now", [(FIRST, MAIL, PHONE), (FIRST, replace(LAST, id=9), MAIL, PHONE)])
def test_a_dropped_column_breaks_the_pipe_even_if_another_takes_its_name(listed: str, now: tuple[Column, ...]) -> None:
    sql = create(ITEMS, columns=listed)

    with pytest.raises(InvalidQuery, match=r"column last, which this item goes to, was dropped(?s:.)*\$1:last"):
        compiled(sql, now, targets=compiled(sql, PERSON).targets)


def test_a_pipe_that_matches_names_goes_by_them_each_time(worker: Worker) -> None:
    sql = create("$1:first AS first, $1:mail AS last", options="MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE")
    now = (FIRST, replace(LAST, name="family"), replace(ADDED, name="last"))

    assert compiled(sql, PERSON).targets == ()
    assert landed(worker, sql, PERSON, now) == {"first": "Alan", "last": "alan@x"}


def test_the_same_statement_for_other_columns_is_another_pipe() -> None:
    sql = create(ITEMS)
    before, after = (compiled(sql, each) for each in (PERSON, (PHONE, FIRST, LAST, MAIL)))

    assert before.identity != after.identity
    assert StoredPipe("T", sql, 1, "ann", targets=before.targets).identity == before.identity


def test_columns_that_are_not_as_many_as_the_items_break_the_pipe() -> None:
    with pytest.raises(InvalidQuery, match="keeps 1 columns for the pipe, and 3 items"):
        compiled(create(ITEMS), PERSON, targets=(PipeTarget(1, "first"),))
