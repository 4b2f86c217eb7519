"""`frazil sql` over the same documents as STRUCT, VARIANT and JSON text: one query, one answer."""

from __future__ import annotations

import pytest
from tests.snowflake.lakes import KINDS, PUBLIC, Lake, create_alike, create_seed

from frazil.errors import InvalidQuery
from frazil.model import Primitive, TableName


@pytest.fixture(scope="module")
def alike() -> Lake:
    lake = Lake()
    create_alike(lake)
    create_seed(lake)
    return lake


@pytest.mark.parametrize("kind", KINDS)
def test_the_query_of_the_documentation_gives_what_the_documentation_shows(alike: Lake, kind: str):
    query = f"""
        select
               record_metadata:CreateTime,
               record_content:ID
            from table_{kind}
            where record_metadata:topic = 'PressureOverloadWarning';
    """

    assert alike.heads(query) == ["CREATETIME", "ID"]
    assert alike.rows(query) == [[1234567890, 62]]


ALIKE = {
    "paths": (
        ("select {c}:topic, {c}:nested.deep[0].sku, {c}:nested:deep[1]['qty'], {c}['tags'][1], {c}:headers.h1, "
        "{c}:\"a.b\", {c}['it''s'], {c}:\"it's\" from alike order by id"),
        [
            ["orders", "A", 30, "t2", "x", 1, "yes", "yes"],
            ["other", None, None, None, None, 2, "no", "no"],
            ["orders", "C", None, None, "z", 3, "yes", "yes"],
        ],
    ),
    "nowhere": (
        ("select {c}:Topic, {c}:createtime, {c}:tags[9], {c}:tags[-1], {c}:topic.x, {c}:tags.x, {c}:nested[0], {c}:h.i.j, "
        "{c}:headers.nope, {c}['no\"such''key'] from alike where id = 1"),
        [[None] * 10],
    ),
    "computed steps": (
        ("select {c}[lower('TOPIC')], {c}:tags[id - 1], get({c}, 'qty'), get_path({c}, 'nested.deep[0].sku'), "
        "get({c}:tags, 1) from alike where id = 1"),
        [["orders", "t1", 3, "A", "t2"]],
    ),
    "casts": (
        ("select {c}:topic::string, {c}:qty::number(10,2), {c}:CreateTime::varchar, {c}:paid::boolean, {c}:qty::varchar(2), "
        "{c}:CreateTime::timestamp, {c}:CreateTime::date, {c}:tags::array, {c}:nested::object:deep[0].sku::string, "
        "try_cast({c}:topic::string as int), {c}:empty::string from alike where id = 1"),
        [["orders", 3, "1700000000000", True, "3", "2023-11-14T22:13:20.000", "2023-11-14", ["t1", "t2"], "A", None, None]],
    ),
    "comparisons": (
        ("select id from alike where {c}:topic = 'orders' and {c}:qty > 9 and {c}:price <= 0.25 and {c}:paid "
        "and {c}:CreateTime between 1700000000001 and 1800000000000 and {c}:\"a.b\" in (3, 4) and {c}:topic like 'or%' "
        "and {c}:CreateTime::timestamp >= '2023-11-15' and not {c}:topic <> 'orders' and {c}:nope is null"),
        [[3]],
    ),
    "numbers are ordered as numbers": ("select id from alike order by {c}:qty desc", [[3], [2], [1]]),
    "texts are ordered as texts": ("select id from alike order by {c}:topic, {c}:price desc", [[1], [3], [2]]),
    "groups": (
        "select {c}:topic t, count(*), sum({c}:qty) from alike group by {c}:topic having t is not null order by 2",
        [["other", 1, 20], ["orders", 2, 103]],
    ),
    "group by all": ("select {c}:topic, max({c}:qty) from alike group by all order by 1", [["orders", 100], ["other", 20]]),
    "group by number": ("select {c}:paid, min({c}:price) from alike group by 1 order by 2", [[True, 0.25], [False, 2.25]]),
    "rollup": (
        "select {c}:topic, count(*) from alike group by rollup({c}:topic) order by 2, 1",
        [["other", 1], ["orders", 2], [None, 3]],
    ),
    "distinct": ("select distinct {c}:topic, {c}:paid from alike order by 1 desc", [["other", False], ["orders", True]]),
    "union": ("select {c}:topic from alike union select 'x' order by 1", [["orders"], ["other"], ["x"]]),
    "except": ("select {c}:topic from alike minus select {c}:topic from alike where id = 2", [["orders"]]),
    "aggregates": (
        ("select count(distinct {c}:topic), min({c}:qty), max({c}:qty), max({c}:topic), count_if({c}:paid), "
        "avg({c}:qty)::number(5,1), listagg({c}:topic, '+') within group (order by {c}:qty desc), "
        "array_agg({c}:qty) within group (order by {c}:qty desc), any_value({c}:nope) from alike"),
        [[2, 3, 100, "other", 2, 41.0, "orders+other+orders", [100, 20, 3], None]],
    ),
    "qualify": (
        "select id from alike qualify row_number() over (partition by {c}:topic order by {c}:qty desc) = 1 order by {c}:qty",
        [[2], [3]],
    ),
    "window": ("select lag({c}:qty) over (order by id) from alike order by id", [[None], [3], [20]]),
    "joins": (
        "select a.id, b.id from alike a join alike b on a.{c}:topic = b.{c}:topic and a.id < b.id",
        [[1, 3]],
    ),
    "subqueries": (
        "select id from alike where {c}:qty = (select max({c}:qty) from alike) and {c}:topic in (select {c}:topic from alike)",
        [[3]],
    ),
    "through queries": (
        ("with a as (select {c} as doc from alike), b as (select doc:nested n, doc:topic topic from a) "
        "select x.n:deep[0].sku::string from (select * from b) x where x.topic = 'orders' order by 1"),
        [["A"], ["C"]],
    ),
    "flatten": (
        ("select id, f.index, f.key, f.path, f.value:sku::string, f.value:qty from alike a, "
        "lateral flatten(input => a.{c}:nested.deep) f order by id, f.index"),
        [[1, 0, None, "[0]", "A", 2], [1, 1, None, "[1]", "B", 30], [3, 0, None, "[0]", "C", 4]],
    ),
    "flatten an object": (
        "select key, value::string, path, index from alike, table(flatten({c}, path => 'headers')) order by id, key",
        [["h1", "x", "headers.h1", None], ["h2", "y", "headers.h2", None], ["h1", "z", "headers.h1", None]],
    ),
    "flatten outer": (
        "select id, value from alike, lateral flatten(input => {c}:tags, outer => true) order by id, index",
        [[1, "t1"], [1, "t2"], [2, None], [3, "t1"]],
    ),
    "left join flatten": (
        "select id, f.value from alike left join lateral flatten({c}:tags) f order by id, f.index",
        [[1, "t1"], [1, "t2"], [2, None], [3, "t1"]],
    ),
    "flatten twice": (
        ("select id, g.key, g.this:sku::string from alike, lateral flatten({c}:nested.deep) f, lateral flatten(f.value) g "
        "where g.key = 'qty' order by 1, 3"),
        [[1, "qty", "A"], [1, "qty", "B"], [3, "qty", "C"]],
    ),
    "flatten by mode": (
        ("select count(*) from alike, lateral flatten({c}:headers, mode => 'array') union all "
        "select count(*) from alike, lateral flatten({c}:headers, mode => 'object') order by 1"),
        [[0], [3]],
    ),
    "one number for each row that is flattened": (
        ("select count(distinct f.seq), count(distinct g.seq) from alike, lateral flatten({c}:nested.deep) f, "
        "lateral flatten(f.value) g"),
        [[2, 3]],
    ),
    "functions": (
        ("select array_size({c}:tags), object_keys({c}:headers), typeof({c}:topic), iff({c}:paid, {c}:tags, null), "
        "coalesce({c}:nope, 'none'), {c}:topic || '!', upper({c}:topic), {c}:qty + 1, round({c}:price), "
        "to_char(to_timestamp({c}:CreateTime), 'YYYY-MM-DD'), date_trunc('month', {c}:CreateTime::timestamp)::date, "
        "array_contains('t2'::variant, {c}:tags), case {c}:topic when 'orders' then 1 end, is_null_value({c}:topic), "
        "decode({c}:topic, 'orders', {c}:qty), nvl({c}:nope, {c}:qty), greatest({c}:qty, 7), split_part({c}:topic, 'd', 1) "
        "from alike where id = 1"),
        [
            [2, ["h1", "h2"], "VARCHAR", ["t1", "t2"], "none", "orders!", "ORDERS", 4, 2, "2023-11-14", "2023-11-01",
             True, 1, False, 3, 3, 7, "or"],
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALIKE)
def test_a_query_gives_the_same_over_struct_variant_and_json_text(alike: Lake, name: str, kind: str):
    query, expected = ALIKE[name]

    assert alike.rows(query.replace("{c}", f'"{kind}"')) == expected


def test_a_variant_is_shown_as_json_and_cast_to_text_without_quotes(alike: Lake):
    assert alike.rows("select variant:topic, variant:topic::string from alike where id = 1") == [["orders", "orders"]]
    assert alike.value("to_json(variant:topic)") == '"orders"'
    assert alike.value("variant:headers::string") == '{"h1":"x","h2":"y"}'


def test_text_that_is_no_json_has_nothing_inside(alike: Lake):
    assert alike.rows("select column1:a, column1:a is null from (values ('{\"a\": 1}'), ('{\"a\": ')) order by 1") == [
        [1, False],
        [None, True],
    ]


def test_a_cast_that_cannot_be_is_an_error_over_variant_and_struct_alike(alike: Lake):
    for kind in KINDS:
        with pytest.raises(InvalidQuery, match="orders"):
            alike.rows(f'select "{kind}":topic::int from alike')


def test_names_match_ignoring_case_and_exactly_in_quotes(alike: Lake):
    assert alike.rows('select ID, A.Id, "id" from Alike a where a.iD = 1') == [[1, 1, 1]]
    assert alike.rows('select struct.TOPIC, struct."topic", public.alike.id from alike where id = 1') == [
        ["orders", "orders", 1]
    ]
    for query in (
        'select "ID" from alike',
        'select id from "alike"',
        'select struct."TOPIC".x from alike x join alike using ("ID")',
    ):
        with pytest.raises(InvalidQuery, match=r"there is no (column|table)|USING"):
            alike.rows(query)


def test_two_columns_that_differ_by_case_must_be_named_in_quotes(alike: Lake):
    alike.duckdb.execute('CREATE VIEW twins AS SELECT 1 AS "Id", 2 AS "ID"')
    alike.put(TableName(PUBLIC, "TWINS"), "twins", [("Id", Primitive("int")), ("ID", Primitive("int"))])

    assert alike.heads("select * from twins") == ["Id", "ID"]
    assert alike.rows("select * from twins") == [[1, 2]]
    with pytest.raises(InvalidQuery, match=r'"ID" or .*"Id"'):
        alike.rows("select id from twins")
    assert alike.rows('select "ID" from twins') == [[2]]
    assert alike.rows('select "Id", "ID" from twins') == [[1, 2]]


HEADS = {
    "select * from alike": ["id", "struct", "variant", "text"],
    'select * exclude (struct, "text") rename id as n from alike': ["N", "variant"],
    "select id, variant:topic, variant:topic::string t, count(*) over () from alike": [
        "ID", "TOPIC", "T", "COUNT(*) OVER ()",
    ],
    "select x.* from (select id, id + 1, variant:topic from alike) x": ["ID", "ID + 1", "TOPIC"],
    'with x(a, "b") as (select 1, 2) select * from x': ["A", "b"],
    "select 1 as a union all select 2 as b": ["A"],
    "select * from alike, lateral flatten(variant) limit 1": [
        "id", "struct", "variant", "text", "SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS",
    ],
}  # fmt: skip


@pytest.mark.parametrize("query", HEADS)
def test_columns_have_the_heads_that_snowflake_gives_them(alike: Lake, query: str):
    assert alike.heads(query) == HEADS[query]


REFUSED = {
    "select * from nope": r"no table public\.NOPE; public has: .*ALIKE",
    'select * from "parquet"."/etc/passwd"': "no table",
    "select * from other.public.alike": "the catalog is frazil, not other",
    "select * from alike.snapshots": "no table",
    "select nope from alike": "no column nope; there are: id, struct",
    "select a.nope from alike a": r"no column a\.nope",
    "select session_user": "no column",
    "select x.* from alike": "FROM has no x",
    "select id:a from alike": "id is a NUMBER",
    "select * from alike, lateral flatten(id)": "NUMBER",
    "select * from alike, lateral flatten(variant, mode => 'x')": "mode",
    "select * from alike, lateral flatten(variant, depth => 2)": "depth",
    "select * from alike, lateral flatten(variant, path => 'a..b')": "no path",
    "select id from alike a, alike b": r'a\."id" or b\."id"',
    "select upper() from alike": "UPPER takes 1 argument, not 0",
    "select upper(id, id) from alike": "UPPER takes 1 argument, not 2",
    "select 1 from alike a left join alike b": "LEFT JOIN needs ON",
    "select id::geography from alike": "GEOGRAPHY",
    "select id::geometry from alike": "GEOMETRY",
    "select id::number(39) from alike": "38 digits",
    "select id from alike limit id": "LIMIT",
    "select id from alike limit -1": "LIMIT -1",
    "select id from alike order by 2": "1 columns",
    "select id from alike group by 2": "1 columns",
    "select distinct variant:topic from alike order by id": "SELECT DISTINCT",
    "select id from alike union select id, id from alike": "1 and 2 columns",
    "select 1 where 1 in (select id, id from alike)": "one column",
    "select (select id, id from alike)": "one column",
    "select dateadd(eon, 1, current_date)": "EON is no unit",
    "select to_char(current_date, 'QQQQ')": "no element",
    "select to_date('x', id) from alike": "format",
    "select regexp_like('a', 'a', 'x')": "flag 'x'",
    "select 123456789012345678901234567890123456789": "38 digits",
    "select sum(id), id from alike": "neither grouped by",
    "select upper(array_construct(1)) + 1 from alike": "convert",
    "select 'x'::int": "convert",
    "select variant.* from alike": "FROM has no variant",
    "select count(alike.*) from alike": "several columns",
    "select " + "(" * 30 + "select 1" + ")" * 30: None,
}


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: query[:60])
def test_what_cannot_be_answered_is_refused_and_the_message_says_why(alike: Lake, query: str):
    if REFUSED[query] is None:
        assert alike.rows(query) == [[1]]
        return

    with pytest.raises(InvalidQuery, match=REFUSED[query]):
        alike.rows(query)
