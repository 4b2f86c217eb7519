"""Whatever the rules, a value lands or is rejected with a reason; what is fast lands as what is exact does."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.model import Column, Conversion, IcebergType, Primitive
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.fast_validation import FastValidation
from frazil.pipes.default.projection import Projection

from .chunks import Table, Worker, column
from .conftest import MakeTable
from .generated import anything, kinds, of, records, shapes
from .generated import conversions as others
from .test_law import LAW, TIMES, comparable, every_row

MODES: tuple[Literal["client_side", "server_side"], ...] = ("client_side", "server_side")

conversions = st.builds(
    lambda conversion, validation, binary: replace(conversion, validation=validation, binary=binary),
    others,
    st.sampled_from(MODES),
    st.sampled_from(["hex", "base64"]),
)


def _with_lengths(shape: tuple[Column, ...]) -> st.SearchStrategy[tuple[Column, ...]]:
    lengths = st.none() | st.sampled_from([1, 2, 5, 19, 20, 30])
    return st.tuples(*(lengths.map(partial(_limited, found)) for found in shape))


def _limited(found: Column, length: int | None) -> Column:
    has_length = found.type in (Primitive("string"), Primitive("binary")) and found.default is None
    return replace(found, length=length) if has_length else found


def values(kind: IcebergType) -> st.SearchStrategy[str]:
    """JSON values, and texts of them, which the client's side reads."""
    return of(kind) | of(kind).map(json.dumps) | anything


def _documents(shape: tuple[Column, ...]) -> st.SearchStrategy[str]:
    names = [json.dumps(each.name) for each in shape]
    return st.tuples(*(values(each.type) for each in shape)).map(
        lambda found: "{" + ", ".join(map(": ".join, zip(names, found, strict=True))) + "}"
    )


chunks = shapes.flatmap(_with_lengths).flatmap(
    lambda shape: st.tuples(st.just(shape), st.lists(_documents(shape) | records(shape), min_size=1, max_size=5))
)


@given(chunks, conversions)
@settings(LAW, max_examples=120 * TIMES)
def test_what_is_accepted_fast_lands_as_by_the_exact_tier(
    worker: Worker, chunk: tuple[tuple[Column, ...], list[str | None]], conversion: Conversion
) -> None:
    shape, texts = chunk
    fast = FastValidation(Projection(shape), conversion)
    refused = set(fast.refused([None if text is None else text.encode() for text in texts], Counter()))
    exact = ExactValidation(Projection(shape), conversion)
    accepted = [text for number, text in enumerate(texts) if number not in refused]
    fitting = [exact.diagnose(text) is None for text in accepted]

    landed = Table(worker, shape, conversion).land(*accepted)
    with mock.patch.object(FastValidation, "refused", every_row):
        one_by_one = Table(worker, shape, conversion).land(
            *(text for text, fits in zip(accepted, fitting, strict=True) if fits)
        )

    assert sorted(landed.rejects) == [number for number, fits in enumerate(fitting) if not fits]
    assert comparable(landed.rows) == comparable(one_by_one.rows)
    assert one_by_one.rejects == {}


@given(kinds.flatmap(lambda kind: st.tuples(st.just(kind), values(kind))), st.booleans(), conversions)
@settings(LAW, max_examples=150 * TIMES)
def test_no_value_becomes_null_but_a_text_that_says_so(
    worker: Worker, value: tuple[IcebergType, str], required: bool, conversion: Conversion
) -> None:
    kind, text = value

    found = Table(worker, (column("v", kind, required=required),), conversion).land(f'{{"v": {text}}}')

    if found.rejects:
        assert found.reasons[0][1]
    elif found.rows == [None]:
        opens = conversion.validation == "client_side" and kind == Primitive("variant")
        assert not required
        assert text == "null" or (opens and _says_null(json.loads(text)))


def _says_null(value: Any) -> bool:
    return isinstance(value, str) and value.strip("".join(map(chr, range(0x21)))) in ("", "null")


REJECTED = "rejected"


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        *(("boolean", value, "True") for value in (True, 1, " YES ", "t", "y", "on", "1", "TRUE")),
        *(("boolean", value, "False") for value in (False, 0, "no", "f", "n", "off", "0")),
        *(("boolean", value, REJECTED) for value in (42, -1, 999, {}, [1], "maybe", "")),
        ("decimal(38,2)", "123.456789", "123.46"),
        ("decimal(5,2)", " 1e1 ", "10.00"),
        ("decimal(5,2)", -1.005, "-1.01"),
        ("decimal(2,1)", "9.96", REJECTED),
        ("decimal(38,20)", 2**63 - 1, REJECTED),
        ("decimal(38,20)", "1E30", REJECTED),
        *((kind, value, REJECTED) for kind in ("long", "decimal(5,2)") for value in ("0x22", True, "nan", "x", {})),
        *(("double", text, text.lower()[:4].removesuffix("i")) for text in ("NaN", "inf", "-INF", "1.5")),
        ("double", "Infinity", "inf"),
        *(("double", value, REJECTED) for value in (True, "x", "", [1])),
        ("string", 1.50, "1.5"),
        ("string", True, "true"),
        ("string", {"a": [1, 2]}, '{"a":[1,2]}'),
        ("binary", " 0aFF ", r"b'\n\xff'"),
        *(("binary", value, REJECTED) for value in ("abc", "zz", 1, True)),
        ("date", "2024-02-03", "2024-02-03"),
        ("date", "2024-02-03T23:00:00-05:00", "2024-02-03"),
        ("date", "86400", "1970-01-02"),
        *(("date", value, REJECTED) for value in (86400, "20:57:01", "1.0", "", "10000-01-01")),
        ("time", "13:45:30+05:00", "13:45:30"),
        ("time", "13:45", "13:45:00"),
        ("time", "3600", "01:00:00"),
        *(("time", value, REJECTED) for value in ("2024-01-01", "2024-01-01T00:00:00", 3600, "1.5")),
        ("timestamp", "2024-01-01T10:00:00+05:00", "2024-01-01 10:00:00"),
        ("timestamp", "2024-01-01", "2024-01-01 00:00:00"),
        *(("timestamp", value, "1970-01-02 00:00:00") for value in (86400, "86400")),
        ("timestamp", 31536000000, "1971-01-01 00:00:00"),
        ("timestamp", -31535999999, "0970-08-31 00:00:01"),
        *(
            ("timestamp", value, REJECTED)
            for value in ("20:57:01", 1.5, "1.5", True, "2024-01-01 10:00:00", "0000-01-01T00:00:00")
        ),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_scalars_have_the_rules_of_the_clients_side_with_either(
    make_table: MakeTable, mode: str, kind: str, value: Any, expected: str
) -> None:
    found = make_table(column("v", kind), validation=mode, numbers="round").land(json.dumps({"v": value}))

    assert [REJECTED for _ in found.rejects] + [str(row) for row in found.rows] == [expected]
