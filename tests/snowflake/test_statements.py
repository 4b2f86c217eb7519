"""Several statements in one text, and what is no SELECT."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import InvalidQuery
from frazil.snowflake.statements import Describe, Explain, Name, Select, Show, ShowChannels, read, split

PIECES = ["select 1", "select ';'", 'select ";"', "select 1 -- ;\n", "select /* ; */ 2", "select $$;$$", "show tables"]


@given(st.lists(st.sampled_from(PIECES), max_size=5), st.booleans())
def test_semicolons_in_texts_names_and_comments_end_no_statement(pieces: list[str], ended: bool):
    text = " ;\n".join(pieces) + (";" if ended else "")

    found = split(text)

    assert len(found) == len(pieces)
    for written, statement in zip(pieces, found, strict=True):
        assert written.startswith(statement.strip())
        assert type(read(statement)) in (Select, Show)


def test_semicolons_alone_are_no_statement():
    assert split(" ; ;; -- nothing\n") == []
    assert split("") == []


def test_a_mistake_in_one_of_several_statements_has_its_place_in_the_whole_text():
    *_, wrong = split("select 1;\nselect '\n';  select nothing(2)")

    with pytest.raises(InvalidQuery) as refused:
        read(wrong)

    assert "line 3, column 12:" in refused.value.message


SHOWN = {
    "show tables": Show("tables"),
    "SHOW TABLES LIKE '%or%' IN SCHEMA \"Raw\"": Show("tables", "%or%", (Name("Raw", quoted=True),)),
    "show tables in frazil.public": Show("tables", None, (Name("frazil"), Name("public"))),
    "show columns in table public.orders": Show("columns", None, (Name("public"), Name("orders")), of_table=True),
    "show columns in orders": Show("columns", None, (Name("orders"),), of_table=True),
    "show columns": Show("columns"),
    "show schemas like 'p%'": Show("schemas", "p%"),
    "show terse tables limit 5": Show("tables", rows=5),
}


@pytest.mark.parametrize("text", SHOWN)
def test_show_says_what_is_asked(text: str):
    assert read(text) == SHOWN[text]


def test_show_channels_may_name_a_table():
    assert read("SHOW CHANNELS") == ShowChannels()
    assert read("show channels like 'SHOP%' in table public.orders") == ShowChannels(
        "SHOP%", (Name("public"), Name("orders"))
    )
    with pytest.raises(InvalidQuery, match="LIMIT"):
        read("SHOW CHANNELS LIMIT 3")


@pytest.mark.parametrize("text", ["describe table orders", "desc table orders", "DESC orders;"])
def test_describe_names_a_table(text: str):
    assert read(text) == Describe((Name("orders"),))


@pytest.mark.parametrize(
    "text",
    ["explain select 1 as a", "explain using text\nselect 1 as a;", "EXPLAIN with x as (select 1) select * from x"],
)
def test_explain_holds_a_query(text: str):
    assert isinstance(read(text), Explain)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("show warehouses", "WAREHOUSES"),
        ("show tables starts with 'a'", "STARTS WITH"),
        ("show", "SHOW"),
        ("describe warehouse x", "DESCRIBE TABLE"),
        ("explain delete from orders", "EXPLAIN"),
        ("explain", "EXPLAIN"),
        ("explain select nope(1)", "NOPE"),
        ("truncate table orders", "TRUNCATE"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(text: str, named: str):
    with pytest.raises(InvalidQuery) as refused:
        read(text)

    assert named in refused.value.message
