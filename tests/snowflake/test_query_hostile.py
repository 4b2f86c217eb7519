"""Queries, names and data that want more than a SELECT over the tables."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one
from tests.snowflake.lakes import Lake

from frazil.errors import InvalidQuery

NAMES = [
    "it's", 'say "so"', "back`tick", "back\\slash", "${env:HOME}", "${spark.app.name}", "a.b", "*", "-- x", "/* x */",
    "select", "Größe ⛄", "a\nb", "; drop table x", "' or '1'='1", "{c}", "%s", " ",
]  # fmt: skip
"""Names of columns and keys, as records may have them."""

slow_is_fine = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def odd() -> Lake:
    """A table whose columns have odd names, and a document whose keys have them."""
    lake = Lake()
    columns = ", ".join(f"{n} AS {quoted(name)}" for n, name in enumerate(NAMES))
    fields = ", ".join(f"{quoted(name)} INTEGER" for name in NAMES)
    document = "'" + json.dumps({name: n for n, name in enumerate(NAMES)}).replace("'", "''") + "'"
    lake.create('o\'d`d; "t"', "SELECT 7 AS id")
    lake.create(
        "ODD",
        f"SELECT {columns}, {document}::JSON::STRUCT({fields}) AS s, {document}::JSON::MAP(VARCHAR, INTEGER) AS m, "
        f"{document}::JSON::VARIANT AS v, {document} AS j",
    )
    return lake


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def test_columns_with_odd_names_are_found_by_their_names(odd: Lake):
    query = f"select {', '.join(quoted(name) for name in NAMES)} from odd"

    assert odd.rows(query) == [list(range(len(NAMES)))]
    assert odd.heads(query) == NAMES
    assert odd.heads("select * from odd")[: len(NAMES)] == NAMES
    assert odd.rows('select * from "o\'d`d; ""t"""') == [[7]]


@pytest.mark.parametrize("column", ["s", "m", "v", "j"])
def test_keys_with_odd_names_are_found_by_their_names(odd: Lake, column: str):
    by_bracket = ", ".join(f"{column}[{literal(name)}]::int" for name in NAMES)
    by_colon = ", ".join(f"{column}:{quoted(name)}::int" for name in NAMES)

    assert odd.rows(f"select {by_bracket} from odd") == [list(range(len(NAMES)))]
    assert odd.rows(f"select {by_colon} from odd") == [list(range(len(NAMES)))]


def test_aliases_with_odd_names_are_heads_and_can_be_referred_to(odd: Lake):
    for name in NAMES:
        alias = quoted(name)
        query = f"with {alias} as (select 1 as {alias}) select {alias}.{alias} as {alias} from {alias} order by {alias}"

        assert odd.rows(query) == [[1]]
        assert odd.heads(query) == [name]


@pytest.mark.parametrize("text", ["${env:HOME}", "${system:user.home}", "${spark.app.name}", "${spark:spark.master}"])
def test_nothing_of_the_machine_gets_into_a_text(odd: Lake, text: str):
    assert odd.rows(f"select '{text}', $${text}$$") == [[text, text]]


@slow_is_fine
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40))
@example("\\")
@example("\\'")
@example("a\\nb")
@example("\\u0041")
@example("\n\r\t\b\x1a\x7f")
@example("'; drop table odd; --")
@example("`\"'")
def test_every_text_arrives_as_it_was_written(odd: Lake, text: str):
    ((found, _),) = odd.rows(f"select {literal(text)}, v:{quoted(text or 'x')} from odd")

    assert found == text


VOCABULARY = """
select select from from odd odd o.d where group by all having qualify order limit 1 union all distinct join left on using
lateral table flatten ( input => v , path => 'a' ) values cast as int string variant array over partition rows between
and or not in like is null case when then else end exists ( ) ( ) ( ) [ ] { } , , , . : :: * + - / || = < > id s m v j
"Id" 'text' 'a' 0 1 2.5 upper count sum max listagg array_agg to_json parse_json variant_get iff coalesce dateadd day
current_date "${env:HOME}" '${env:HOME}' within interval
"""


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(VOCABULARY.split()), max_size=14), st.sampled_from(["", "from odd", "from odd o"]))
def test_whatever_words_come_duckdb_gets_tables_of_the_lake_only(odd: Lake, words: list[str], ending: str):
    text = f"select {' '.join(words)} {ending}"
    with contextlib.suppress(InvalidQuery):
        compiled = odd.compiled(text)
        tree = parse_one(compiled.text, read="duckdb")

        named = {cte.alias for cte in tree.find_all(exp.CTE)} | {scan.place for scan in compiled.scans}
        for table in tree.find_all(exp.Table):
            function = isinstance(table.this, exp.Func) and table.this.name.lower() in ("json_each", "json_tree")
            assert function or (table.name in named and not table.db)
        assert isinstance(tree, exp.Query)


BUILT = st.recursive(
    st.sampled_from(["id", "v", "v:a", 's:"a.b"', "j:x::int", "'x'", "1", "null", "m['a']", "current_date", "[1]"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["upper", "sum", "count", "to_json", "array_size", "typeof", "max"]), inner).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        ),
        st.tuples(inner, st.sampled_from(["+", "=", "||", "and", "like", "<"]), inner).map(" ".join),
        st.tuples(inner, inner, inner).map(lambda three: "iff({}, {}, {})".format(*three)),
        inner.map(lambda one: f"({one})::variant"),
        inner.map(lambda one: f"({one}):key"),
        inner.map(lambda one: f"case when {one} then {one} end"),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(BUILT)
def test_an_expression_is_answered_or_refused_never_a_crash(odd: Lake, expression: str):
    with contextlib.suppress(InvalidQuery):
        odd.rows(f"select {expression} from (select 1 as id, s, m, v, j from odd)")


@pytest.mark.parametrize(
    "query",
    [
        "select " + "[" * 25 + "1" + "]" * 25,
        "select " + "{'a':" * 25 + "1" + "}" * 25,
        "select " + "[greatest(" * 12 + "1" + ", 2)]" * 12,
        "select " + "greatest(" * 15 + "1" + ", 2)" * 15,
        "select 1 a0" + "".join(f", a{n - 1} + a{n - 1} a{n}" for n in range(1, 40)),
        "select * from (select 1 a0" + "".join(f", [a{n - 1}, a{n - 1}] a{n}" for n in range(1, 40)) + ")",
    ],
)
def test_a_query_that_doubles_at_every_level_is_refused(odd: Lake, query: str):
    with pytest.raises(InvalidQuery, match="the query is too large"):
        odd.rows(query)


def test_long_queries_and_nested_ones_that_do_not_double_are_answered(odd: Lake):
    listed = ", ".join(map(str, range(5000)))
    nested = "case when true then " * 20 + "abs(" * 20 + "1" + ")" * 20 + " end" * 20

    assert odd.rows(f"select 4999 in ({listed}) a, {nested} b, [[[[[1]]]]] c") == [[True, 1, [[[[[1]]]]]]]
