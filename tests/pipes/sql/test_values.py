"""What becomes of values on their way through a pipe: none is altered unless the user casts it."""

from __future__ import annotations

import base64
import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

import pytest
from tests.pipes.default.chunks import Worker, column, columns, listed, struct
from tests.pipes.sql.landing import create, land

from frazil.model import Conversion


def clock(*parts: int) -> dt.datetime:
    """A time without a zone."""
    return dt.datetime(*parts, tzinfo=dt.UTC).replace(tzinfo=None)  # type: ignore[misc,arg-type]


def record(value: str) -> str:
    return '{"a": ' + value + "}"


UNALTERED: list[tuple[str, str, Any]] = [
    ("long", "12", 12),
    ("long", '" 12 "', 12),
    ("long", "1.0", 1),
    ("long", "1e3", 1000),
    ("long", "9223372036854775807", 2**63 - 1),
    ("int", "-2147483648", -(2**31)),
    ("decimal(38,2)", "123456789012345678901234567890.12", Decimal("123456789012345678901234567890.12")),
    ("decimal(38,0)", "12345678901234567890123456789012345678", Decimal(12345678901234567890123456789012345678)),
    ("decimal(10,2)", "1.50", Decimal("1.50")),
    ("string", "12345678901234567890.123456789", "12345678901234567890.123456789"),
    ("string", "1.50", "1.5"),
    ("string", '"1.50"', "1.50"),
    ("string", '"100.00"', "100.00"),
    ("string", "-0", "0"),
    ("string", "1E2", "100"),
    ("string", "true", "true"),
    ("string", '"a \\"b\\" \\u00e9"', 'a "b" é'),
    ("string", '{"b": [1.50, 2]}', '{"b":[1.50,2]}'),
    ("double", "0.1", 0.1),
    ("double", '"NaN"', pytest.approx(float("nan"), nan_ok=True)),
    ("boolean", "true", True),
    ("boolean", '"off"', False),
    ("boolean", "1", True),
    ("date", '"2024-02-29"', dt.date(2024, 2, 29)),
    ("timestamp", '"2024-02-29T01:02:03.5"', clock(2024, 2, 29, 1, 2, 3, 500_000)),
    ("timestamp", "1700000000000", clock(2023, 11, 14, 22, 13, 20)),
    ("timestamptz", '"2024-02-29T01:02:03+02:00"', dt.datetime(2024, 2, 28, 23, 2, 3, tzinfo=dt.UTC)),
    ("binary", '"c0Ffee"', b"\xc0\xff\xee"),
    ("variant", "123456789012345678901234.5", Decimal("123456789012345678901234.5")),
    ("variant", '{"x": [1.5, "y", null]}', {"x": [1.5, "y", None]}),
]


@pytest.mark.parametrize(("kind", "value", "found"), UNALTERED)
def test_a_value_that_a_column_has_room_for_arrives_as_it_is(worker: Worker, kind: str, value: str, found: Any) -> None:
    assert land(worker, create("$1:a"), columns(a=kind), record(value), "{}", record("null")).rows == [
        found,
        None,
        None,
    ]


REFUSED = [
    ("long", "1.5", "not a whole number"),
    ("long", "9223372036854775808", "out of the range"),
    ("long", "true", "does not fit a column of type long"),
    ("long", '"0x22"', "does not fit a column of type long"),
    ("int", "2147483648", "out of the range"),
    ("decimal(10,2)", "1.234", "more than 2 digits"),
    ("decimal(4,2)", "100", "out of the range"),
    ("double", '"abc"', "does not fit a column of type double"),
    ("boolean", "2", "does not fit a column of type boolean"),
    ("date", '"2023-02-29"', "2023-02-29"),
    ("date", "20240229", "20240229"),
    ("timestamp", '"2024-02-29 01:02:03"', "2024-02-29 01:02:03"),
    ("binary", "1234", "hexadecimal"),
    ("uuid", '"abc"', "uuid"),
    ("variant", "1e-400", "more than a VARIANT keeps"),
    ("variant", '{"x": 1, "x": 2}', "a key twice"),
]


