"""Records, with schemas and without, and options of transforms that have something to do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final

from hypothesis import strategies as st

from frazil.records.connect.data import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    Field,
    Header,
    Moment,
    Number,
    Record,
    Schema,
    SchemaAndValue,
    Struct,
    Type,
)
from frazil.records.smt.date_format import LETTERS
from frazil.records.smt.kinds import Float32, Int8, Int16, Int32, single, wrapped

DAY: Final = 86_400_000
NAMES: Final = ("a", "b", "c", "a.b", "d")

names = st.sampled_from(NAMES)
numbers = st.one_of(st.integers(-200, 200), st.integers(-(2**63), 2**63 - 1))
moments = st.one_of(st.integers(0, 100 * DAY), st.integers(-(10**14), 10**14)).map(Moment)
decimals = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(-scale), st.integers(-(10**20), 10**20), st.integers(-3, 6)
)
texts = st.one_of(
    st.sampled_from(
        ["", "true", "FALSE", " 1", "12", "-129", "1.5", "1e3", "0x1p3", "NaN", "2024-10-04", "20241004 12"]
    ),
    numbers.map(str),
    st.floats().map(str),
    st.text(max_size=6),
)
json_numbers = st.one_of(numbers.map(str), st.sampled_from(["1.50", "-0.0", "1E3", "9223372036854775808", "0.1"]))


def _of_classes(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(elements, max_size=2), st.dictionaries(names, elements, max_size=3))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    json_numbers.map(Number),
    st.floats(),
    texts,
    st.binary(max_size=3),
    st.floats(width=32).map(Float32),
    *(
        numbers.map(lambda number, made=made, bits=bits: made(wrapped(number, bits)))
        for made, bits in ((Int8, 8), (Int16, 16), (Int32, 32))
    ),
    moments,
    decimals,
)
plain_values = st.recursive(scalars, _of_classes, max_leaves=6)
plain_maps = st.dictionaries(names, plain_values, max_size=4)


def _schema(kind: Type, values: st.SearchStrategy[Any], **more: Any) -> tuple[Schema, st.SearchStrategy[Any]]:
    return Schema(kind, **more), values


def _integers(kind: Type, bits: int) -> tuple[Schema, st.SearchStrategy[Any]]:
    return _schema(kind, numbers.map(lambda number: wrapped(number, bits)))


SIMPLE: Final = (
    *(_integers(Type(f"int{bits}"), bits) for bits in (8, 16, 32, 64)),
    _schema(Type.FLOAT32, st.floats(width=32).map(single)),
    _schema(Type.FLOAT64, st.floats()),
    _schema(Type.BOOLEAN, st.booleans()),
    _schema(Type.STRING, texts),
    _schema(Type.BYTES, st.binary(max_size=3)),
    _schema(Type.INT32, st.integers(-(10**6), 10**6).map(lambda day: Moment(day * DAY)), name=DATE, version=1),
    _schema(Type.INT32, st.integers(0, DAY - 1).map(Moment), name=TIME, version=1),
    _schema(Type.INT64, moments, name=TIMESTAMP, version=1),
    _schema(
        Type.BYTES,
        st.integers(-(10**20), 10**20).map(lambda digits: Decimal(digits).scaleb(-2)),
        name=DECIMAL,
        version=1,
        parameters={"scale": "2"},
    ),
    _schema(Type.INT32, numbers.map(lambda number: wrapped(number, 32)), name="mine", doc="Of mine.", version=3),
)

Typed = tuple[Schema, st.SearchStrategy[Any]]


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> Typed:
    """A schema, and its values."""
    kind = draw(st.sampled_from(["simple"] * 5 + ["array", "map", "struct", "struct"])) if depth else "simple"
    schema, values = _KINDS[kind](draw, depth)
    if draw(st.booleans()):
        schema, values = schema.as_optional(), st.one_of(st.none(), values)
    if draw(st.integers(0, 3)) == 0:
        default = draw(values)
        schema = replace(schema, default=default)
    return schema, values


def _array(draw: st.DrawFn, depth: int) -> Typed:
    inner, values = draw(typed(depth - 1))
    return Schema(Type.ARRAY, value=inner), st.lists(_without_struct_defaults(inner, values), max_size=2)


def _map(draw: st.DrawFn, depth: int) -> Typed:
    inner, values = draw(typed(depth - 1))
    values = _without_struct_defaults(inner, values)
    if draw(st.booleans()):
        return Schema(Type.MAP, key=Schema(Type.STRING), value=inner), st.dictionaries(names, values, max_size=2)
    keys = st.integers(-5, 5)
    pairs = st.lists(st.tuples(keys, values), max_size=2, unique_by=lambda pair: pair[0])
    return Schema(Type.MAP, key=Schema(Type.INT32), value=inner), pairs


def _struct(draw: st.DrawFn, depth: int) -> Typed:
    fields = draw(st.dictionaries(names, typed(depth - 1), max_size=4))
    schema = Schema(
        Type.STRUCT,
        fields=tuple(Field(name, of) for name, (of, _) in fields.items()),
        name=draw(st.sampled_from([None, "Order"])),
        version=draw(st.sampled_from([None, 2])),
    )
    content = st.fixed_dictionaries({name: _without_struct_defaults(*each) for name, each in fields.items()})
    return schema, content.map(
        lambda found: Struct(schema, {key: each for key, each in found.items() if each is not None})
    )


def _without_struct_defaults(schema: Schema, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values whose structs know of the optional and the default of their schema, as those do that fields have."""
    if schema.type is not Type.STRUCT:
        return values
    return values.map(lambda value: value if value is None else Struct(schema, value.values))


