"""What gives another value each time is computed once for a record, wherever the pipe's statements read it."""

from __future__ import annotations

import re

import pytest
from tests.pipes.default.chunks import Worker, column, columns
from tests.pipes.sql.landing import create, land

RECORDS = ['{"n": ' + str(n) + ', "a": "abc"}' for n in range(200)]


@pytest.mark.parametrize(
    "item", ["IFF(RANDOM() > 0, $1:a::VARCHAR, NULL)", "NULLIF(LEFT(UUID_STRING(), 1) < '8', TRUE)"]
)
def test_no_null_comes_to_a_not_null_column_by_chance(worker: Worker, item: str) -> None:
    landed = land(worker, create(item), (column("x", "string", required=True),), *RECORDS)

    assert None not in landed.rows
    assert 50 < len(landed.rows) < 150
    assert {each.reason for each in landed.rejects.values()} == {
        "the column must not be NULL and the record has no value for it"
    }


def test_a_record_that_fails_by_chance_is_rejected_and_its_chunk_lands(worker: Worker) -> None:
    landed = land(worker, create("IFF(RANDOM() > 0, $1:n::NUMBER, $1:a::NUMBER)"), columns(x="decimal(38,0)"), *RECORDS)

    assert 50 < len(landed.rows) < 150
    assert {int(n) for n in landed.rows} == {*range(200)} - landed.rejects.keys()


def test_a_condition_by_chance_leaves_out_half_and_rejects_none(worker: Worker) -> None:
    sql = create("$1:n", where="RANDOM() > 0 AND IFF(RANDOM() > 0, TRUE, $1:n::NUMBER >= 0)")

    landed = land(worker, sql, columns(x="long"), *RECORDS)

    assert 50 < len(landed.rows) < 150
    assert landed.rejects == {}


def test_each_place_draws_its_own_value_and_an_alias_repeats_the_one_of_its_place(worker: Worker) -> None:
    items = "UUID_STRING() AS id, id, UUID_STRING(), CURRENT_TIMESTAMP(), SYSDATE()"
    shape = columns(a="string", b="string", c="string", at="timestamptz", of="timestamp")

    rows = land(worker, create(items), shape, *RECORDS).rows

    assert all(a == b != c for a, b, c, *_ in rows)
    assert len({drawn for a, _, c, *_ in rows for drawn in (a, c)}) == 400
    assert len({at for *_, at, _ in rows}) == 1
    assert all(at.replace(tzinfo=None) == of for *_, at, of in rows)


def test_a_drawn_value_that_does_not_fit_is_named_in_the_reason(worker: Worker) -> None:
    (reject,) = land(worker, create("UUID_STRING()::NUMBER"), columns(x="decimal(38,0)"), RECORDS[0]).rejects.values()

    assert re.fullmatch(r"'[0-9a-f-]{36}' cannot be cast to DECIMAL\(38, 0\)", reject.reason)
