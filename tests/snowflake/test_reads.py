"""What a compiled query says of the tables it reads: columns, moments and filters."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.snowflake.lakes import PUBLIC, Lake

from frazil.errors import InvalidQuery
from frazil.model import Column, Primitive, StructType, TableName
from frazil.snowflake.compiled import Filter, Scan
from frazil.snowflake.lake import NOW, Moment


@pytest.fixture(scope="module")
def lake() -> Lake:
    lake = Lake()
    lake.create(
        "EVENTS",
        """SELECT id, name, amount, ts, tz, d, {'a': {'b': id, 'C': name}} AS s, v FROM (VALUES
            (1, 'alpha', 10.5::DECIMAL(10, 2), TIMESTAMP '2024-01-01 10:00:00', TIMESTAMPTZ '2024-01-01 10:00:00+00',
             DATE '2024-01-01', '{"k": 1}'::JSON::VARIANT),
            (2, 'beta', 20, TIMESTAMP '2024-01-02 10:00:00', TIMESTAMPTZ '2024-01-02 10:00:00+00', DATE '2024-01-02',
             '{"k": 2}'::JSON::VARIANT),
            (3, NULL, NULL, NULL, NULL, NULL, NULL)) AS t(id, name, amount, ts, tz, d, v)""",
    )
    return lake


def scan(lake: Lake, query: str) -> Scan:
    (found,) = lake.compiled(query).scans
    return found


COLUMNS = {
    "select count(*) from events": (),
    "select id from events": ("id",),
    "select ID + 1 as x from events where NAME = 'a' order by amount": ("id", "name", "amount"),
    "select * from events": ("id", "name", "amount", "ts", "tz", "d", "s", "v"),
    "select * exclude (s, v) from events": ("id", "name", "amount", "ts", "tz", "d"),
    "select s:a.b from events": ("s",),
    "select x.id from (select * from events) x": ("id", "name", "amount", "ts", "tz", "d", "s", "v"),
    "select f.value from events e, lateral flatten(e.v) f": ("v",),
}


@pytest.mark.parametrize("query", COLUMNS)
def test_only_columns_that_are_needed_are_read(lake: Lake, query: str):
    assert scan(lake, query).columns == COLUMNS[query]
    lake.rows(query)


def test_a_column_that_duckdb_cannot_have_is_in_the_way_of_no_other(lake: Lake):
    twins = StructType((Column(2, "a", Primitive("int")), Column(3, "A", Primitive("int"))))
    lake.duckdb.execute("CREATE TABLE fields_alike AS SELECT 1 AS id, NULL AS s")
    lake.put(TableName(PUBLIC, "FIELDS_ALIKE"), "fields_alike", [("id", Primitive("int")), ("s", twins)])

    assert lake.rows("select id from fields_alike") == [[1]]
    with pytest.raises(InvalidQuery, match=r"[Dd]uplicate"):
        lake.rows("select s:a from fields_alike")


def test_a_table_is_read_in_each_of_its_places(lake: Lake):
    first, second = lake.compiled("select a.id from events a join events b on a.id = b.id where b.name = 'x'").scans

    assert first.place != second.place
    assert (first.columns, second.columns) == (("id",), ("id", "name"))
    assert (first.filters, second.filters) == ((), (Filter(("name",), "=", ("x",)),))


FILTERS = {
    "id = 1": [Filter(("id",), "=", ("1",))],
    "1 < id and id <= 2": [Filter(("id",), ">", ("1",)), Filter(("id",), "<=", ("2",))],
    "id between -1 and 2": [Filter(("id",), ">=", ("-1",)), Filter(("id",), "<=", ("2",))],
    "id in (1, 2)": [Filter(("id",), "in", ("1", "2"))],
    "id <> 1": [Filter(("id",), "!=", ("1",))],
    "name is null": [Filter(("name",), "is null")],
    "not (name is null)": [Filter(("name",), "is not null")],
    "name is not null": [Filter(("name",), "is not null")],
    "name like 'al%'": [Filter(("name",), "starts with", ("al",))],
    "name = 'it''s'": [Filter(("name",), "=", ("it's",))],
    "s:a.b = 1": [Filter(("s", "a", "b"), "=", ("1",))],
    "s:a.C = 'alpha' and e.s.a.B = 1": [Filter(("s", "a", "C"), "=", ("alpha",)), Filter(("s", "a", "b"), "=", ("1",))],
    "amount >= 10.5": [Filter(("amount",), ">=", ("10.5",))],
    "d = '2024-01-01' and d < '2024-01-05'::date": [Filter(("d",), "=", ("2024-01-01",)), Filter(("d",), "<", ("2024-01-05",))],
    "ts > '2024-01-01'": [Filter(("ts",), ">", ("2024-01-01 00:00:00",))],
    "tz > '2024-01-01T01:00:00+01:00'": [Filter(("tz",), ">", ("2024-01-01 00:00:00+00:00",))],
    "(id = 1 and (name = 'a'))": [Filter(("id",), "=", ("1",)), Filter(("name",), "=", ("a",))],
    "s:a.b::int = 1 and id::number in (1, 2)": [Filter(("s", "a", "b"), "=", ("1",)), Filter(("id",), "in", ("1", "2"))],
    "name::string = 'a' and s:a.C::varchar like 'al%'": [
        Filter(("name",), "=", ("a",)), Filter(("s", "a", "C"), "starts with", ("al",)),
    ],
    # Not certain, or not about a column alone.
    "id = 1 or name = 'a'": [],
    "id = 1.5": [],
    "amount = 10.555": [],
    "id + 1 = 2": [],
    "name = upper('a')": [],
    "id = amount": [],
    "name like '%a'": [],
    "name like 'a!%' escape '!'": [],
    "name ilike 'a%'": [],
    "not id = 1": [],
    "id not in (1, 2)": [],
    "id in (1, null)": [],
    "id = '1'": [],
    "name::varchar(1) = 'a'": [],
    "id::string = '1'": [],
    "amount::int = 10": [],
    "ts::date = '2024-01-01'": [],
    "try_cast(name as varchar) = 'a'": [],
    "name = 1": [],
    "ts > '2024-1-1'": [],
    "v:k = 1": [],
    "v is null": [],
    "s:a.nope = 1": [],
    "S:a:B = 1": [],
}  # fmt: skip


@pytest.mark.parametrize("condition", FILTERS)
def test_a_condition_about_one_column_is_handed_on(lake: Lake, condition: str):
    assert list(scan(lake, f"select id from events e where {condition}").filters) == FILTERS[condition]


@pytest.mark.parametrize(
    ("query", "filtered"),
    [
        ("select 1 from events a left join events b on a.id = b.id where a.id = 1 and b.id = 2", (True, False)),
        ("select 1 from events a right join events b on a.id = b.id where a.id = 1 and b.id = 2", (False, True)),
        ("select 1 from events a full join events b on a.id = b.id where a.id = 1 and b.id = 2", (False, False)),
        ("select 1 from events a join events b on a.id = 1 and b.id = 2", (True, True)),
        ("select 1 from events a left join events b on a.id = 1 and b.id = 2", (False, True)),
        ("select 1 from events a right join events b on a.id = 1 and b.id = 2", (True, False)),
        ("select 1 from events a full join events b on a.id = 1 and b.id = 2", (False, False)),
        ("select 1 from events a, events b where a.id = 1 and b.id = 2", (True, True)),
        ("select 1 from events a sample (10), events b where a.id = 1 and b.id = 2", (False, True)),
    ],
)
def test_of_what_an_outer_join_may_leave_empty_and_of_samples_all_rows_are_read(
    lake: Lake, query: str, filtered: tuple[bool, bool]
):
    assert tuple(bool(each.filters) for each in lake.compiled(query).scans) == filtered


ATOMS = st.sampled_from(
    ["{}.id = 1", "{}.id between 1 and 2", "{}.id <> 2", "{}.name like 'al%'", "{}.name is null", "{}.name is not null",
     "{}.s:a.b in (1, 3)", "{}.amount >= 15", "{}.d = '2024-01-02'", "{}.tz > '2024-01-01T12:00:00Z'"]
)  # fmt: skip
ABOUT = st.tuples(ATOMS, st.sampled_from("ab")).map(lambda pair: pair[0].format(pair[1]))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(ABOUT, max_size=3),
    st.sampled_from(["join", "left join", "right join", "full join"]),
    st.lists(ABOUT, max_size=2),
)
def test_rows_outside_of_the_filters_change_no_answer(lake: Lake, where: list[str], join: str, on: list[str]):
    query = (
        f"select a.id, b.id from events a {join} events b on {' and '.join(['a.id = b.id', *on])} "
        f"where {' and '.join(['true', *where])} order by 1, 2"
    )
    compiled = lake.compiled(query)

    assert lake.run(compiled) == lake.run(compiled, pruned=True)


def test_moments_are_handed_on(lake: Lake):
    def moment(clause: str) -> Moment:
        return scan(lake, f"select id from events {clause}").moment

    assert moment("") == NOW
    assert moment("at (version => 12)") == Moment(snapshot=12)
    assert moment("before (version => 12) as e") == Moment(snapshot=12, before=True)
    new_year = Moment(timestamp=1704067200000)
    assert moment("at (timestamp => '2024-01-01'::timestamp)") == new_year
    assert moment("at (timestamp => '2024-01-01 01:00:00 +01:00'::timestamp_tz)") == new_year
    assert moment("at (timestamp => to_timestamp(1704067200))") == new_year
    assert moment("at (timestamp => dateadd(day, -1, '2024-01-02'::timestamp))") == new_year
    offset = moment("at (offset => -60*5)").timestamp
    assert offset is not None
    assert abs(dt.datetime.now(dt.UTC).timestamp() - 300 - offset / 1000) < 60
    assert (TableName(PUBLIC, "EVENTS"), Moment(snapshot=12)) in lake.asked


def test_changes_lie_between_two_moments(lake: Lake):
    changes = "changes (information => append_only) at (version => 1)"

    found = scan(lake, f"select id from events {changes} end (version => 2) where id = 1")
    assert (found.since, found.moment) == (Moment(snapshot=1), Moment(snapshot=2))
    assert found.filters == (Filter(("id",), "=", ("1",)),)
    assert scan(lake, f"select id from events {changes}").moment == NOW
    with pytest.raises(InvalidQuery, match="APPEND_ONLY"):
        lake.rows("select id from events changes (information => x) at (version => 1)")


@pytest.mark.parametrize(
    "clause",
    ["at (timestamp => id)", "at (timestamp => 'never'::timestamp)", "at (version => 'x')", "at (offset => 'x')",
     "at (statement => 'x')", "at (stream => 'x')", "at (timestamp => (select max(ts) from events))"],
)  # fmt: skip
def test_a_moment_that_is_none_is_refused(lake: Lake, clause: str):
    with pytest.raises(InvalidQuery):
        lake.rows(f"select id from events {clause}")


def test_information_schema_has_fixed_columns(lake: Lake):
    compiled = lake.compiled("select table_name from information_schema.tables where table_schema = 'public'")

    (found,) = compiled.scans
    assert found.table == TableName(("information_schema",), "tables")
    assert found.columns == ("TABLE_SCHEMA", "TABLE_NAME")
    assert lake.heads("select * from frazil.INFORMATION_SCHEMA.COLUMNS")[:4] == [
        "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME",
    ]  # fmt: skip
    with pytest.raises(InvalidQuery, match="tables"):
        lake.rows("select * from information_schema.tabels")
