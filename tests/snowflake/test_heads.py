"""What a column is called in a result."""

from __future__ import annotations

import pytest

from frazil.snowflake.heads import head
from frazil.snowflake.statements import Select, read


def _read(query: str) -> Select:
    statement = read(query)
    assert isinstance(statement, Select)
    return statement


HEADS = [
    ("record_metadata:CreateTime", "CREATETIME"),
    ("record_content:ID", "ID"),
    ("record_metadata:CreateTime::bigint", "CREATETIME"),
    ("r:a.b[0].c", "C"),
    ('r:a."Key b"', "Key b"),
    ("r['Key']", "Key"),
    ("r:a[0]", "R:A[0]"),
    ("f.value:sku::string", "SKU"),
    ("id", "ID"),
    ("o.id", "ID"),
    ('"id"', "id"),
    ("r.topic", "TOPIC"),
    ("id as x", "X"),
    ('id as "x y"', "x y"),
    ("id x", "X"),
    ("count(*)", "COUNT(*)"),
    ("sum(  a )", "SUM( A )"),
    ("id::int", "ID::INT"),
    ('"a" + b', '"a" + B'),
    ("'a'", "'A'"),
    ("1", "1"),
    ("(select max(a) from t)", "(SELECT MAX(A) FROM T)"),
    ("case when a then 1 end", "CASE WHEN A THEN 1 END"),
    ("a /* why */ + 1", "A + 1"),
]


@pytest.mark.parametrize(("item", "expected"), HEADS)
def test_a_column_is_called_as_in_snowflake(item: str, expected: str) -> None:
    alone, among_others = (
        _read(query) for query in (f"select {item} from t", f"select distinct 7, {item}, left(x, y) from t")
    )

    assert head(alone.tree.expressions[0], alone.items[0]) == expected
    assert head(among_others.tree.expressions[1], among_others.items[1]) == expected


def test_words_before_the_select_list_are_no_part_of_its_first_text() -> None:
    assert _read("select top 3 a + 1 from t").items == ("A + 1",)
    assert _read("select distinct a + 1 from t").items == ("A + 1",)


def test_the_texts_are_those_of_the_first_select_list() -> None:
    statement = _read("with x as (select a, b from t) (select f.y, left(a, 1) from x) union select 1, 2")

    assert statement.items == ("F.Y", "LEFT(A, 1)")
