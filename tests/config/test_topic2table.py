from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.config.entries import Entry, parse
from frazil.config.topic2table import TableMapping, Topic2Table
from frazil.errors import EmptyTopic, TableNameRefused

topics = st.text("abAB01._-", min_size=1, max_size=249).filter(lambda topic: topic not in (".", ".."))


def test_an_unquoted_table_is_upper_case_and_found_ignoring_case() -> None:
    tables = Topic2Table.read("ab@cd:abcd, 1234:_1234")

    assert tables.resolve("ab@cd") == TableMapping("ABCD", quoted=False)
    assert tables.resolve("1234") == TableMapping("_1234", quoted=False)


def test_a_quoted_table_is_taken_as_written_and_a_quoted_topic_may_hold_separators() -> None:
    tables = Topic2Table.read('"topic:one" : "table,one" , "topic two":"table two",topic:e,other:"e"')

    assert tables.resolve("topic:one") == TableMapping("table,one", quoted=True)
    assert tables.resolve("topic two") == TableMapping("table two", quoted=True)
    assert tables.resolve("topic") == TableMapping("E", quoted=False)
    assert tables.resolve("other") == TableMapping("e", quoted=True)


def test_a_topic_without_an_entry_gets_a_generated_exact_name() -> None:
    tables = Topic2Table.read("orders:sales")

    assert tables.resolve("Payments") == TableMapping("PAYMENTS", quoted=True)
    assert tables.resolve("_aA1-") == TableMapping("_AA1__90688251", quoted=True)


def test_a_topic_without_an_entry_keeps_its_name_if_names_are_not_sanitised() -> None:
    tables = Topic2Table.read("orders:sales")

    assert tables.resolve("shop.Payments", sanitised=False) == TableMapping("shop.Payments", quoted=True)
    assert tables.resolve("a..b", sanitised=False) == TableMapping("a..b", quoted=True)
    assert tables.resolve("orders", sanitised=False) == TableMapping("SALES", quoted=False)


def test_the_topic_of_an_entry_is_a_pattern_for_whole_names() -> None:
    tables = Topic2Table.read(".*_cat:cat_table,.*_dog:dog_table, shop.orders:sales")

    assert tables.resolve("calico_cat").name == "CAT_TABLE"
    assert tables.resolve("hot_dog").name == "DOG_TABLE"
    assert tables.resolve("hot_dogs").name == "HOT_DOGS"
    assert tables.resolve("shop-orders").name == "SALES"


def test_a_topic_spelled_out_comes_before_the_patterns_and_those_come_in_their_order() -> None:
    # Patterns that share a topic are only refused where one matches the other's text.
    tables = Topic2Table.read('a.*:first, .*b:second, "t[1]":third')

    assert tables.resolve("acb").name == "FIRST"
    assert tables.resolve("cb").name == "SECOND"
    assert tables.resolve("t[1]").name == "THIRD"
    assert tables.resolve("t1").name == "THIRD"