@pytest.mark.parametrize(("kind", "value", "reason"), REFUSED)
def test_a_value_that_it_has_no_room_for_is_a_reject_and_its_neighbours_land(
    worker: Worker, kind: str, value: str, reason: str
) -> None:
    found = land(worker, create("$1:a"), columns(a=kind), "{}", record(value), "{}")

    assert found.rows == [None, None]
    ((offset, (name, said)),) = found.reasons.items()
    assert (offset, name) == (1, "a")
    assert reason in said


CASTS: list[tuple[str, str, str, Any]] = [
    ("::NUMBER(10,2)", "decimal(10,2)", "1.005", Decimal("1.01")),
    ("::NUMBER(10,2)", "decimal(10,2)", "-1.005", Decimal("-1.01")),
    ("::NUMBER", "long", "1.5", 2),
    ("::INT", "int", '"7"', 7),
    ("::BOOLEAN", "boolean", '"YES"', True),
    ("::BOOLEAN", "boolean", "false", False),
    ("::DATE", "date", '"2024-02-29T10:00:00Z"', dt.date(2024, 2, 29)),
    ("::TIMESTAMP_NTZ", "timestamp", '"2024-02-29 10:00:00.25"', clock(2024, 2, 29, 10, 0, 0, 250_000)),
    ("::TIMESTAMP_NTZ", "timestamp", "1700000000", clock(2023, 11, 14, 22, 13, 20)),
    ("::TIMESTAMP_TZ", "timestamptz", '"2024-02-29 10:00:00 +0200"', dt.datetime(2024, 2, 29, 8, tzinfo=dt.UTC)),
    ("::FLOAT", "double", '"1e3"', 1000.0),
    ("::VARCHAR(3)", "string", '"abcdef"', "abc"),
    ("::VARIANT", "variant", '{"b": 1}', {"b": 1}),
    ("::NUMBER(38,20)", "decimal(38,20)", "1.12345678901234567890", Decimal("1.12345678901234567890")),
]


@pytest.mark.parametrize(("cast", "kind", "value", "found"), CASTS)
def test_a_cast_is_what_snowflake_makes_of_it(worker: Worker, cast: str, kind: str, value: str, found: Any) -> None:
    assert land(worker, create(f"$1:a{cast}"), columns(a=kind), record(value)).rows == [found]


def test_a_cast_that_fails_is_a_reject_with_the_column_and_the_value(worker: Worker) -> None:
    found = land(
        worker, create("$1:a::NUMBER(10,2), $1:b"), columns(total="decimal(10,2)", b="long"),
        '{"a": 1, "b": 1}', '{"a": "x1", "b": 2}', '{"a": 3, "b": 3.5}', '{"a": 4, "b": 4}',
    )  # fmt: skip

    assert found.rows == [(Decimal("1.00"), 1), (Decimal("4.00"), 4)]
    assert found.reasons[1] == ("total", "'x1' cannot be cast to DECIMAL(10, 2)")
    assert found.reasons[2][0] == "b"
    assert "not a whole number" in found.reasons[2][1]


@pytest.mark.parametrize(
    ("item", "kind", "length", "fits", "too_long", "reason"),
    [
        ("$1:a", "string", 3, '"\u00e4\U0001f600c"', '"abcd"', "4 characters, and the column takes 3"),
        ("$1:a::STRING", "string", 3, "123", "1234", "4 characters, and the column takes 3"),
        ("UPPER($1:a)", "string", 3, '"abc"', '"abcd"', "4 characters, and the column takes 3"),
        ("$1:a", "binary", 2, '"0aff"', '"0aff00"', "3 bytes, and the column takes 2"),
    ],
)
def test_a_text_that_is_longer_than_its_column_takes_is_a_reject(
    worker: Worker, item: str, kind: str, length: int, fits: str, too_long: str, reason: str
) -> None:
    (plain,) = columns(a=kind)

    found = land(worker, create(item), (replace(plain, length=length),), record(fits), record(too_long), "{}")

    assert len(found.rows) == 2
    assert found.rows[1] is None
    assert reason in found.reasons[1][1]


