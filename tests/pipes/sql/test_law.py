"""The law of users' pipes: a path lands as the default pipe lands the same value, and what is computed of it is what a
query says of the same value in a VARIANT that frazil wrote.

Each record is a row, a reject, or left out; what becomes of it does not depend on its neighbours.

`LAW_TIMES=30` in the environment tries thirty times as many examples.
"""

from __future__ import annotations

import json
import os
import re
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pipes.default.chunks import Landing, Table, Worker, column, columns
from tests.pipes.default.generated import anything, conversions, kinds, written_object
from tests.pipes.default.generated import of as values_of
from tests.pipes.default.test_law import comparable
from tests.pipes.sql.landing import create, land
from tests.snowflake.lakes import Lake

from frazil.errors import InvalidQuery
from frazil.model import Column, Conversion
from frazil.sql import literal

TIMES = int(os.environ.get("LAW_TIMES", "1"))
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))

KEYS = ["a", "b c", "Ł😀", "x.y", "it's", "$", "value", "A"]
"""Keys of which none is another one in another case, but for `a`."""


def has_surrogate(text: str) -> bool:
    """Whether a text may have half a surrogate pair: of such a record DuckDB reads nothing, and a pipe rejects it."""
    return "\\ud" in text.lower()


unread = anything.filter(lambda text: not has_surrogate(text))


@st.composite
def chunks(draw: st.DrawFn) -> tuple[Column, list[str], list[str]]:
    """A column, values for it, and beside each what else the record holds."""
    kind = draw(st.just(draw(kinds)) | st.just(column("x", "variant").type))
    given_values = draw(st.lists(values_of(kind), min_size=1, max_size=5))
    others = draw(st.lists(unread, min_size=len(given_values), max_size=len(given_values)))
    return column("x", kind), given_values, others


def fates(landed: Landing, count: int) -> list[Any]:
    """What became of each record: its row, or None."""
    rows = iter(landed.rows)
    return [None if number in landed.rejects else [comparable(next(rows))] for number in range(count)]


@given(chunks(), conversions, st.lists(st.sampled_from(KEYS[:-1]), min_size=1, max_size=3))
@settings(LAW, max_examples=60 * TIMES)
def test_a_path_lands_as_the_default_pipe_lands_the_same_value(
    worker: Worker, chunk: tuple[Column, list[str], list[str]], conversion: Conversion, path: list[str]
) -> None:
    shape, given_values, others = chunk
    texts = []
    for value, other in zip(given_values, others, strict=True):
        text = value
        for key in reversed(path):
            text = written_object([('"other"', other), (json.dumps(key), text), ('"other"', "1")])
        texts.append(text)
    item = "$1" + "".join(f"[{literal(key)}]" for key in path)

    piped = land(worker, create(item), (shape,), *texts, conversion=conversion)
    default = Table(worker, (shape,), conversion).land(*(f'{{"x": {value}}}' for value in given_values))

    for value, found, wanted in zip(given_values, fates(piped, len(texts)), fates(default, len(texts)), strict=True):
        assert found == wanted or (found is None and has_surrogate(value)), (value, piped.reasons, default.reasons)
    assert {each.column for each in piped.rejects.values()} <= {"x", None}


COMPUTED = {
    "{c}::NUMBER(20,2)": "decimal(20,2)", "{c}::NUMBER": "decimal(38,0)", "{c}::BOOLEAN": "boolean",
    "{c}::VARCHAR": "string", "{c}::VARCHAR(3)": "string", "{c}::FLOAT": "double", "{c}::DATE": "date",
    "{c}::TIMESTAMP_NTZ": "timestamp", "{c}::TIMESTAMP_TZ": "timestamptz", "{c}::BIGINT": "decimal(38,0)",
    "TRY_CAST({c}::VARCHAR AS NUMBER(10,3))": "decimal(10,3)", "CONCAT({c}::VARCHAR, '!')": "string",
    "UPPER({c})": "string", "COALESCE({c}::VARCHAR, 'none')": "string", "{c} IS NULL": "boolean",
    "TYPEOF({c})": "string", "LENGTH({c}::VARCHAR)": "decimal(38,0)", "NVL({c}::VARCHAR, '-')": "string",
    "IFF({c}::VARCHAR = 'true', 1, 0)": "decimal(38,0)", "ARRAY_SIZE({c})": "decimal(38,0)",
}  # fmt: skip
"""Items, and the types of columns that they go to."""


@given(st.dictionaries(st.sampled_from(["a", "b", "c d"]), unread, max_size=3), st.sampled_from(sorted(COMPUTED)))
@settings(LAW, max_examples=120 * TIMES)
def test_what_a_pipe_computes_is_what_a_query_says(worker: Worker, members: dict[str, str], item: str) -> None:
    record = written_object([(json.dumps(key), value) for key, value in members.items()])
    written = Table(worker, columns(v="variant")).land(f'{{"v": {record}}}')
    # To a pipe, null is NULL; and a VARIANT has its keys in order, and numbers as they are rather than were written.
    if not written.written or re.search(r"^null$|[0-9][.eE]|-0|{.*:", members.get("a", "")):
        return
    lake = Lake()
    lake.create("T", f"SELECT v FROM read_parquet({literal(str(written.written.path))})")

    landed = land(worker, create(item.format(c="$1:a")), columns(x=COMPUTED[item]), record)

    try:
        ((said,),) = lake.run(lake.compiled(f"SELECT {item.format(c='v:a')} FROM t"))
    except InvalidQuery:
        assert landed.rows == []
        return
    assert [_plain(each) for each in landed.rows] == [_plain(said)], landed.reasons


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    return "NaN" if value != value else Decimal(value)
