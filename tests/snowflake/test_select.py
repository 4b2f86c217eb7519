"""Clauses of a SELECT, by what Snowflake gives for them."""

from __future__ import annotations

import pytest
from tests.snowflake.lakes import PUBLIC, Lake, create_alike

from frazil.errors import InvalidQuery
from frazil.model import Primitive, TableName


@pytest.fixture(scope="module")
def sales() -> Lake:
    lake = Lake()
    create_alike(lake)
    lake.create(
        "SALES",
        "SELECT id, month, CAST(amount AS DECIMAL(10, 2)) AS amount "
        "FROM (VALUES (1, 'jan', 10.5), (1, 'feb', 20), (2, 'jan', 5), (2, 'mar', NULL)) AS t(id, month, amount)",
    )
    lake.create("SALES", "SELECT 9 AS id", ("raw", "Old"))
    lake.create("Mixed", "SELECT 1 AS a")
    lake.create("MIXED", "SELECT 2 AS a")
    return lake


ANSWERS = {
    # Rows into columns and back
    "select * from sales pivot (sum(amount) for month in ('jan', 'feb')) order by id": [[1, 10.5, 20], [2, 5, None]],
    "select p.b from sales pivot (max(amount) for month in ('jan' as j, 'feb')) as p (a, b, c) order by a": [[10.5], [5]],
    "select * from sales pivot (count(amount) for month in ('mar')) order by id": [[1, 0], [2, 0]],
    "select * from (select id, amount from sales where month = 'jan') unpivot (v for n in (amount, id)) order by 1, 2": [
        ["AMOUNT", 5], ["AMOUNT", 10.5], ["ID", 1], ["ID", 2],
    ],
    "select month, n, v from sales unpivot include nulls (v for n in (amount as 'A')) where id = 2 order by 1": [
        ["jan", "A", 5], ["mar", "A", None],
    ],
    "select month from sales unpivot (v for n in (amount)) where id = 2": [["jan"]],
    # Stars
    "select * ilike 'M%' from sales order by all limit 2": [["feb"], ["jan"]],
    "select * exclude (month, amount) rename id as n from sales order by n desc limit 1": [[2]],
    "select s.* exclude amount from sales s order by all desc limit 1": [[2, "mar"]],
    # Groups and orders
    "select month, sum(amount) from sales group by all order by all": [["feb", 20], ["jan", 15.5], ["mar", None]],
    "select month m, count(*) n from sales group by m having n > 1": [["jan", 2]],
    "select id from sales group by id order by sum(amount) desc": [[1], [2]],
    "select distinct id, id + 1 as n from sales order by n desc": [[2, 3], [1, 2]],
    "select id, id as x, x + 1 as y from sales where y > 2 and month = 'jan'": [[2, 2, 3]],
    "select amount from sales order by amount desc": [[None], [20], [10.5], [5]],
    "select id, month from sales group by (id, month) order by all limit 1": [[1, "feb"]],
    # Sets and rows
    "values (1, 'a'), (2, null)": [[1, "a"], [2, None]],
    "(values (1), (2)) order by 1 desc": [[2], [1]],
    "select * from values (1), (2.5) as t (n) order by n": [[1], [2.5]],
    "select column2 from values (1, 'x')": [["x"]],
    "(select 1 union select 2) order by 1 desc limit 1": [[2]],
    "select 1 union all select 2.5 order by 1": [[1], [2.5]],
    "select count(*) from sales sample (2 rows)": [[2]],
    "select count(*) from sales sample (100)": [[4]],
    # Subqueries
    "select id, (select count(*) from sales x where x.id <= s.id) from sales s where month = 'jan' order by 1": [[1, 2], [2, 4]],
    "select s.id, y.c from sales s, lateral (select count(*) c from sales x where x.id <= s.id) y where month = 'mar'": [[2, 4]],
    "select month from sales s where exists (select 1 from sales x where x.month = s.month and x.id <> s.id) and id = 1": [["jan"]],
    "select month from sales where amount > (select avg(amount) from sales)": [["feb"]],
    # Numbers
    "select 5 / 2, 1 / 3, 7 / -2, amount / 3 from sales where id = 1 and month = 'jan'": [[2.5, 0.333333, -3.5, 3.5]],
    "select 10::number(10, 2) / 4::number(10, 4), 2::float / 3": [[2.5, 0.6666666666666666]],
    "select 10000000000 * 10000000000, 9223372036854775807 + 1": [[10**20, 2**63]],
    "select 12345678901234567890123456789.5::number(38, 1) - 1": [[12345678901234567890123456788.5]],
    "select -5 % 3, 5 % -3, - -1, -(-2)": [[-2, 2, 1, 2]],
    # Times
    "select '10:20:30'::time, '2024-01-01 10:20:30'::timestamp::time": [["10:20:30", "10:20:30"]],
    "select '2024-03-15T12:00:00+02:00'::timestamp, '2024-03-15 12:00:00 +02:00'::timestamp_tz": [
        ["2024-03-15T12:00:00.000", "2024-03-15T10:00:00.000Z"],
    ],
    "select '2024-03-15T23:30:00-05:00'::date, '2024-01-31'::date + interval '1 month'": [["2024-03-15", "2024-02-29"]],
    "select '2024-01-02'::date - '2024-01-01'::date, '2024-01-01'::date + 1": [[1, "2024-01-02"]],
    # FLATTEN
    "select f.value, f.index from lateral flatten(input => parse_json('[5, 6]')) f order by 2": [[5, 0], [6, 1]],
    "select f.key, f.path, f.index, f.value, f.this from table(flatten("
    "parse_json('{\"a\": [1, {\"b c\": 2}]}'), recursive => true)) f order by path": [
        ["a", "a", None, [1, {"b c": 2}], {"a": [1, {"b c": 2}]}],
        [None, "a[0]", 0, 1, [1, {"b c": 2}]],
        [None, "a[1]", 1, {"b c": 2}, [1, {"b c": 2}]],
        ["b c", "a[1]['b c']", None, 2, {"b c": 2}],
    ],
    "select count(*), count(v) from sales, lateral flatten(parse_json('[]'), outer => true) f(a, b, c, d, v, e)": [[4, 0]],
    "select id, f.value::string from alike a left join lateral flatten(a.variant:tags) f on f.index = 1 order by id": [
        [1, "t2"], [2, None], [3, None],
    ],
    # null and NULL
    "select variant:empty is null, variant:nope is null, text:empty is null, struct:empty is null from alike limit 1": [
        [False, True, False, True],
    ],
    "select x is null, is_null_value(x), x::string is null from (select variant:empty as x from alike limit 1)": [
        [False, True, True],
    ],
    "select variant:empty, text:empty, variant:nope from alike limit 1": [[None, None, None]],
    # Documents among others
    "select id from alike where struct = variant order by 1": [[1], [2], [3]],
    "select variant:topic::string, count(*) from alike group by variant:topic order by variant:topic": [["orders", 2], ["other", 1]],
    "select parse_json('{\"a\": [12345678901234567890123]}'):a[0]::number": [[12345678901234567890123]],
    "select parse_json('1e300') > 5, parse_json('-1e300') < 5, parse_json('0.1') = 0.1::number(3, 1)": [[True, True, True]],
    # Names
    'select id from raw."Old".sales': [[9]],
    "select id from frazil.RAW.old.SALES": [[9]],
    'select a from "Mixed" union all select a from "MIXED" order by 1': [[1], [2]],
    "with sales as (select 7 as id) select id from sales": [[7]],
    "with a as (select 1 x), b as (with a as (select 2 x) select x from a) select a.x, b.x from a, b": [[1, 2]],
}  # fmt: skip