@pytest.mark.parametrize("bytes_in_base64", ["abcd", "AAE=", "00ffaabb", ""])
def test_base64_is_read_as_such_also_where_it_looks_like_hexadecimal_digits(
    worker: Worker, bytes_in_base64: str
) -> None:
    found = land(
        worker,
        create("$1:a"),
        columns(a="binary"),
        record(f'"{bytes_in_base64}"'),
        conversion=Conversion(binary="base64"),
    )

    assert found.rows == [base64.b64decode(bytes_in_base64)]


def test_connectors_that_read_bytes_in_two_ways_share_a_worker(worker: Worker) -> None:
    shape = columns(a=listed("binary"))

    found = [
        land(worker, create("$1:a"), shape, record('["abcd"]'), conversion=Conversion(binary=form)).rows
        for form in ("hex", "base64")
    ]

    assert found == [[[b"\xab\xcd"]], [[b"i\xb7\x1d"]]]


@pytest.mark.parametrize("form", ["hex", "base64"])
def test_a_default_of_bytes_is_the_tables_however_records_write_them(
    worker: Worker, form: Literal["hex", "base64"]
) -> None:
    shape = (column("v", "binary", default='"00ffaabb"'), column("w", "long"))

    assert land(
        worker,
        create("$1:a AS w", options="MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"),
        shape,
        record("1"),
        conversion=Conversion(binary=form),
    ).rows == [(b"\x00\xff\xaa\xbb", 1)]


def test_try_cast_gives_null(worker: Worker) -> None:
    assert land(worker, create("TRY_CAST($1:a AS NUMBER)"), columns(a="long"), record('"x"'), record("1")).rows == [
        None,
        1,
    ]


def test_a_cast_that_the_column_has_no_room_for_is_a_reject(worker: Worker) -> None:
    found = land(worker, create("$1:a::NUMBER(10,4)"), columns(a="decimal(10,2)"), record("1.25"), record("1.255"))

    assert found.rows == [Decimal("1.25")]
    assert [*found.rejects] == [1]


def test_with_rounding_the_connector_rounds_what_no_cast_does(worker: Worker) -> None:
    rules = Conversion(numbers="round")

    assert land(worker, create("$1:a"), columns(a="long"), record("1.5"), conversion=rules).rows == [2]


def test_a_key_that_comes_twice_with_a_value_is_a_reject(worker: Worker) -> None:
    found = land(worker, create("$1:a.b"), columns(c="long"), '{"a": {"b": 1}}', '{"a": {"b": 1, "b": 2}}', "{}")

    assert found.rows == [1, None]
    assert found.reasons == {1: ("b", "the key appears twice with a value")}


@pytest.mark.parametrize(
    ("value", "reason"),
    [("[1]", "an array, not a JSON object"), ("7", "a number, not a JSON object"), ('{"a": 1', "not valid JSON")],
)
def test_what_is_no_object_is_a_reject(worker: Worker, value: str, reason: str) -> None:
    found = land(worker, create("$1:a"), columns(a="long"), record("1"), value)

    assert found.rows == [1]
    assert reason in found.rejects[1].reason


def test_a_tombstone_has_metadata_only(worker: Worker) -> None:
    sql = create("$1:a, $1:RECORD_METADATA.offset")

    assert land(worker, sql, columns(a="long", at="long"), None, record("1")).rows == [(None, 0), (1, 1)]


def test_nested_columns_are_filled_like_those_of_the_default_pipe(worker: Worker) -> None:
    shape = columns(a=struct(x="long", y=listed("string")))
    found = land(worker, create("$1:a"), shape, record('{"x": 1, "y": ["b", 2]}'), record('{"x": 1.5}'), "{}")

    assert found.rows == [{"x": 1, "y": ["b", "2"]}, None]
    assert found.reasons[1][0] == "a"


def test_a_column_without_an_item_has_its_default(worker: Worker) -> None:
    shape = (column("a", "long"), column("b", "string", default='"none"'), column("c", "long"))

    assert land(worker, create("$1:a"), shape, record("1")).rows == [(1, "none", None)]


def test_null_in_a_column_that_takes_none_is_a_reject(worker: Worker) -> None:
    found = land(worker, create("$1:a"), (column("a", "long", required=True),), record("1"), "{}")

    assert found.rows == [1]
    assert found.reasons[1][0] == "a"
    assert "must not be NULL" in found.reasons[1][1]


