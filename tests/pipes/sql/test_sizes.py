"""No record makes a pipe's text grow beyond the longest one, nor takes a worker's memory or minutes."""

from __future__ import annotations

import json

import pytest
from tests.pipes.default.chunks import Worker, columns
from tests.pipes.sql.landing import compiled, create, land

LONGEST = 16_777_216
HUGE = 2_000_000_000

GROWING = {
    "REPEAT($1:a::STRING, $1:n::INT)": "y" * 3,
    "SPACE($1:n::INT)": " " * 3,
    "LPAD($1:a::STRING, $1:n::INT)": "  y",
    "RPAD($1:a::STRING, $1:n::INT, $1:b::STRING)": "ybb",
    "REPLACE(REPEAT($1:a::STRING, LEAST($1:n, 10000000)::INT), 'y', $1:b::STRING || 'cc')": "bcc" * 3,
    "REGEXP_REPLACE(REPEAT($1:a::STRING, LEAST($1:n, 1000000)::INT), '(y)', '\\\\1 and twenty more 20')": (
        "y and twenty more 20" * 3
    ),
    "ARRAY_TO_STRING(ARRAY_GENERATE_RANGE(0, $1:n::INT), ', ')": "0, 1, 2",
    "ARRAY_TO_STRING(ARRAY_GENERATE_RANGE(0, LEAST($1:n, 1000000)::INT), ' and right after that ')": (
        "0 and right after that 1 and right after that 2"
    ),
}


@pytest.mark.parametrize(("item", "found"), GROWING.items())
def test_a_record_that_asks_for_too_long_a_text_is_a_reject(worker: Worker, item: str, found: str) -> None:
    records = [json.dumps({"a": "y", "b": "b", "n": n}) for n in (3, HUGE, 3)]

    landed = land(worker, create(item), columns(x="string"), *records)

    assert landed.rows == [found, found]
    assert [*landed.rejects] == [1]
    assert landed.rejects[1].reason.startswith("the result would be a")


@pytest.mark.parametrize(
    "item", ["REPLACE($1:a::STRING, 'y', $1:b::STRING)", "REGEXP_REPLACE($1:a::STRING, 'y', $1:b::STRING)"]
)
def test_a_text_is_as_long_as_it_gets_and_no_longer_than_it_may_seem(worker: Worker, item: str) -> None:
    record = {"a": "-" * 20_000 + "y", "b": "b" * 20_000}

    assert land(worker, create(item), columns(x="string"), json.dumps(record)).rows == ["-" * 20_000 + record["b"]]


def test_texts_whose_distance_takes_minutes_are_a_reject(worker: Worker) -> None:
    records = [json.dumps({"a": "a" * n, "b": "b" * n}) for n in (9, 20_000)]

    landed = land(worker, create("EDITDISTANCE($1:a::STRING, $1:b::STRING)"), columns(x="long"), *records)

    assert landed.rows == [9]
    assert "EDITDISTANCE" in landed.rejects[1].reason


@pytest.mark.parametrize(
    ("item", "grows"),
    [
        ("REPEAT($1:a::STRING, 3)", False),
        ("LPAD($1:a::STRING, 10, '0')", False),
        ("REPLACE($1:a::STRING, 'a', 'bc')", False),
        ("REPEAT($1:a::STRING, $1:n::INT)", True),
        ("LPAD($1:a::STRING, 100000, '0')", True),
        ("REGEXP_REPLACE($1:a::STRING, 'a', $1:b::STRING)", True),
    ],
)
def test_few_records_are_read_at_once_where_a_pipe_makes_texts_grow(item: str, grows: bool) -> None:
    batches = [
        compiled(sql, columns(x="string")).batch for sql in (create(item), create("$1:a", where=f"LENGTH({item}) > 0"))
    ]

    assert [each is not None for each in batches] == [grows, grows]


def test_many_records_that_grow_take_no_more_memory_than_a_few(worker: Worker) -> None:
    records = [json.dumps({"a": "y", "n": 10_000_000})] * 40

    landed = land(worker, create("LENGTH(REPEAT($1:a::STRING, $1:n::INT))"), columns(x="long"), *records)

    assert landed.rows == [10_000_000] * 40
