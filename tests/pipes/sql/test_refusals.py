"""What is wrong with a pipe is said when it is created, and points at its place."""

from __future__ import annotations

import pytest
from tests.pipes.default.chunks import column, columns
from tests.pipes.sql.landing import SOURCE, compiled, create

from frazil.errors import InvalidQuery
from frazil.sql import literal

SHAPE = columns(ID="long", NAME="string", DAY="date")

WRONG = {
    create("$1:id, FOO($1:name)"): ("FOO", "there is no function FOO"),
    create("$1:id, UPER($1:name)"): ("UPER", "the nearest are UPPER"),
    create("$1:id, name"): ("name", "$1:name"),
    create("$1:id[2147483648]"): ("$1", "no element beyond 2147483647"),
    create("$1:id::NUMBR"): ("NUMBR", "NUMBER"),
    create("$2:id"): ("$2", "one column, $1"),
    create("$1:id", columns="(IDD)"): ("IDD", "the nearest is ID"),
    create("$1:id, $1:name", columns="(ID)"): ("$1", "1 columns are listed, and 2 items"),
    create("1, 2, 3, 4"): ("4", "has 3 columns"),
    create("$1:id as idd", options="MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"): ("idd", "no column"),
    create('$1:id as "id"', options="MATCH_BY_COLUMN_NAME = CASE_SENSITIVE"): ('"id"', "no column"),
    create("1, 'a', $1:d::BOOLEAN"): ("$1", "does not go to the column DAY"),
    create("$1:RECORD_METADATA.topik"): ("$1", "the nearest is topic"),
    create("*"): ("*", "default pipe"),
    create("COUNT(*)"): ("COUNT", "many records"),
    create("ROW_NUMBER() OVER (ORDER BY $1:id)"): ("ROW_NUMBER", "OVER"),
    create("(SELECT 1)"): ("", "no query within"),
    create("$1:id", where="$1:id IN (SELECT 1)"): ("", "no query within"),
    create("$1:id", options="ON_ERROR = MAYBE"): ("MAYBE", "ON_ERROR is CONTINUE"),
    create("$1:id", options="FILE_FORMAT = x"): ("FILE_FORMAT", "not supported"),
    "CREATE PIPE T AS COPY INTO T FROM (SELECT $1:id FROM OTHER)": ("OTHER", "a pipe reads FROM TABLE(DATA_SOURCE"),
    "CREATE PIPE T AS COPY INTO T FROM @stage": ("@", "the query in parentheses"),
    f"CREATE PIPE T AS COPY INTO T FROM (SELECT $1:id {SOURCE} LIMIT 1)": ("", "LIMIT"),
    f"CREATE PIPE T AS COPY INTO T FROM (SELECT $1:id {SOURCE}, OTHER)": ("", "JOINS"),
    f"CREATE PIPE T AS COPY INTO T FROM (SELECT read_text('/etc/passwd') {SOURCE})": ("read_text", "no function"),
    f"CREATE PIPE T AS COPY INTO T FROM (SELECT getenv('HOME') {SOURCE})": ("getenv", "no function"),
    f"CREATE PIPE T AS COPY INTO T FROM (SELECT frazil_plain_number('1') {SOURCE})": ("frazil_plain", "no function"),
}


@pytest.mark.parametrize("sql", WRONG)
def test_it_is_refused_with_its_place(sql: str) -> None:
    piece, reason = WRONG[sql]

    with pytest.raises(InvalidQuery) as refused:
        compiled(sql, SHAPE)

    message = str(refused.value)
    assert reason in message
    if piece:
        marked, marks = message.splitlines()[-2:]
        assert marked[marks.index("^") :].lower().startswith(piece.lower())


def test_a_column_that_must_have_a_value_must_get_one() -> None:
    with pytest.raises(InvalidQuery, match="NAME must not be NULL, and the pipe gives it no value"):
        compiled(create("$1:id"), (column("ID", "long"), column("NAME", "string", required=True)))


def test_items_go_to_columns_by_name_where_that_is_said() -> None:
    spec = compiled(create("$1:a as name, $1:id", options="MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"), SHAPE)

    assert [(item.column, item.text) for item in spec.items] == [("ID", "$1:id"), ("NAME", "$1:a"), ("DAY", "")]


def test_items_go_to_listed_columns() -> None:
    spec = compiled(create("$1:a, $1:b", columns='(day, "ID")'), SHAPE)

    assert [(item.column, item.text) for item in spec.items] == [("ID", "$1:b"), ("NAME", ""), ("DAY", "$1:a")]


def test_an_alias_of_another_column_than_its_place_has_is_worth_a_warning() -> None:
    (warning,) = compiled(create("$1:a AS name"), SHAPE).warnings

    assert "the item name goes to the column ID" in warning


def test_the_content_without_a_key_of_that_name_is_worth_a_warning() -> None:
    (warning,) = compiled(create("$1:RECORD_CONTENT.a"), SHAPE).warnings

    assert "RECORD_CONTENT is NULL unless" in warning


def test_what_a_text_in_a_pipe_holds_stays_a_text() -> None:
    hostile = "a'); DROP TABLE chunk; --"
    spec = compiled(create(f"$1['{hostile.replace(chr(39), chr(39) * 2)}']"), SHAPE[1:2])

    assert f"'{hostile}" not in spec.source
    assert literal(hostile)[1:-1] in spec.source