@pytest.mark.parametrize(
    ("text", "topic", "target"),
    [
        ("src_(.*):dest_$1", "src_orders", TableMapping("DEST_ORDERS", quoted=False)),
        ('src_(.*):"Dest_$1"', "src_Orders", TableMapping("Dest_Orders", quoted=True)),
        (r'(.*)\.(.*):"$1_$2"', "db.events", TableMapping("db_events", quoted=True)),
        ("(?<env>.*)_topic:${env}_sink", "prod_topic", TableMapping("PROD_SINK", quoted=False)),
        ("abc:table", "abc", TableMapping("TABLE", quoted=False)),
        ("abc:table", "xabcx", TableMapping("XABCX", quoted=True)),
        ('"a|ab":x$0', "ab", TableMapping("XAB", quoted=False)),
        ('a(b)?:"t$1"', "a", TableMapping("t", quoted=True)),
        (r'a:"\$1"', "a", TableMapping("$1", quoted=True)),
        ("(.*):$1", "shop.orders", TableMapping("SHOP.ORDERS", quoted=False)),
        ("a+:first, aa.:second", "aaa", TableMapping("FIRST", quoted=False)),
        ('"a[+]":plus', "a[+]", TableMapping("A____2978604", quoted=True)),
    ],
)
def test_tables_may_refer_to_groups_of_their_pattern(text: str, topic: str, target: TableMapping) -> None:
    assert Topic2Table.read(text, regex=True).resolve(topic) == target


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
        (".*foo:b, .*:a", "the topics '.*foo' and '.*' overlap"),
        ("(a:b", "'(a' is not a regular expression"),
        ("a:db.public.b", "names a schema or a database"),
        ('a:"b\x07"', "control character"),
        ('a:"../b"', "holds a slash"),
        ('a:".."', "means a directory"),
        ("a:_frazil", "where frazil keeps rejects"),
        (f"a:{'b' * 256}", "longer than 255 bytes"),
    ],
)
@pytest.mark.parametrize("regex", [False, True])
def test_a_map_that_cannot_be_run_says_where_and_why(text: str, problem: str, regex: bool) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Topic2Table.read(text, regex=regex)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("src_(.*):dest_$2", "refers to $2, which its pattern does not have; write $0, $1"),
        ("(?<env>.*):${name}", "refers to ${name}, which its pattern does not have; write $0, $1, ${env}"),
        ("a:b$", "a '$' that begins no reference"),
        ('a:"b$x"', "a '$' that begins no reference"),
        ('(.*):"a/$1"', "holds a slash"),
        ("(.*):db.$1", "names a schema or a database"),
    ],
)
def test_a_table_that_refers_to_nothing_is_found_when_the_map_is_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Topic2Table.read(text, regex=True)

    assert problem in str(caught.value)


def test_a_dollar_is_a_character_of_the_table_where_nothing_is_replaced() -> None:
    assert Topic2Table.read("a:b$1").resolve("a").name == "B$1"


def test_all_that_is_wrong_with_well_formed_entries_is_listed_at_once() -> None:
    with pytest.raises(ValueError, match=r"(?s)not a regular expression.*a slash.*given twice"):
        Topic2Table.read('(a:b,c:"d/e",f:g,f:h')


@pytest.mark.parametrize(
    ("text", "topic", "reason"),
    [
        ('(.)(.*):"$1$1$1$2"', "a" * 254, "longer than 255 bytes"),
        ('a(b)?:"$1"', "a", "is empty"),
        ('(.).*:"$1$1"', ".x", "means a directory"),
        ("x:y", "_frazil", "where frazil keeps rejects"),
        ("x:y", "a-" * 124, "longer than 255 bytes"),
    ],
)
def test_a_name_that_no_table_can_have_is_refused_with_its_topic(text: str, topic: str, reason: str) -> None:
    with pytest.raises(TableNameRefused, match=reason) as caught:
        Topic2Table.read(text, regex=True).resolve(topic)

    assert f"the topic {topic} would land" in str(caught.value)


@given(topics, st.booleans())
def test_every_topic_has_a_table_that_stays_in_its_directory(topic: str, sanitised: bool) -> None:
    try:
        name = Topic2Table().resolve(topic, sanitised=sanitised).name
    except TableNameRefused:
        return  # too long
    assert name not in (".", "..")
    assert not {"/", "\\"} & set(name)
    assert sanitised or name == topic


@given(topics)
def test_a_topic_put_together_from_its_groups_is_itself(topic: str) -> None:
    tables = Topic2Table.read('(?<first>.)(.*):"${first}$2"', regex=True)

    if topic != "_frazil" and len(topic) > 1:
        assert tables.resolve(topic) == TableMapping(topic, quoted=True)


@given(st.text(alphabet='ab.*+(\\{9}:," \n$é[&|?<>'), st.booleans())
def test_any_text_is_either_a_map_or_a_value_error(text: str, regex: bool) -> None:
    try:
        tables = Topic2Table.read(text, regex=regex)
    except ValueError:
        return
    assert parse(str(tables)) == tables.entries


token = st.text(st.characters(exclude_characters='"', codec="utf-8"), min_size=1)
bare = token.filter(lambda text: not any(c.isspace() or c in ":," for c in text))
entry = st.builds(Entry, token, bare, st.just(value=False)) | st.builds(Entry, token, token, st.just(value=True))


@given(st.lists(entry))
def test_entries_written_out_are_parsed_back(entries: list[Entry]) -> None:
    assert list(parse(", ".join(map(str, entries)))) == entries
