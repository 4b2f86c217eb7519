"""Transforms of whole columns, held against the same transforms of one record after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records.batches import batch

from frazil.model import Conversion
from frazil.records.changing import Changing
from frazil.records.connect.exact_json import parsed
from frazil.records.connect.unreadable import Unreadable
from frazil.records.convert import RecordConverter, arranged
from frazil.records.schema_types import SchemaTypes
from frazil.records.smt.chain import Chain, specs

Row = tuple[Any, ...]

TRANSFORMS = (
    {"type": "RegexRouter", "regex": "(.*)s", "replacement": "$1_all"},
    {"type": "TimestampRouter", "timestamp.format": "yyyyMM"},
    {"type": "DropHeaders", "headers": "a,c"},
    {"type": "Filter"},
    {"type": "InsertField$Value", "topic.field": "from", "offset.field": "at", "partition.field": "n"},
    {"type": "InsertField$Value", "timestamp.field": "at", "static.field": "é", "static.value": 'a "text"'},
    {"type": "ReplaceField$Value", "exclude": "a,at", "renames": "from:whence,b:c"},
    {"type": "ReplaceField$Value", "include": "b, n"},
)
PREDICATES = (
    None,
    {"type": "TopicNameMatches", "pattern": "order.*"},
    {"type": "RecordIsTombstone"},
    {"type": "HasHeaderKey", "name": "a"},
)


def chain(*transforms: tuple[Mapping[str, str], Mapping[str, str] | None, bool]) -> Conversion:
    """JSON without schemas, and those transforms, each with its predicate and whether that is negated."""
    keys = {"transforms": ",".join(f"t{place}" for place in range(len(transforms)))}
    for place, (options, predicate, negate) in enumerate(transforms):
        keys |= {f"transforms.t{place}.{key}": text for key, text in options.items()}
        if predicate is not None:
            keys |= {f"transforms.t{place}.predicate": f"p{place}", f"transforms.t{place}.negate": str(negate)}
            keys |= {f"predicates.p{place}.{key}": text for key, text in predicate.items()}
    keys["predicates"] = ",".join(f"p{place}" for place, (_, predicate, _) in enumerate(transforms) if predicate)
    return Conversion(transforms=specs({key: text for key, text in keys.items() if text}))


def steps_of(conversion: Conversion) -> Changing:
    steps = [step for spec in conversion.transforms for step in Chain.of(spec.options).steps]
    return Changing(conversion, steps, SchemaTypes(bytes_fit=True))


values = st.one_of(
    st.none(),
    st.sampled_from(
        [
            b"null",
            b" null ",
            b"",
            b"{}",
            b" { } ",
            b"[1]",
            b'"a"',
            b"{",
            b'{"a":}',
            b'{"a":1}}',
            b'{"a":1',
            b"\xff",
            b"7",
        ]
    ),
    st.builds(
        lambda members, blank: (
            "{" + ",".join(f"{blank}{key}:{value}{blank}" for key, value in members) + "}"
        ).encode(),
        st.lists(
            st.tuples(
                st.sampled_from(
                    ['"a"', '"b"', '"from"', '"at"', '"\\u0061t"', '"n"', '"é"', '"\\u00e9"', '"c"', '"x\\"at"']
                ),
                st.sampled_from(
                    ["1", "1.50", "1e400", '"at"', '"{}"', "null", '{"at":1}', "[1, 2]", '"\\ud83d\\ude00"']
                ),
            ),
            max_size=4,
        ),
        st.sampled_from(["", " ", "\n\t"]),
    ),
)
records = st.lists(
    st.tuples(
        st.sampled_from(["orders", "order", "returns"]),
        st.one_of(st.none(), st.just(1_790_000_000_000), st.just(0)),
        values,
        st.one_of(
            st.none(), st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([b"1", b"x", None])), max_size=3)
        ),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(
    records,
    st.lists(
        st.tuples(st.sampled_from(TRANSFORMS), st.sampled_from(PREDICATES), st.booleans()), min_size=1, max_size=3
    ),
)
def test_columns_become_what_the_records_become_one_by_one(
    given_records: list[Row], transforms: list[tuple[Mapping[str, str], Mapping[str, str] | None, bool]]
) -> None:
    conversion = chain(*transforms)
    topics, timestamps, bodies, headers = map(list, zip(*given_records, strict=True))
    read = batch(topic=topics, timestamp=timestamps, value=bodies, headers=headers)
    one_by_one = steps_of(conversion).change(read)
    expected = {
        offset: (topic, timestamp, value, found)
        for offset, topic, timestamp, value, found in zip(
            one_by_one.rows,
            *(one_by_one.columns[name] for name in ("topic", "timestamp", "value", "headers")),
            strict=True,
        )
    }

    looking, columns = arranged(conversion)
    converted = RecordConverter(conversion).convert(read, 0)

    assert (looking, len(columns)) == ([], len(transforms))
    names = ("offset", "topic", "CreateTime", "value", "headers")
    done = zip(*(converted.table.column(name).to_pylist() for name in names), strict=True)
    found = {offset: cells for offset, *cells in done}
    valid = {offset: cells for offset, cells in found.items() if is_valid(cells[1 + 1])}
    assert valid.keys() == {offset for offset in expected if is_valid(expected[offset][2])} - unreadable(one_by_one)
    for offset, (topic, timestamp, value, header) in valid.items():
        assert (topic, timestamp, document(value)) == (*expected[offset][:2], document(expected[offset][2]))
        assert sorted(dict(header or ())) == sorted(dict(expected[offset][3] or ()))
    refused = {each.offset for each in converted.rejects if each.stage == "transform"}
    assert refused <= {*one_by_one.refused, *one_by_one.unreadable}
    assert one_by_one.refused.keys() <= {each.offset for each in converted.rejects}


def unreadable(changed: Any) -> set[int]:
    return {*changed.unreadable}


def is_valid(value: str | None) -> bool:
    try:
        document(value)
    except Unreadable:
        return False
    return True


def document(value: str | None) -> Any:
    return None if value is None else parsed(value.encode())


def test_a_number_that_no_transform_looks_at_keeps_its_digits() -> None:
    conversion = chain((TRANSFORMS[4], None, False), (TRANSFORMS[6], None, False))

    done = RecordConverter(conversion).convert(batch(value=[b'{"b": 0.10000000000000000000000001, "a": 2}']), 0)

    assert done.table.column("value").to_pylist() == ['{"c":0.10000000000000000000000001,"whence":"orders","n":3}']


@pytest.mark.parametrize(("count", "looks"), [(0, []), (1, ["cast"])])
def test_only_what_stands_before_the_last_transform_that_looks_into_records_looks_into_them(
    count: int, looks: list[str]
) -> None:
    keys = {
        "transforms": ("cast," * count) + "route,add",
        "transforms.cast.type": "Cast$Value",
        "transforms.cast.spec": "a:string",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": "a",
        "transforms.route.replacement": "b",
        "transforms.add.type": "InsertField$Value",
        "transforms.add.topic.field": "t",
    }

    looking, columns = arranged(Conversion(transforms=specs(keys)))

    assert ([each.name for each in looking], [name for name, _ in columns]) == (looks, ["route", "add"])