_KINDS: Final[dict[str, Callable[[st.DrawFn, int], Typed]]] = {
    "simple": lambda draw, _: draw(st.sampled_from(SIMPLE)),
    "array": _array,
    "map": _map,
    "struct": _struct,
}


@st.composite
def typed_values(draw: st.DrawFn) -> SchemaAndValue:
    """A value with a schema, most often a struct."""
    schema, values = _struct(draw, 2) if draw(st.integers(0, 4)) else draw(typed(2))
    if draw(st.integers(0, 9)) == 0:
        schema, values = schema.as_optional(), st.none()
    return SchemaAndValue(schema, draw(_without_struct_defaults(schema, values)))


contents = st.one_of(
    st.one_of(plain_maps, plain_maps, plain_maps, plain_values).map(lambda value: SchemaAndValue(None, value)),
    typed_values(),
)
headers = st.builds(Header, st.sampled_from(["x", "y", "z"]), st.just(SchemaAndValue(None, "h")))
topics = st.one_of(st.sampled_from(["orders", "orders_1", "", "prod-orders.v2"]), st.text("ab_-.1", max_size=6))
records = st.builds(
    Record,
    topic=topics,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.one_of(st.none(), st.integers(0, 10**14)),
    key=contents,
    value=contents,
    headers=st.lists(headers, max_size=3).map(tuple),
)


def mostly(usual: st.SearchStrategy[str], *odd: str) -> st.SearchStrategy[str]:
    """Texts, now and then one that may well be refused."""
    return st.one_of(usual, usual, usual, usual, st.sampled_from(odd))


flags = mostly(st.sampled_from(["true", "false", "TRUE"]), " true", "yes", "")
lists = mostly(
    st.lists(names, min_size=1, max_size=3, unique=True).map(",".join),
    *(["", " ", "a,", ",a", "a,,b", "a,a", " a , b ", "a b"]),
)
paths = st.one_of(
    names,
    st.sampled_from(
        [
            "a.b",
            "`a.b`",
            "c.d",
            "a.`a.b`",
            "b.a.c",
            "`a",
            "a.",
            "c.a.b.d",
            "",
            " a ",
            "`",
            "a``b",
            "`a`b`.c",
            "`a\\`.b`",
        ]
    ),
)
types = st.sampled_from(["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "STRING"])
patterns = st.one_of(
    st.sampled_from(
        [
            "yyyy-MM-dd",
            "yyyyMMdd",
            "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
            "yy/M/d h:mm a",
            "EEE, d MMM yyyy HH:mm:ss Z",
            "D yyyy",
        ]
    ),
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(LETTERS), st.integers(1, 4)).map(
                lambda found: found[0] * (min(found[1], 3) if found[0] == "X" else found[1])
            ),
            st.sampled_from([" ", "-", ":", "/", "''", "'at'", "."]),
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)
literals = st.one_of(
    texts,
    st.text('0123456789-+.eE:TZ[]{},"\\ antrulfs', max_size=14),
    st.sampled_from(
        ['["a",1]', "[1,300,1.5]", "{1:2}", '{"a":null}', "2024-10-04", "10:15:30.250Z", "2024-10-04T10:15:30.250Z"]
    ),
    st.recursive(
        st.sampled_from(
            ["1", "300", "1.5", "1e40", "true", "null", '"a"', "2024-10-04", "10:15:30.250Z", "-7", "x", " 5 "]
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda found: f"[{','.join(found)}]"),
            st.lists(st.tuples(inner, inner), max_size=3).map(
                lambda found: f"{{{','.join(f'{key}:{value}' for key, value in found)}}}"
            ),
        ),
        max_leaves=5,
    ),
)


def altered(text: str) -> st.SearchStrategy[str]:
    """A text as it is, or with something more, less or else at one place."""
    places = st.integers(0, len(text))
    pieces = st.one_of(st.sampled_from([*" -+:.,0129aZ", "AM", "pm", "Feb", "+01:00", "-0130"]), st.text(max_size=2))
    return st.one_of(
        st.just(text),
        st.builds(lambda place, more: f"{text[:place]}{more}{text[place:]}", places, pieces),
        st.builds(lambda place: text[:place] + text[place + 1 :], places),
        st.builds(lambda place, other: f"{text[:place]}{other}{text[place + 1 :]}", places, pieces),
        st.builds(lambda place: text[:place], places),
        st.just(text.upper()),
    )


