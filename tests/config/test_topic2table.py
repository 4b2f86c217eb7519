from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config.topic2table import Entry, Target, Topic2Table, parse
from frazil.errors import EmptyTopic


def test_an_unquoted_table_is_upper_case_and_found_ignoring_case() -> None:
    tables = Topic2Table.read("ab@cd:abcd, 1234:_1234")

    assert tables.resolve("ab@cd") == Target("ABCD", quoted=False)
    assert tables.resolve("1234") == Target("_1234", quoted=False)


def test_a_quoted_table_is_taken_as_written_and_a_quoted_topic_may_hold_separators() -> None:
    tables = Topic2Table.read('"topic:one" : "table,one" , "topic two":"table two",other:"e"')

    assert tables.resolve("topic:one") == Target("table,one", quoted=True)
    assert tables.resolve("topic two") == Target("table two", quoted=True)
    assert tables.resolve("other") == Target("e", quoted=True)


def test_a_topic_without_an_entry_gets_a_generated_exact_name() -> None:
    tables = Topic2Table.read("orders:sales")

    assert tables.resolve("Payments") == Target("PAYMENTS", quoted=True)
    assert tables.resolve("_aA1-") == Target("_AA1__90688251", quoted=True)


def test_a_dot_in_a_topic_stands_for_itself() -> None:
    tables = Topic2Table.read("shop.orders:sales")

    assert tables.resolve("shop.orders").name == "SALES"
    assert tables.resolve("shop-orders").name != "SALES"


@pytest.mark.parametrize("text", ["", "  ", "a:b,", " a : b , "])
def test_blanks_and_a_comma_at_the_end_are_allowed(text: str) -> None:
    assert len(parse(text)) == (1 if "a" in text else 0)


@pytest.mark.parametrize("topic", ["", None])
def test_no_topic_is_an_error_with_its_code(topic: str | None) -> None:
    with pytest.raises(EmptyTopic, match="0020"):
        Topic2Table().resolve(topic)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"topic:table', "never closed at position 0"),
        ('topic:"table', "never closed at position 6"),
        ('"":t', "nothing between the quotes at position 0"),
        ('a:""', "nothing between the quotes at position 2"),
        ("topic table", "':' expected at position 6"),
        ("topic", "':' expected at position 5"),
        ("topic:", "a table expected at position 6"),
        (":table", "a topic or the end expected at position 0"),
        ("a:b c:d", "',' expected at position 4"),
        ("a:b,,c:d", "a topic or the end expected at position 4"),
        ("topic:one, topic:two", "the topic 'topic' is given twice"),
        ("a.b:x, a-b:y", "the topics 'a.b' and 'a-b' overlap"),
        (".*:a, .*foo:b", "the topics '.*' and '.*foo' overlap"),
        (".*_cat:cat_table", "'.*_cat' is a pattern, which is not built yet"),
        ("(a:b", "'(a' is a pattern"),
        ("a:db.public.b", "names another schema"),
        ('a:"b\x07"', "control character"),
    ],
)
def test_a_map_that_cannot_be_run_says_where_and_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Topic2Table.read(text)

    assert problem in str(caught.value)


def test_all_that_is_wrong_with_well_formed_entries_is_listed_at_once() -> None:
    with pytest.raises(ValueError, match=r"given twice.*pattern"):
        Topic2Table.read("a:b,a:c,x+:d")


@given(st.text(alphabet='ab.*+(\\{9}:," \n$é'))
def test_any_text_is_either_a_map_or_a_value_error(text: str) -> None:
    try:
        tables = Topic2Table.read(text)
    except ValueError:
        return
    assert parse(str(tables)) == tables.entries


token = st.text(st.characters(exclude_characters='"', codec="utf-8"), min_size=1)
bare = token.filter(lambda text: not any(c.isspace() or c in ":," for c in text))
entry = st.builds(Entry, token, bare, st.just(value=False)) | st.builds(Entry, token, token, st.just(value=True))


@given(st.lists(entry))
def test_entries_written_out_are_parsed_back(entries: list[Entry]) -> None:
    assert list(parse(", ".join(map(str, entries)))) == entries
