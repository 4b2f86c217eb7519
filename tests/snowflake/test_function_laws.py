"""Laws that functions keep for any value."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.snowflake.answers import rows, value

_FEW = settings(max_examples=25)
"""Each example is a query that is read, bound and run."""

_TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=12)
_NUMBERS = st.integers(-(10**37), 10**37) | st.decimals(-(10**12), 10**12, places=6) | st.sampled_from([Decimal("0.1")])
_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=8,
)
_DECIMALS = st.decimals(Decimal("-99999.99999"), Decimal("99999.99999"), places=5)
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 (Snowflake's have no zone)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _written(document: Any) -> str:
    match document:
        case Decimal():
            return format(document, "f")
        case dict():
            return "{" + ",".join(json.dumps(key) + ":" + _written(each) for key, each in document.items()) + "}"
        case list():
            return "[" + ",".join(map(_written, document)) + "]"
    return json.dumps(document)


def _exact(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


@_FEW
@given(_DOCUMENTS)
@example({"\x01": -(2**63) - 1})
def test_a_document_comes_out_of_parse_json_as_it_went_in(document: Any):
    written = _written(document)

    assert _exact(value(f"to_json(parse_json({_literal(written)}))")) == _exact(written)


@_FEW
@given(st.dictionaries(_TEXTS, st.integers(-9, 9), max_size=6))
def test_the_keys_of_an_object_are_in_order_however_it_is_made(members: dict[str, int]):
    pairs = ", ".join(f"{_literal(key)}, {number}" for key, number in members.items())
    parsed = f"parse_json({_literal(json.dumps(members, ensure_ascii=False))})"

    assert value(f"to_json(object_construct({pairs}))") == value(f"to_json({parsed})")
    assert value(f"object_keys({parsed})") == sorted(members, key=lambda key: key.encode())


@_FEW
@given(_DECIMALS, st.integers(-4, 6))
def test_rounding_is_that_of_decimals(number: Decimal, scale: int):
    exponent = Decimal(1).scaleb(-scale)
    ways = {
        "round(c, {})": ROUND_HALF_UP, "floor(c, {})": ROUND_FLOOR, "ceil(c, {})": ROUND_CEILING,
        "trunc(c, {})": ROUND_DOWN, "round(c, {}, 'HALF_TO_EVEN')": ROUND_HALF_EVEN,
    }  # fmt: skip
    written = ", ".join(f"({way.format(scale)})::varchar" for way in ways)

    (found,) = rows(f"select {written} from (select {number:f}::number(10, 5) as c)")

    wanted = [number if scale >= 5 else number.quantize(exponent, rounding) for rounding in ways.values()]
    assert [Decimal(each) for each in found] == wanted


@_FEW
@given(
    _MOMENTS,
    st.integers(-500, 500),
    st.sampled_from(["year", "quarter", "month", "week", "day", "hour", "minute", "second", "ms", "us"]),
)
def test_as_many_borders_are_between_as_units_were_added(moment: dt.datetime, count: int, unit: str):
    start = f"'{moment.isoformat(sep=' ')}'::timestamp"

    assert value(f"datediff({unit}, {start}, dateadd({unit}, {count}, {start}))") == count


@_FEW
@given(_MOMENTS, _MOMENTS)
def test_weeks_begin_on_mondays(first: dt.datetime, second: dt.datetime):
    def monday(moment: dt.datetime) -> dt.date:
        return moment.date() - dt.timedelta(days=moment.weekday())

    ends = ", ".join(f"'{each.isoformat(sep=' ')}'::timestamp" for each in (first, second))

    assert value(f"datediff(week, {ends})") == (monday(second) - monday(first)).days // 7


@_FEW
@given(st.text("ab.,-é", max_size=12), st.text(".,-", min_size=1, max_size=3))
def test_tokens_are_what_is_between_delimiters(text: str, delimiters: str):
    alike = text.translate(dict.fromkeys(map(ord, delimiters), delimiters[0]))
    tokens = [each for each in alike.split(delimiters[0]) if each]

    assert value(f"strtok_to_array('{text}', '{delimiters}')") == tokens
    assert value(f"strtok('{text}', '{delimiters}', 2)") == (tokens[1] if len(tokens) > 1 else None)


@_FEW
@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_an_array_is_what_it_has_in_common_with_another_and_the_rest(one: list[int], other: list[int]):
    common = value(f"array_intersection({one}, {other})")
    rest = value(f"array_except({one}, {other})")

    assert sorted(common + rest) == sorted(one)
    assert value(f"array_sort({one})") == sorted(one)
    assert sorted(value(f"array_distinct({one})")) == sorted(set(one))


@_FEW
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**37), 10**37))
def test_numbers_that_are_equal_have_the_same_hash(number: float):
    written = repr(number) if isinstance(number, int) else f"'{number!r}'::float"
    same = f"parse_json('{number!r}')"

    assert value(f"hash({written}) = hash({same})") is True
    assert math.isfinite(number)