def options(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(required, optional=optional or {})


NULLS: Final = {"replace.null.with.default": flags}


def records_for(name: str) -> st.SearchStrategy[Record]:
    """Records for a transform: SetSchemaMetadata of Kafka's takes no schemas but those of structs."""
    if not name.startswith("SetSchemaMetadata"):
        return records
    return records.filter(lambda record: all(_is_struct_or_plain(each) for each in (record.key, record.value)))


def _is_struct_or_plain(content: SchemaAndValue) -> bool:
    return content.schema is None or content.schema.type is Type.STRUCT


OPTIONS: Final[dict[str, st.SearchStrategy[dict[str, str]]]] = {
    "Cast": options(
        {
            "spec": mostly(
                st.one_of(
                    types,
                    st.dictionaries(names, types, min_size=1).map(
                        lambda found: ",".join(f"{key}:{to}" for key, to in found.items())
                    ),
                ),
                *("", "a:b:c", "a:", ":int8", "a :int8", "a: int8", "a:int8:", "int8,int16", "a:bytes", "int8, a:int8"),
                *("a:int8,a:int16", "a,", ":", "a:int8,"),
            )
        },
        NULLS,
    ),
    "DropHeaders": options({"headers": st.sampled_from(["x", "x,y", "z , x", "", "x,", "x,x"])}),
    "ExtractField": options(
        {"field": paths}, {"field.syntax.version": st.sampled_from(["V1", "V2", "v2", "V3", ""]), **NULLS}
    ),
    "Filter": options({}),
    "Flatten": options({}, {"delimiter": st.sampled_from([".", "_", "", "::"])}),
    "HeaderFrom": options(
        {
            "fields": lists,
            "headers": st.sampled_from(["x", "x,w", "v,w,x"]),
            "operation": st.sampled_from(["move", "copy", "copy", "move", "MOVE"]),
        },
        NULLS,
    ),
    "HoistField": options({"field": st.one_of(names, st.sampled_from(["", " ", " a"]))}),
    "InsertField": options(
        {},
        {
            "topic.field": st.sampled_from(["t", "a!", "t?", "!", "?", "", "t!?"]),
            "partition.field": st.sampled_from(["p", "p!"]),
            "offset.field": st.sampled_from(["o", "o?"]),
            "timestamp.field": st.sampled_from(["ts", "ts!"]),
            "static.field": st.sampled_from(["s", "b"]),
            "static.value": texts,
            **NULLS,
        },
    ),
    "InsertHeader": options({"header": st.sampled_from(["x", "new", "", " x"]), "value.literal": literals}),
    "MaskField": options(
        {"fields": lists},
        {
            "replacement": st.sampled_from(
                ["7", "300", "1.5", "x", "-1e3", "1e40", "", " 7 ", "NaN", "99999999999999999999"]
            ),
            **NULLS,
        },
    ),
    "RegexRouter": options(
        {
            "regex": st.sampled_from(
                ["(.*)_([0-9])", "(orders)(.*)", "(?<a>[a-z]+)-?(.*)", "([^.]*)()", "(a|ab)(|x)", "(a)?(.*)"]
            ),
            "replacement": st.sampled_from(["$1", "new", "$0-x", "", "$1$2", r"\$", "$12"]),
        }
    ),
    "ReplaceField": options(
        {},
        {
            "include": lists,
            "exclude": lists,
            "renames": mostly(
                st.lists(
                    st.tuples(names, st.sampled_from(["x", "y", "z"])),
                    max_size=3,
                    unique_by=(itemgetter(0), itemgetter(1)),
                ).map(lambda found: ",".join(f"{old}:{new}" for old, new in found)),
                *("a", "a:", ":x", "a:x:y", "a:x:", " a : x", "a:x,b", "a:x,,b:y"),
            ),
            **NULLS,
        },
    ),
    "SetSchemaMetadata": options(
        {},
        {
            "schema.name": st.sampled_from(["New", ""]),
            "schema.version": st.sampled_from(["7", "-1", "x", "", " +7", "1.0", "2147483648"]),
            **NULLS,
        },
    ),
    "TimestampConverter": options(
        {"target.type": st.sampled_from(["string", "unix", "Date", "Time", "Timestamp", " unix", "date"])},
        {
            "field": names,
            "format": patterns,
            "unix.precision": st.sampled_from(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
            **NULLS,
        },
    ),
    "TimestampRouter": options(
        {},
        {
            "topic.format": st.sampled_from(["${topic}_${timestamp}", "x${timestamp}", "$1"]),
            "timestamp.format": patterns,
        },
    ),
    "ValueToKey": options({"fields": lists}, NULLS),
}
"""Options of each transform."""