def test_where_leaves_records_out_and_they_are_counted(worker: Worker) -> None:
    sql = create("$1:a", where="$1:a::NUMBER > 1")
    found = land(worker, sql, columns(a="long"), record("1"), record("2"), "{}", record("3"), partition=[0, 0, 1, 1])

    assert found.rows == [2, 3]
    assert found.skipped == {0: 1, 1: 1}


def test_what_where_fails_for_is_a_reject(worker: Worker) -> None:
    sql = create("$1:b", where="$1:a::NUMBER > 1")
    found = land(worker, sql, columns(b="long"), '{"a": 2, "b": 1}', '{"a": "x", "b": 2}', '{"a": 0, "b": "y"}')

    assert found.rows == [1]
    assert [*found.rejects] == [1]
    assert found.rejects[1].column == "WHERE"
    assert found.skipped == {0: 1}


def test_paths_that_lie_in_each_other_and_differ_by_case_are_each_read(worker: Worker) -> None:
    sql = create("$1:a, $1:a.b, $1:A, $1:l[1].x, $1:l")
    shape = columns(a="variant", b="long", c="long", d="string", e="string")

    assert land(worker, sql, shape, '{"a": {"b": 1}, "A": 2, "l": [{"x": "0"}, {"x": "1"}]}').rows == [
        ({"b": 1}, 1, 2, "1", '[{"x":"0"},{"x":"1"}]')
    ]


@pytest.mark.parametrize(
    ("cast", "kind", "value"),
    [
        *(
            (cast, kind, f'"{word}"')
            for cast, kind in (("DATE", "date"), ("TIMESTAMP_NTZ", "timestamp"), ("TIMESTAMP_TZ", "timestamptz"))
            for word in ("inf", "-infinity", " Infinity", "epoch")
        ),
        ("TIME", "time", '"24:00:00"'),
    ],
)
def test_words_for_moments_that_only_duckdb_knows_are_rejects(worker: Worker, cast: str, kind: str, value: str) -> None:
    landed = land(worker, create(f"$1:a::{cast}"), columns(x=kind), record(value))

    assert (landed.rows, [*landed.rejects]) == ([], [0])
    assert land(worker, create(f"TRY_CAST($1:a::STRING AS {cast})"), columns(x=kind), record(value)).rows == [None]


@pytest.mark.parametrize("value", ["1e400", "-1e400", "[1e400]", '{"b": -1E+400}'])
def test_a_number_beyond_every_number_of_a_variant_is_a_reject(worker: Worker, value: str) -> None:
    landed = land(worker, create("$1:a"), columns(a="variant"), record(value))

    assert (landed.rows, [*landed.rejects]) == ([], [0])


def test_a_key_that_nobody_reads_may_come_twice(worker: Worker) -> None:
    records = ['{"a": "x", "b": 1, "b": 2}', '{"a": "x", "o": {"k": 1, "k": 2, "read": 1}}', '{"a": "x", "a": "y"}']

    landed = land(worker, create("$1:a, $1:o:read"), columns(a="string", r="long"), *records)

    assert landed.rows == [("x", None), ("x", 1)]
    assert landed.reasons == {2: ("a", "the key appears twice with a value")}
    whole = land(worker, create("$1"), columns(v="variant"), *records)
    assert [*whole.rejects] == [0, 1, 2]


def test_half_a_surrogate_pair_is_a_reject_that_says_so(worker: Worker) -> None:
    landed = land(worker, create("$1:a"), columns(a="string"), '{"a": "\\ud800"}', '{"a": "\\ud83d\\ude00"}')

    assert landed.rows == ["😀"]
    assert landed.reasons == {0: (None, "a text holds an unpaired surrogate, which is no character")}


@pytest.mark.parametrize("where", ["$1:n <> 3", "$1:n < 3", "$1:n > 3", "$1:n::STRING <> 3", "$1:n IN (1, 3)"])
@pytest.mark.parametrize("value", ['"NaN"', '"Infinity"', '"-inf"'])
def test_no_exact_number_is_compared_with_nan_and_infinities(worker: Worker, where: str, value: str) -> None:
    landed = land(worker, create("$1:k", where=where), columns(k="long"), f'{{"n": {value}}}')

    assert landed.rows == []
    assert [reject.column for reject in landed.rejects.values()] == ["WHERE"]


