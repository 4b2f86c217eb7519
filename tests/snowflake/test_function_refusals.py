"""What a function cannot mean here is refused, by the names of the function and of what is wrong."""

from __future__ import annotations

import pytest
from tests.snowflake.answers import rows, text_of, value

from frazil.errors import InvalidQuery

REFUSED = {
    "left('abc')": "LEFT takes 2 arguments, not 1",
    "left('abc', 1, 2)": "LEFT takes 2 arguments, not 3",
    "lpad('a')": "LPAD takes 2 or 3 arguments, not 1",
    "pi(1)": "PI takes no argument, not 1",
    "iff(true, 1)": "IFF takes 3 arguments",
    "decode(1)": "DECODE takes at least 3 arguments",
    "regexp_like('a', 'a', 'x')": "REGEXP_LIKE has no flag 'x'",
    "regexp_like('a', '(?=a)')": "REGEXP_LIKE: '(?' means nothing",
    "regexp_like('aa', '(a)\\\\1')": "means nothing in Snowflake's regular expressions",
    "regexp_substr('aa', 'a*?')": "no lazy quantifiers",
    "regexp_replace('aaa', 'a', 'b', 1, 2)": "REGEXP_REPLACE replaces all occurrences (0) or the first (1)",
    "regexp_substr('a', 'a', 0)": "the position is counted from 1",
    "regexp_instr('a', 'a', 1, 1, 2)": "the option 0 or 1",
    "sha2('a', 512)": "SHA2 of 512 bits",
    "initcap('a', 'a')": "letters and digits cannot be delimiters",
    "to_char(now_is, 'Q')": "now_is",
    "to_char('2024-01-01'::date, 'YYYY Q')": "'Q' in the format 'YYYY Q' is no element",
    "to_char('2024-01-01'::date, 'x' || 'y')": "must be a text in the query",
    "to_char(1, 'EEEE')": "'EEEE' is no format of numbers",
    "to_date('x', 'WW')": "TO_DATE: 'WW' in the format",
    "to_timestamp(1, 10)": "a scale is 0 (seconds) to 9",
    "to_number('1', '9')": "TO_NUMBER takes no format",
    "to_number('1', 39)": "a NUMBER has 1 to 38 digits",
    "round(1.5, 0, 'UP')": "neither HALF_AWAY_FROM_ZERO nor HALF_TO_EVEN",
    "dateadd(fortnight, 1, '2024-01-01'::date)": "FORTNIGHT is no unit of time",
    "dateadd(day, 1, '10:00:00'::time)": "a TIME has no DAY",
    "datediff(day, '10:00:00'::time, '11:00:00'::time)": "between TIMEs",
    "date_part(century, '2024-01-01'::date)": "CENTURY is no part of a date",
    "last_day('2024-01-01'::date, 'hour')": "LAST_DAY is that of a WEEK",
    "next_day('2024-01-01'::date, 'xx')": "'xx' is no day of the week",
    "time_slice('2024-01-01'::date, 1, 'hour')": "TIME_SLICE",
    "random(1)": "RANDOM takes no seed",
    "hash(*)": "HASH",
    "uuid_string('a', 'b')": "UUID_STRING takes no argument",
    "object_construct('a')": "keys and values in turn",
    "object_construct('a', 1, 'a', 2)": "the key 'a' is there twice",
    "get_path(parse_json('{}'), 'a[*]')": "is no path",
    "percentile_cont(0.5)": "WITHIN GROUP",
    "sum(1) within group (order by 1)": "SUM takes no WITHIN GROUP",
    "max_by(1, 1, 0)": "the number of values is 1 to 1000",
    "uniform(1, 2, 3)": "there is no function UNIFORM",
    "getenv('HOME')": "there is no function GETENV",
    "system$wait(1)": "",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_a_function_with_arguments_that_cannot_be_meant_is_refused_by_name(expression: str):
    with pytest.raises(InvalidQuery) as refused:
        text_of(f"select {expression}")

    assert REFUSED[expression] in str(refused.value)


FAILING = {
    "to_date('2023-02-29')": "2023-02-29",
    "object_insert({'a': 1}, 'a', 2)": "the key is there already",
    "parse_json('{x')": "Malformed JSON",
    "parse_url('x')": "this text is no URL",
    "mod(1, 0)": "zero",
    "editdistance('é', 'e')": "EDITDISTANCE",
    "arrays_to_object(['a'], [1, 2])": "the same length",
}


@pytest.mark.parametrize("expression", FAILING)
def test_a_value_that_a_function_cannot_take_ends_the_query(expression: str):
    with pytest.raises(InvalidQuery, match=FAILING[expression]):
        value(expression)


def test_calls_that_are_nested_deeply_do_not_double_the_text_at_each_level():
    nested = "a"
    for _ in range(30):
        nested = f"substr({nested}, 1, 9)"

    assert len(text_of(f"select {nested} from (select 'abc' as a)")) < 100_000
    assert rows(f"select {nested} from (select 'abc' as a)") == [["abc"]]
