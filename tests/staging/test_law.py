"""The law of the two tiers, over generated tables and records.

Every record either lands with exactly the values that an independent reading of its text gives, or is rejected; and
what the fast tier accepts is what the exact tier accepts, with the same row.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct as bits
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.model import Column, IcebergType, ListType, Primitive, StructType
from frazil.pipes.default import DefaultPipe
from frazil.records.rejects import Unfit
from frazil.staging.judge import Judge
from frazil.staging.screen import Screen

from .chunks import AS_DEFAULT, Table, Worker, column, primitive, struct

REJECT = object()
"""What the independent reading says of a record that must not land."""


class Misfit(Exception):
    """The independent reading found a value that does not fit."""


class Pairs(list[Any]):
    """An object's members, each time they appear."""


class Number(str):
    """A number as it is written."""

    __slots__ = ()


def expected(shape: tuple[Column, ...], text: str | None) -> Any:
    """The row `text` must become, or REJECT: json and Decimal only."""
    if text is None or not text:
        members: Any = Pairs()
    else:
        try:
            members = json.loads(
                text, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=Number
            )
            text.encode()
        except ValueError:
            return REJECT
    if not isinstance(members, Pairs):
        return REJECT
    try:
        return tuple(_members(shape, members).values())
    except Misfit:
        return REJECT


def _members(fields: tuple[Column, ...], members: Pairs) -> dict[str, Any]:
    found = {}
    for field in fields:
        values = [value for key, value in members if key.casefold() == field.name.casefold() and value is not None]
        if len(values) > 1 or (field.required and not values):
            raise Misfit
        found[field.name] = _value(field.type, values[0]) if values else None
    return found


def _value(kind: IcebergType, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, StructType):
        return _members(kind.fields, _of(value, Pairs))
    if isinstance(kind, ListType):
        if isinstance(value, Pairs):
            raise Misfit
        return [_value(kind.element, item) for item in _of(value, list)]
    return _scalar(kind, value)


def _scalar(kind: Primitive, value: Any) -> Any:
    match kind.name:
        case "boolean":
            return _of(value, bool)
        case "int" | "long":
            number = _decimal(value)
            limit = 2**31 if kind.name == "int" else 2**63
            if number % 1 or not -limit <= number < limit:
                raise Misfit
            return int(number)
        case "double" | "float":
            return _float(kind.name, _of(value, Number))
        case "decimal":
            number = _decimal(value)
            scaled = number * 10**kind.scale
            if scaled % 1 or abs(scaled) >= 10**kind.precision:
                raise Misfit
            return Decimal(value)
        case "string":
            return _text(value)
        case _:
            return _time(kind.name, value)


def _of(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is str and isinstance(value, Number)):
        raise Misfit
    return value


def _decimal(value: Any) -> Any:

    text = _of(value, Number)
    if not re.fullmatch(r"-?[0-9.]+([eE][-+]?[0-9]{1,4})?", text):
        raise Misfit
    return Fraction(text)


def _float(kind: str, text: str) -> float:
    number = float(text)
    if math.isinf(number) and "Inf" not in text:
        raise Misfit
    if kind == "double" or math.isinf(number):
        return number
    try:
        (single,) = bits.unpack("<f", bits.pack("<f", number))
    except OverflowError as error:
        raise Misfit from error
    return float(single)


def _text(value: Any) -> str:
    if isinstance(value, Number):
        if not re.fullmatch(r"-?[0-9.]+([eE][-+]?[0-9]{1,3})?", value):
            return str(value)
        whole = f"{Decimal(value):f}"
        short = whole.rstrip("0").rstrip(".") if "." in whole else whole
        return "0" if not Decimal(value) else short
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        _refuse_surrogates(value)
        return value
    written = _compact(value)
    _refuse_surrogates(written)
    return written


def _compact(value: Any) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_compact(each)}" for key, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _refuse_surrogates(text: str) -> None:
    if any(0xD800 <= ord(each) <= 0xDFFF for each in text):
        raise Misfit


def _time(kind: str, value: Any) -> Any:
    text = _of(value, str)
    form = r"\d{4}-\d\d-\d\d" + ("" if kind == "date" else r"T\d\d:\d\d:\d\d(\.\d{1,6})?")
    zone = r"(Z|[+-]\d\d:[0-5]\d)?" if kind == "timestamptz" else ""
    if not re.fullmatch(form + zone, text, re.ASCII):
        raise Misfit
    try:
        if kind == "date":
            return dt.date.fromisoformat(text)
        moment = dt.datetime.fromisoformat(text)
        if kind == "timestamp":
            return moment
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise Misfit from error


names = st.sampled_from(["a", "b", "Total", "é", 'q"', "x.y", "*", "z/~"])
scalars = st.sampled_from(
    [
        *("boolean", "int", "long", "float", "double", "string", "date", "timestamp", "timestamptz"),
        *("decimal(5,2)", "decimal(18,0)", "decimal(38,10)", "decimal(38,0)"),
    ]
).map(primitive)
kinds: st.SearchStrategy[IcebergType] = st.recursive(
    scalars,
    lambda inner: (
        st.builds(lambda element: ListType(next_id(), element, element_required=False), inner)
        | st.dictionaries(names, inner, min_size=1, max_size=3).map(lambda fields: struct(**fields))
    ),
    max_leaves=4,
)
shapes = st.dictionaries(names, st.tuples(kinds, st.integers(0, 5)), min_size=1, max_size=4).map(
    lambda found: tuple(column(name, kind, required=odds == 0) for name, (kind, odds) in found.items())
)


def next_id() -> int:
    return column("", "long").id