def test_a_condition_that_duckdb_refuses_as_it_stands_rejects_its_records(worker: Worker) -> None:
    landed = land(worker, create("$1:k", where="$1:n::STRING REGEXP '['"), columns(k="long"), '{"n": "a"}', "{}")

    assert {reject.column for reject in landed.rejects.values()} == {"WHERE"}
    assert all("missing ]" in reject.reason for reject in landed.rejects.values())
    assert len(landed.rejects) == 2


@pytest.mark.parametrize("where", ["$1:n <> 3", "NOT $1:n = 3", "$1:n IN (4, 5)", "$1:n > 3", "$1:n BETWEEN 4 AND 9"])
def test_what_cannot_be_compared_is_a_reject_and_not_left_out(worker: Worker, where: str) -> None:
    records = ['{"n": "abc"}', '{"n": 4}', '{"n": "3"}', '{"n": null}', '{"n": [1]}', "{}", '{"n": 1e30}']

    landed = land(worker, create("$1:n::FLOAT", where=where), columns(n="double"), *records)

    assert landed.rows == ([4.0] if "IN" in where or "BETWEEN" in where else [4.0, 1e30])
    assert {offset: reject.column for offset, reject in landed.rejects.items()} == {0: "WHERE", 4: "WHERE"}
    assert '"abc"' in landed.rejects[0].reason


@pytest.mark.parametrize("zero", ["0", "0::NUMBER(38,0)", "0::NUMBER(38,18)", "'0'::NUMBER"])
def test_a_number_that_is_almost_zero_is_more_than_zero(worker: Worker, zero: str) -> None:
    records = ['{"n": 1e-19}', '{"n": 0}', '{"n": -1e-19}', '{"n": "abc"}', '{"n": 1e39}']

    landed = land(worker, create("$1:n::FLOAT", where=f"$1:n > {zero}"), columns(n="double"), *records)

    assert landed.rows == [1e-19, 1e39]
    assert {offset: reject.column for offset, reject in landed.rejects.items()} == {3: "WHERE"}


def test_a_comparison_in_an_item_fails_for_what_it_cannot_compare(worker: Worker) -> None:
    landed = land(
        worker, create("IFF($1:n = 1, 'one', 'other')"), columns(x="string"), '{"n": "abc"}', '{"n": "1"}', "{}"
    )

    assert landed.rows == ["one", "other"]
    assert [*landed.rejects] == [0]


@pytest.mark.parametrize(
    ("item", "kind"),
    [("$1:a::DATE", "date"), ("$1:a::TIMESTAMP_NTZ", "timestamp"), ("$1:a::TIMESTAMP_TZ", "timestamptz"), ("$1:a::DATE", "timestamp")],
)  # fmt: skip
def test_years_before_the_first_and_beyond_9999_are_rejects(worker: Worker, item: str, kind: str) -> None:
    outside = ["0044-03-15 (BC)", "-0044-03-15", "0000-01-01", "10000-01-01", "12024-01-01T00:00:00"]
    inside = ["0001-01-01", "9999-12-31"]

    landed = land(worker, create(item), columns(x=kind), *(record(f'"{value}"') for value in [*outside, *inside]))

    assert [row.year for row in landed.rows] == [1, 9999]
    assert [*landed.rejects] == [*range(len(outside))]
    assert (
        landed.rejects[0].reason == f"'0044-03-15 (BC)' cannot be cast to {item.partition('::')[2].replace('P_', 'P')}"
    )


@pytest.mark.parametrize(
    "item", ["$1:a", "COALESCE($1:a, 'x')", "NVL($1:a, 'x')", "IFF(TRUE, $1:a, 'x')", "TO_JSON($1:a)", "CONCAT($1:a)"]
)
def test_a_number_has_one_text_whatever_it_comes_through(worker: Worker, item: str) -> None:
    texts = ["1.50", "1e3", "-0", "12345678901234567890.1230", "0.1"]

    landed = land(worker, create(item), columns(x="string"), *map(record, texts))

    assert landed.rows == ["1.5", "1000", "0", "12345678901234567890.123", "0.1"]
