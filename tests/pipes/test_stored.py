"""What a property of a table says of a pipe, also where somebody else wrote it."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.model import PipeTarget
from frazil.pipes.stored import StoredPipe, decode

SQL = "CREATE PIPE P AS COPY INTO T FROM (SELECT $1:id FROM TABLE(DATA_SOURCE(TYPE => 'STREAMING')))"

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


TARGETS = st.lists(st.builds(PipeTarget, st.integers(1, 2**31 - 1), TEXT)).map(tuple)


@given(sql=TEXT, created=st.integers(0, 2**47), creator=TEXT, comment=st.none() | TEXT, targets=TARGETS)
def test_a_pipe_comes_back_as_it_was_stored(
    sql: str, created: int, creator: str, comment: str | None, targets: tuple[PipeTarget, ...]
) -> None:
    pipe = StoredPipe("P", sql, created, creator, comment, targets)

    assert decode("P", pipe.encode()) == pipe


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1]",
        '{"sql": 5}',
        '{"statement": "x"}',
        orjson.dumps({"sql": SQL, "version": 2}).decode(),
        orjson.dumps({"sql": SQL, "created": 1, "creator": "ann", "filter": "x > 1"}).decode(),
        orjson.dumps({"sql": SQL, "columns": ["ID"]}).decode(),
        orjson.dumps({"sql": SQL, "columns": [{"id": "1", "name": "ID"}]}).decode(),
    ],
)
def test_a_value_that_is_none_of_ours_is_the_statement_as_it_stands_and_so_refused_when_it_is_read(text: str) -> None:
    assert decode("P", text) == StoredPipe("P", text, 0, "")


@pytest.mark.parametrize("created", [-1, 10**18, 1.5, "today", None])
def test_a_time_that_cannot_be_shown_is_none(created: object) -> None:
    assert decode("P", orjson.dumps({"sql": SQL, "created": created}).decode()) == StoredPipe("P", SQL, 0, "")
