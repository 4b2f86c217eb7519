"""What the headers of a dead letter say, and which of them were the record's own."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.model import Reject, SourcePartition, TableName
from frazil.records.odd_times import HEADER, with_header
from frazil.sources.kafka.dead_letter_records import dead_letters, told
from frazil.sources.kafka.dead_letters import PREFIX, context_of, escaped
from frazil.sources.kafka.reader import SCHEMA

TABLE = TableName(("public",), "ORDERS")
names = st.text(max_size=5) | st.sampled_from(
    [
        f"{PREFIX}topic",
        f"{PREFIX}offset",
        f"{PREFIX}other",
        "__frazil.errors.table",
        "__frazil.own.x",
        f"__frazil.own.{PREFIX}topic",
    ]
)
headers = st.lists(st.tuples(names, st.none() | st.binary(max_size=3)), max_size=4)


def rejected(own: list[tuple[str, bytes | None]] | None = None) -> Reject:
    return Reject(
        SourcePartition("orders", 3), 17, 5, b"k", b"v", tuple(own or ()), "transform", "5030", "it is no number", "n"
    )


@given(headers)
def test_a_records_own_headers_come_back_even_where_it_was_a_dead_letter_before(own) -> None:
    found = told([*escaped(own), *context_of(rejected(own), "shop", TABLE)])

    assert found.own == tuple(own)
    assert found.place == ("orders", 3, 17)
    assert (found.context["connector.name"], found.context["__frazil.errors.table"]) == ("shop", "public.ORDERS")


@given(headers)
def test_no_header_of_a_record_passes_for_the_context_of_its_rejection(own) -> None:
    found = told(escaped(own))

    assert (found.own, found.context) == (tuple(own), {})


@given(headers)
def test_a_consumer_finds_each_header_of_the_context_once(own) -> None:
    context = [*context_of(rejected(own), "shop", TABLE)]

    sent = [*escaped(own), *context]

    assert [header for header in sent if header[0].startswith((PREFIX, "__frazil.errors."))] == context


def test_a_letter_of_another_sink_has_the_last_context_and_the_records_own_headers() -> None:
    forged = [(f"{PREFIX}topic", b"payments"), (f"{PREFIX}offset", b"1")]

    found = told([*forged, *context_of(rejected(), "shop", TABLE)])

    assert (found.place, found.own) == (("orders", 3, 17), tuple(forged))


def letter(given: list[tuple[str, bytes | None]]) -> dict:
    columns = {"topic": "dead", "partition": 0, "offset": 9, "timestamp": 5, "log_append_time": False}
    row = {**columns, "key": b"k", "value": b"v", "headers": given}
    arrays = [pa.array([row[field.name]], field.type) for field in SCHEMA]
    return dead_letters(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)).to_pylist()[0]


def test_a_dead_letter_has_the_columns_of_an_error_table() -> None:
    found = letter([("h", None), *context_of(rejected(), "shop", TABLE)])

    assert {name: found[name] for name in ("connector", "topic", "partition", "offset", "stage", "code", "message")} == {
        "connector": "shop", "topic": "orders", "partition": 3, "offset": 17, "stage": "transform", "code": "5030",
        "message": "n: it is no number",
    }  # fmt: skip
    assert (found["key"], found["value"], found["headers"]) == (b"k", b"v", [{"name": "h", "value": None}])
    assert found["timestamp"].timestamp() == 0.005


@pytest.mark.parametrize(
    "said",
    [
        [],
        [(f"{PREFIX}topic", b"orders")],
        [(f"{PREFIX}topic", b"o"), (f"{PREFIX}partition", b"x"), (f"{PREFIX}offset", b"1")],
    ],
)
def test_of_a_letter_that_does_not_say_it_nothing_is_made_up(said) -> None:
    found = letter(said)

    assert (found["topic"], found["partition"], found["offset"]) == (None, None, None)
    assert found["value"] == b"v"


@given(headers, st.integers(-(2**63), 2**63 - 1))
def test_a_timestamp_that_the_topic_did_not_take_comes_back_from_its_header(own, timestamp: int) -> None:
    context = context_of(rejected(own), "shop", TABLE)

    found = told(with_header([*escaped(own), *context], timestamp))

    assert (found.own, found.timestamp) == (tuple(own), timestamp)


def test_a_dead_letter_has_the_time_of_its_header_if_a_calendar_has_it() -> None:
    future = letter([*with_header([("h", None)], 4_102_444_800_000)])
    odd = letter([*with_header([("h", None)], 2**63 - 1)])

    assert (future["timestamp"].year, future["headers"]) == (2100, [{"name": "h", "value": None}])
    assert (odd["timestamp"], odd["headers"][1:]) == (None, [{"name": HEADER, "value": b"9223372036854775807"}])
