"""What is on no list is refused before anything is looked up, and the message names it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.snowflake.allow import PARTS
from frazil.snowflake.definitions.values import DropTable
from frazil.snowflake.functions import CLASSES, NAMED
from frazil.snowflake.statements import Select, read

REFUSED = [
    ("", "empty"),
    (";", "empty"),
    ("select", None),
    ("delete from orders", "DELETE"),
    ("insert into orders select 1", "INSERT"),
    ("create table x as select 1", "CREATE"),
    ("drop view orders", "DROP VIEW"),
    ("merge into a using b on 1 = 1 when matched then delete", "MERGE"),
    ("set x = 1", "SET"),
    ("use schema public", "USE"),
    ("call f()", "CALL"),
    ("copy into @stage from orders", "COPY"),
    ("add jar '/tmp/x.jar'", "ADD"),
    ("select 1; select 2", "several statements"),
    ("select 1; drop table orders", "several statements"),
    ("with x as (delete from orders returning *) select * from x", None),
    ("select 'never closed", "cannot be read"),
    ('select "never closed', "cannot be read"),
    ("select a\x00b", "NUL"),
    ("select '\ud800'", "surrogate"),
    ("select (1", "cannot be parsed"),
    ("select case when 1 then", "cannot be parsed"),
    ("select 1 from from", None),
    ("select reflect('java.lang.System', 'getenv', 'HOME')", "REFLECT"),
    ("select java_method('java.lang.Runtime', 'getRuntime')", "JAVA_METHOD"),
    ("select try_reflect('java.lang.System', 'exit', 0)", "TRY_REFLECT"),
    ("select transform(a) using 'sh' as (b) from orders", None),
    ("select read_files('/etc/passwd')", "READ_FILES"),
    ("select input_file_name() from orders", "INPUT_FILE_NAME"),
    ("select current_user(), current_catalog()", "CURRENT_USER"),
    ("select raise_error('x')", "RAISE_ERROR"),
    ("select assert_true(false)", "ASSERT_TRUE"),
    ("select from_json('{}', 'a int')", "FROM_JSON"),
    ("select xpath('<a/>', 'b')", "XPATH"),
    ("select aes_decrypt(a, b) from orders", "AES_DECRYPT"),
    ("select system$whitelist()", "SYSTEM$WHITELIST"),
    ("select \"upper\"('a')", "upper"),
    ("select identifier('orders')", "IDENTIFIER"),
    ("select * from identifier('orders')", "IDENTIFIER"),
    ("select * from table(generator(rowcount => 10))", "GENERATOR"),
    ("select * from table(result_scan('x'))", "RESULT_SCAN"),
    ("select * from range(10)", "RANGE"),
    ("select * from read_files('/etc')", "READ_FILES"),
    ("select * from directory(@stage)", "DIRECTORY"),
    ("select * into x from orders", "INTO"),
    ("select * from orders for update", "FOR UPDATE"),
    ("select * from orders match_recognize (pattern (a) define a as 1)", "MATCH_RECOGNIZE"),
    ("select * from orders connect by prior a = b", None),
    ("select * from orders asof join b match_condition (orders.a >= b.a)", None),
    ("select * from (orders join b on 1 = 1)", "join in parentheses"),
    ("with recursive x as (select 1) select * from x", "RECURSIVE"),
    ("select distinct on (a) b from orders", "DISTINCT ON"),
    ("select * replace (1 as a) from orders", "REPLACE"),
    ("select a from orders where a = :b", "PLACEHOLDER"),
    ("select a from orders where a = ?", "PLACEHOLDER"),
    ("select $1 from orders", "PARAMETER"),
    ("select a -> b from orders", None),
    ("select a ->> 'b' from orders", None),
    ("select a:b[*] from orders", "WILDCARD"),
    ("select filter(a, x -> x > 1) from orders", "FILTER"),
    ("select a collate 'en' from orders", "COLLATE"),
    ("select ~a from orders", None),
    ("select sum(a) filter (where b) from orders", None),
    ("select a from orders where a = b(+)", "(+)"),
    ("select " + "(" * 5000 + "1" + ")" * 5000, "deeply"),
    ("select " + "not " * 20000 + "true", None),
]


@pytest.mark.parametrize(("query", "named"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_is_on_no_list_is_refused_by_name(query: str, named: str | None) -> None:
    with pytest.raises(InvalidQuery) as refused:
        read(query)

    assert named is None or named.lower() in refused.value.message.lower()
    assert len(refused.value.message) < 600


@pytest.mark.parametrize(
    "query",
    [
        "select 1",
        "select 1;",
        "-- a comment\nselect /* another */ 1 // and one more",
        "(select 1) order by 1",
        "with x as (select 1 as a) select a from x union all select 2 limit 1",
        "select record_metadata:CreateTime from orders where record_metadata:topic = 'x'",
        "select f.value:sku::string from orders, lateral flatten(input => items) f",
        "select a from t qualify row_number() over (partition by b order by c) = 1",
        "values (1), (2)",
        "select * from orders at (timestamp => '2024-01-01'::timestamp)",
        "select * from orders before (version => 1)",
        "select * from orders changes (information => append_only) at (version => 1) end (version => 2)",
        "select * ilike '%a%' exclude (b) rename (c as d) from orders",
        "select a from orders order by all",
        "explain select 1",
        "show tables",
        "show columns in table orders",
        "show schemas like 'p%'",
        "describe table orders",
    ],
)
def test_what_people_write_passes(query: str) -> None:
    read(query)


VOCABULARY = """
    select from where group by having qualify order limit offset with as union all except distinct on using join left
    lateral table flatten values cast try_cast over partition rows between and or not in like is null case when then else
    end exists interval extract ( ) ( ) [ ] { } , , . : :: * + - / % || = < > <> => -> -- /* */ ; ' " ` $ $1 ? :x @x
    a b orders items "Q" 'text' 1 2.5 1e9 upper count sum reflect java_method read_files variant_get current_user array
    object int string number variant timestamp recursive pivot sample at before for update into delete drop insert
"""
WORDS = st.sampled_from(VOCABULARY.split())


@settings(max_examples=1500, deadline=None)
@given(st.lists(WORDS, max_size=25), st.booleans())
def test_whatever_words_come_only_what_is_on_the_lists_passes(words: list[str], begin: bool) -> None:
    text = " ".join((["select"] if begin else []) + words)

    try:
        statement = read(text)
    except InvalidQuery:
        return

    if isinstance(statement, DropTable):
        return
    assert isinstance(statement, Select)
    for node in statement.tree.walk():
        assert type(node) in PARTS or type(node) in CLASSES
        if isinstance(node, exp.Anonymous):
            assert node.this.upper() in {*NAMED, "TABLE"}


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60))
def test_whatever_characters_come_the_answer_is_a_query_or_a_refusal(text: str) -> None:
    for query in (text, f"select {text}", f"select '{text}'", f'select "{text}" from a'):
        with contextlib.suppress(InvalidQuery):
            read(query)
