from __future__ import annotations

import pytest

from frazil.cli.scripts import is_complete, statements


def test_statements_come_out_as_soon_as_their_semicolon_is_there():
    read: list[str] = []

    def lines():
        for line in ("select 1;\n", "select\n", "  2; select 3\n", "from t;\n", "select 4"):
            read.append(line)
            yield line

    found = [(statement, len(read)) for statement in statements(lines())]

    assert found == [
        ("select 1", 1),
        ("\nselect\n  2", 4),
        ("\n\n     select 3\nfrom t", 4),
        ("\n\n\n\nselect 4", 5),
    ]


@pytest.mark.parametrize("text", ["select 1;", "select ';';", "select 1; -- done;", "select 1 /* ; */;\n"])
def test_a_text_is_complete_with_its_last_semicolon(text: str):
    assert is_complete(text)


@pytest.mark.parametrize("text", ["", ";", "select 1", "select ';", "select 1 -- ;", "select 1 /* ;", 'select "a;', "select 1; select 2"])  # fmt: skip
def test_a_semicolon_in_a_text_or_a_comment_completes_nothing(text: str):
    assert not is_complete(text)
