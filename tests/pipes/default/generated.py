"""Generated tables of all types, and records that mostly fit them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from frazil.model import Column, Conversion, IcebergType, ListType, MapType, Primitive, StructType

from .chunks import column, listed, mapped, primitive
from .reading import REJECT, expected

conversions = st.builds(
    Conversion,
    numbers=st.sampled_from(["reject", "round"]),
    time_zone=st.sampled_from(["UTC", "America/New_York"]),
)

names = st.sampled_from(["a", "b", "Total", "é", 'q"', "x.y", "*", "z/~"]) | st.sampled_from(
    # What frazil itself calls things.
    ["value", "row", "chunk", "parsed 0", "column_0_0", "field_0", "unknown_0", "default", "element", "key", "k", "$"]
)
_scalars = [
    *("boolean", "int", "long", "float", "double", "string", "uuid", "binary", "fixed[2]"),
    *("date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"),
    *("decimal(5,2)", "decimal(18,0)", "decimal(38,10)", "decimal(38,0)", "decimal(38,38)"),
]
scalars = st.sampled_from(_scalars).map(primitive)
leaves = st.sampled_from([*_scalars, "variant", "variant", "variant"]).map(primitive)


def _fields(kinds: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[IcebergType]:
    return st.dictionaries(names, kinds, min_size=1, max_size=3).flatmap(
        lambda found: st.tuples(*(_column(name, kind) for name, kind in found.items())).map(StructType)
    )


def _column(name: str, kind: IcebergType) -> st.SearchStrategy[Column]:
    """A column of that name: sometimes required, sometimes with a default."""
    bare = column(name, kind)
    defaulted = st.just(bare)
    if isinstance(kind, Primitive) and kind.name != "variant":
        defaulted = _fitting(kind).map(lambda text: replace(bare, default=text)).filter(_is_usable) | defaulted
    return st.builds(lambda found, odds: replace(found, required=odds == 0), defaulted, st.integers(0, 5))


def _is_usable(found: Column) -> bool:
    return (
        found.default != "null"
        and expected([replace(found, default=None)], f"{{{json.dumps(found.name)}: {found.default}}}", Conversion())
        is not REJECT
    )


kinds: st.SearchStrategy[IcebergType] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda element, odds: listed(element, required=odds == 0), inner, st.integers(0, 3)),
        st.builds(
            lambda key, value, odds: mapped(key, value, required=odds == 0),
            st.just(primitive("string")) | scalars,
            inner,
            st.integers(0, 3),
        ),
        _fields(inner),
    ),
    max_leaves=4,
)
shapes = st.dictionaries(names, st.just(primitive("variant")) | kinds | kinds, min_size=1, max_size=4).flatmap(
    lambda found: st.tuples(*(_column(name, kind) for name, kind in found.items()))
)

whole = st.integers(-(2**70), 2**70) | st.integers(-(10**38), 10**38) | st.integers(-300, 300)
edges = st.sampled_from([2**31, 2**31 - 1, -(2**31) - 1, 2**63, 2**63 - 1, -(2**63) - 1, 2**64, 10**18, 10**38])
fractions = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-1000, max_value=1000)
numbers = st.one_of(
    whole.map(str),
    edges.map(str),
    fractions.map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        [
            *("0", "1", "-0", "0.0", "-0.0", "1.0", "1e3", "1E+2", "12.5e1", "1e-7", "0.5", "-0.5", "1.005", "999.995"),
            *("9007199254740993.0", "16777217", "1e400", "-1e400", "1e-400", "1e99999999999", "1e-99999999999", "NaN"),
            *("0e5000", "3.4028235e38", "3.4028235677973366e38", "9223372036854775807.5", "2147483647.5"),
        ]
    ),
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?\Z"),
)

moments = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(dt.datetime.isoformat)  # noqa: DTZ001
offsets = st.sampled_from(
    ["Z", "z", "+00:00", "-11:30", "+05:00:30", "+23:59", "+24:00", "+5:00", "+01:75", "+0100", "[UTC]", "Z[No/Where]"]
) | st.sampled_from(["+01:00[Europe/Paris]", "-05:00[America/New_York]", "Z[UTC]", "+09:00[Asia/Tokyo]", ""])
epochs = st.builds(
    lambda power, sign, off: str(sign * 31_536_000_000 * 1000**power + off),
    st.integers(0, 3),
    st.sampled_from([1, -1]),
    st.integers(-1, 1),
) | st.integers(-(10**18), 10**18).map(str)
clocks = st.one_of(
    st.times().map(dt.time.isoformat),
    st.sampled_from(
        ["13:45", "24:00:00", "23:59:60", "23:59:59.9999999", "00:00:00.1234565", "1:00", "12:00:00.0000001"]
    ),
)
times = st.one_of(
    moments,
    st.tuples(moments, offsets).map("".join),
    st.tuples(st.dates().map(str), st.sampled_from("Tt "), clocks, offsets).map("".join),
    st.dates().map(str),
    clocks,
    st.tuples(clocks, offsets).map("".join),
    epochs,
    st.sampled_from(
        [
            *(
                "2024-02-30",
                "0000-01-01T00:00:00",
                "infinity",
                "epoch",
                "",
                "1.5",
                "20:57:01",
                "10000-01-01",
                "-0001-01-01",
            ),
            # What New York's clocks skipped, and what they showed twice.
            *("2024-03-10T02:30:00", "2024-11-03T01:30:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"),
        ]
    ),
)
blanks = st.sampled_from(["", "", "", " ", "\t", "\n ", "\u00a0"])
words = st.sampled_from(
    [
        *("true", "FALSE", "t", "f", "Yes", "no", "Y", "n", "on", "Off", "1", "0", "nan", "Inf", "-inf", "infinity"),
        *("+Infinity", "0x22", "1_000", "+1", ".5", "1.", "١", "1e5", "1f", "--1", "null", "00ff", "0F", "abc"),
        *(
            "8d8ac610-566d-4ef0-9c22-186b2a5ed793",
            "8D8AC610566D4EF09C22186B2A5ED793",
            "{8d8ac610-566d-4ef0-9c22-186b2a5ed793}",
        ),
    ]
)
odd_texts = st.sampled_from(["\ud800", "😀", "\0", "\u2028", '"\\', "\x7f", "/", "a\tb", "{}", "[1]"])
texts = st.one_of(st.text(max_size=5), st.tuples(blanks, times | words | numbers, blanks).map("".join), odd_texts)


def written_object(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{key}: {value}" for key, value in members) + "}"


def written_list(items: list[str]) -> str:
    return "[" + ", ".join(items) + "]"


def written_text(text: str, ascii_only: bool) -> str:
    lone = any(0xD800 <= ord(each) <= 0xDFFF for each in text)
    return json.dumps(text, ensure_ascii=ascii_only or lone)


written_texts = st.builds(written_text, texts, st.booleans())
anything: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(["null", "true", "false"]) | numbers | written_texts,
    lambda inner: (
        st.lists(inner, max_size=3).map(written_list)
        | st.lists(st.tuples(written_texts | names.map(json.dumps), inner), max_size=3).map(written_object)
    ),
    max_leaves=5,
)


def _fitting(kind: IcebergType) -> st.SearchStrategy[str]:
    """Texts of values that mostly fit a type."""
    match kind:
        case ListType(element=element):
            return st.lists(of(element), max_size=3).map(written_list)
        case StructType(fields=fields):
            return st.composite(object_of)(fields)
        case MapType(key=key, value=value):
            keys = _fitting(key).map(lambda text: text if text.startswith('"') else f'"{text}"') | written_texts
            return st.lists(st.tuples(keys, of(value)), max_size=3).map(written_object) | st.lists(
                st.tuples(_fitting(key), of(value)).map(lambda pair: written_list(list(pair))), max_size=3
            ).map(written_list)
        case Primitive(name="boolean"):
            return st.sampled_from(["true", "false", "true", "false", "0", "1", "1.0"]) | words.map(json.dumps)
        case Primitive(name="string"):
            return written_texts | numbers | anything
        case Primitive(name="variant"):
            return anything
        case Primitive(name="uuid"):
            return st.uuids().map(lambda found: json.dumps(str(found))) | words.map(json.dumps)
        case Primitive(name="binary" | "fixed[2]"):
            some = st.binary(min_size=2, max_size=2) | st.binary(max_size=20)
            return some.map(lambda found: json.dumps(found.hex())) | words.map(json.dumps)
        case Primitive(name="date"):
            return st.dates().map(lambda found: json.dumps(str(found))) | times.map(json.dumps)
        case Primitive(name="time"):
            return clocks.map(json.dumps) | times.map(json.dumps)
        case Primitive(name="timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns"):
            return times.map(json.dumps) | moments.map(json.dumps) | epochs
        case _:
            return numbers | numbers | words.map(json.dumps) | numbers.map(json.dumps)


def of(kind: IcebergType) -> st.SearchStrategy[str]:
    """Texts of values for a column: most fit, some are null, a few are anything."""
    return st.integers(0, 9).flatmap(
        lambda die: st.just("null") if die == 0 else anything if die == 1 else _fitting(kind)
    )


def object_of(draw: st.DrawFn, fields: tuple[Column, ...]) -> str:
    members = []
    for field in fields:
        die = draw(st.integers(0, 19))
        if die in (0, 4, 5):
            continue
        key = field.name.swapcase() if die in (1, 2) else field.name
        members.append((written_text(key, draw(st.booleans())), draw(of(field.type))))
        if die in (2, 3):
            members.append((json.dumps(field.name), draw(st.just("null") | of(field.type))))
    if draw(st.integers(0, 9)) == 0:
        members.append((draw(written_texts), draw(anything)))
    return written_object(members)


def records(shape: tuple[Column, ...]) -> st.SearchStrategy[str | None]:
    """Records for a table; a few are tombstones, no objects, or broken."""
    whole_records: st.SearchStrategy[str] = st.composite(object_of)(shape)
    broken = st.tuples(whole_records, st.integers(0, 30), st.sampled_from(["", ",", "}", "\\", '"', "\n"])).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
    )
    return st.integers(0, 19).flatmap(
        lambda die: st.just(None) if die == 0 else broken if die in (1, 2) else anything if die == 3 else whole_records
    )


@dataclass(frozen=True)
class Chunk:
    """Records for one table."""

    shape: tuple[Column, ...]
    texts: list[str | None]
    conversion: Conversion


chunks = shapes.flatmap(
    lambda shape: st.builds(Chunk, st.just(shape), st.lists(records(shape), min_size=1, max_size=6), conversions)
)