whole = st.integers(-(2**70), 2**70) | st.integers(-(10**38), 10**38) | st.integers(-300, 300)
edges = st.sampled_from([2**31, 2**31 - 1, -(2**31) - 1, 2**63, 2**63 - 1, -(2**63) - 1, 2**64, 10**18, 10**38])
fractions = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000)
numbers = st.one_of(
    whole.map(str),
    edges.map(str),
    fractions.map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["-0", "0.0", "-0.0", "1.0", "1e3", "1E+2", "12.5e1", "1e-7", "9007199254740993.0", "1e400", "NaN"]
    ),
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?\Z"),
)
moments = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(dt.datetime.isoformat)  # noqa: DTZ001
times = st.one_of(
    moments,
    st.tuples(moments, st.sampled_from(["Z", "+00:00", "-11:30", "+23:59", "+24:00", "+5:00"])).map("".join),
    st.dates().map(str),
    st.sampled_from(
        ["2024-02-30", "2024-01-01 00:00:00", "2024-01-01T24:00:00", "infinity", "2024-01-01T00:00:00.1234567"]
    ),
)
texts = st.one_of(st.text(max_size=5), times, st.sampled_from(["1", "true", "\ud800", "😀", "\0", "\u2028", '"\\']))


def written_object(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{key}: {value}" for key, value in members) + "}"


def written_text(text: str, ascii_only: bool) -> str:
    lone = any(0xD800 <= ord(each) <= 0xDFFF for each in text)
    return json.dumps(text, ensure_ascii=ascii_only or lone)


written_texts = st.builds(written_text, texts, st.booleans())
anything: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["null", "true", "false"]) | numbers | written_texts,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(written_texts, inner), max_size=3).map(written_object)
    ),
    max_leaves=5,
)


def fitting(kind: IcebergType) -> st.SearchStrategy[str]:
    """Texts of values that mostly fit a type."""
    if isinstance(kind, ListType):
        return st.lists(of(kind.element), max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
    if isinstance(kind, StructType):
        return st.composite(_object_of)(kind.fields)
    match kind.name:
        case "boolean":
            return st.sampled_from(["true", "false"])
        case "string":
            return written_texts | numbers
        case "date" | "timestamp" | "timestamptz":
            return times.map(json.dumps)
        case _:
            return numbers


def of(kind: IcebergType) -> st.SearchStrategy[str]:
    """Texts of values for a column: most fit, some are null, a few are anything."""
    return st.integers(0, 9).flatmap(
        lambda die: st.just("null") if die == 0 else anything if die == 1 else fitting(kind)
    )


def _object_of(draw: st.DrawFn, fields: tuple[Column, ...]) -> str:
    members = []
    for field in fields:
        die = draw(st.integers(0, 19))
        if die == 0:
            continue
        key = field.name.swapcase() if die in (1, 2) else field.name
        members.append((written_text(key, draw(st.booleans())), draw(of(field.type))))
        if die in (2, 3):
            members.append((json.dumps(field.name), draw(st.just("null") | of(field.type))))
    if draw(st.integers(0, 9)) == 0:
        members.append((draw(written_texts), draw(anything)))
    return written_object(members)


def records(shape: tuple[Column, ...]) -> st.SearchStrategy[str | None]:
    whole_records: st.SearchStrategy[str] = st.composite(_object_of)(shape)
    broken = st.tuples(whole_records, st.integers(0, 30), st.sampled_from(["", ",", "}", "\\", '"', "\n"])).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
    )
    return st.integers(0, 19).flatmap(
        lambda die: st.just(None) if die == 0 else broken if die in (1, 2) else anything if die == 3 else whole_records
    )


chunks = shapes.flatmap(lambda shape: st.tuples(st.just(shape), st.lists(records(shape), min_size=1, max_size=6)))


def comparable(value: Any) -> Any:
    """Values that are equal exactly when they are the same for a reader: NaN equals itself, 1 is not 1.0."""
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else value)
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(each) for each in value]
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC)
    return value


LAW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@given(chunks)
@settings(LAW, max_examples=100)
def test_a_record_lands_with_exactly_its_values_or_is_rejected(
    worker: Worker, chunk: tuple[tuple[Column, ...], list[str | None]]
) -> None:
    shape, texts = chunk
    should = [expected(shape, text) for text in texts]

    landed = Table(worker, shape).land(*texts)

    rows = landed.rows if len(shape) > 1 else [(row,) for row in landed.rows]
    assert sorted(landed.rejects) == [number for number, row in enumerate(should) if row is REJECT], landed.reasons
    assert comparable(rows) == comparable([row for row in should if row is not REJECT])


@given(chunks)
@settings(LAW, max_examples=60)
def test_the_fast_tier_accepts_only_what_the_exact_tier_accepts_with_the_same_row(
    worker: Worker, chunk: tuple[tuple[Column, ...], list[str | None]]
) -> None:
    shape, texts = chunk
    screen = Screen(DefaultPipe(shape), AS_DEFAULT)
    refused = set(screen.refused(texts, Counter()))
    judge = Judge(DefaultPipe(shape), AS_DEFAULT, screen.reading.spellings)
    accepted = [text for number, text in enumerate(texts) if number not in refused]
    verdicts = [judge.judge(text) for text in accepted]

    fast = Table(worker, shape).land(*accepted)
    exact = Table(worker, shape).land(*(verdict for verdict in verdicts if not isinstance(verdict, Unfit)))

    # What the decoder cannot see, keys that come twice, is found before the file is written.
    assert sorted(fast.rejects) == [number for number, verdict in enumerate(verdicts) if isinstance(verdict, Unfit)]
    assert comparable(fast.rows) == comparable(exact.rows)
    assert exact.rejects == {}