@pytest.mark.parametrize("query", ANSWERS)
def test_a_query_gives_what_it_gives_in_snowflake(sales: Lake, query: str):
    assert sales.rows(query) == ANSWERS[query]


def test_null_of_a_document_leaves_duckdb_as_json_and_null_as_nothing(sales: Lake):
    compiled = sales.compiled("select variant:empty, variant:nope, variant:topic, struct:topic from alike where id = 1")

    assert sales.run(compiled) == [("null", None, '"orders"', "orders")]
    assert [each.is_document for each in compiled.columns] == [True, True, True, False]


def test_a_nested_column_leaves_duckdb_as_itself_unless_a_document_is_within(sales: Lake):
    compiled = sales.compiled(
        "select struct:tags, variant, array_construct(1, 'x'), object_construct('a', 1) from alike limit 1"
    )

    assert [each.is_document for each in compiled.columns] == [False, True, True, True]


def test_no_number_is_rounded_on_its_way(sales: Lake):
    sales.duckdb.execute(
        "CREATE TABLE exact AS SELECT {'a': 1234567890123456789012345678.0123456789::DECIMAL(38, 10)}::VARIANT AS v, "
        "{'a': 1234567890123456789012345678.0123456789::DECIMAL(38, 10)} AS s"
    )
    sales.put(TableName(PUBLIC, "EXACT"), "exact", [("v", Primitive("variant"))])

    ((value, path, number),) = sales.run(sales.compiled("select v, v:a, v:a::number(38, 10)::varchar from exact"))

    assert value == '{"a":1234567890123456789012345678.0123456789}'
    assert path == number == "1234567890123456789012345678.0123456789"


REFUSED = {
    "select a from mixed": '"MIXED" or "Mixed"',
    "select id from other.public.sales": "the catalog is frazil, not other",
    "select id from nowhere.sales": "no namespace nowhere; there are: public, raw.Old",
    "select 1 / 0": "division by zero",
    "select id / 0 from sales": "division by zero",
    "select * from sales pivot (sum(amount) for month in (any))": "PIVOT ANY",
    "select * from sales pivot (sum(amount), max(id) for month in ('jan'))": "PIVOT takes one aggregate",
    "select * from sales pivot (sum(nope) for month in ('jan'))": "no column nope",
    "select * ilike 'x%' from sales": "leaves no column",
    "select id from sales where (id, month) = (1, 'feb')": None,
    "select month + id from sales": "convert|number|DOUBLE",
    "select true + 1": "is not a number",
    "select struct + 1 from alike": "is not a number",
    "select 1 union select 'x'": "UNION: .* no type together",
    "select id from sales union select id, id from sales": "1 and 2 columns",
    "select id from sales group by sum(id)": "GROUP BY has an aggregate",
    "select value from lateral flatten(parse_json('[1]'), outer => true)": "stands after a relation",
    "select id::geography from sales": "GEOGRAPHY",
    "select 'x'::object": "JSON|OBJECT",
    "select id from sales limit 'x'": "LIMIT",
    "select sum(id) over (order by id rows between x preceding and current row) from sales": None,
    "select object_construct(*) from sales": "name the columns",
    "select 1 from sales a, sales b right join sales c on b.id = c.id": "query of its own",
    "with a as (select 1) select * from a at (version => 1)": "no past",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_is_refused_by_name(sales: Lake, query: str):
    with pytest.raises(InvalidQuery, match=REFUSED[query]):
        sales.rows(query)
