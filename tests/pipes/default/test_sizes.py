"""Values of megabytes, thousands of keys, a thousand levels: they land or are rejects, and nothing else happens."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.pipes.sql.landing import create, land

from frazil.model import Conversion
from frazil.pipes.content import ContentPipe
from frazil.pipes.default.exact_json import DEEPEST

from .chunks import Table, Worker, column, columns, listed, mapped, struct
from .conftest import MakeTable


@pytest.mark.parametrize("opening", ["[", '{"k":'])
@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("kind", ["variant", "string"])
def test_nesting_has_one_limit_in_both_tiers(
    make_table: MakeTable,
    opening: str,
    kind: str,
    exactly: bool,
) -> None:
    """`exactly` sends the records to the exact tier, for the 1.0 in a column of whole numbers."""

    def deep(levels: int) -> str:
        closing = "]" if opening == "[" else "}"
        number = "1.0e0" if exactly else "1"
        return f'{{"n": {number}, "v": {opening * levels}1{closing * levels}}}'

    landed = make_table(*columns(n="long", v=kind)).land(
        *(deep(levels) for levels in (10, DEEPEST - 1, DEEPEST + 1, 1_000, 100_000)), '{"n": 5, "v": null}'
    )

    assert [row[0] for row in landed.rows] == [1, 1, 5]
    assert {offset: reject.reason for offset, reject in landed.rejects.items()} == dict.fromkeys(
        (2, 3, 4), f"the value is nested deeper than {DEEPEST} levels"
    )


def test_brackets_within_texts_are_no_nesting(make_table: MakeTable) -> None:
    text = '[{\\"' * 1000

    landed = make_table(*columns(a="string")).land(f'{{"a": "{text}"}}')

    assert landed.rows == ['[{"' * 1000]


def test_a_value_of_megabytes_lands_and_a_reason_stays_short(make_table: MakeTable) -> None:
    long = "x" * 10_000_000

    landed = make_table(*columns(a="string", b="long")).land(f'{{"a": "{long}"}}', f'{{"b": "{long}"}}')

    assert landed.rows == [(long, None)]
    assert len(landed.rejects[1].reason) < 200


@pytest.mark.parametrize("kind", ["string", "variant"])
def test_a_text_of_ten_megabytes_lands(make_table: MakeTable, kind: str) -> None:
    long = "é😀x\\n" * 1_000_000

    landed = make_table(*columns(n="long", x=kind)).land(
        f'{{"n": 1, "x": "{long}"}}', '{"n": 2}', f'{{"n": "3", "x": "{long}"}}'
    )

    expected = long.replace("\\n", "\n")
    assert landed.rows == [(1, expected), (2, None), (3, expected)]


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("kind", ["string", "variant"])
def test_a_document_of_ten_megabytes_lands(make_table: MakeTable, kind: str, exactly: bool) -> None:
    """`exactly` sends the record to the exact tier, for the text in a column of numbers."""
    document = [{"id": number, "name": "x" * 950, "price": 0.5, "tags": ["a", None]} for number in range(10_000)]
    text = json.dumps(document, separators=(",", ":"))
    assert len(text) > 9_900_000

    landed = make_table(*columns(n="long", x=kind)).land(f'{{"n": {"1.0e0" if exactly else 1}, "x": {text}}}')

    assert landed.rejects == {}
    assert landed.rows == [(1, text if kind == "string" else document)]


def test_bytes_lists_and_maps_of_megabytes_land(make_table: MakeTable) -> None:
    table = make_table(*columns(b="binary", l=listed("long"), m=mapped("string", "long")))
    numbers = list(range(300_000))
    entries = {f"k{number}": number for number in range(100_000)}

    landed = table.land(json.dumps({"b": "0a" * 4_000_000, "l": numbers, "m": entries}))

    assert landed.rows == [(b"\n" * 4_000_000, numbers, list(entries.items()))]


def test_a_number_of_a_million_digits_is_a_reject_with_a_short_reason(make_table: MakeTable) -> None:
    long = "9" * 1_000_000
    kinds = ["int", "long", "double", "float", "decimal(38,10)", "boolean", "timestamp", "date", "uuid", "variant"]

    for kind in kinds:
        for value in (long, f"0.{long}", f"1e{long}", f'"{long}"'):
            landed = make_table(column("x", kind)).land(f'{{"x": {value}}}', '{"x": null}')

            assert landed.rows[-1] is None
            assert all(len(reject.reason) < 200 for reject in landed.rejects.values())


def test_a_number_of_a_million_digits_is_a_text_like_any_other(make_table: MakeTable) -> None:
    long = "9" * 1_000_000

    assert make_table(*columns(x="string")).land(f'{{"x": {long}}}', f'{{"x": [0.{long}]}}').rows == [
        long,
        f"[0.{long}]",
    ]


def test_five_thousand_keys_without_a_column_are_counted_and_dropped(make_table: MakeTable) -> None:
    record = {"a": 1, **{f"key_{number}": number for number in range(5_000)}}
    other = {"a": 2, **{f"other_{number}": number for number in range(5_000)}}

    landed = make_table(*columns(a="long")).land(*map(json.dumps, [record, other, record]))

    assert landed.rows == [1, 2, 1]
    assert landed.unknown == {
        **{f"key_{number}": 2 for number in range(5_000)},
        **{f"other_{number}": 1 for number in range(5_000)},
    }


def test_a_table_of_two_thousand_columns_lands(make_table: MakeTable) -> None:
    names = [f"c{number}" for number in range(2_000)]
    record = {name: number for number, name in enumerate(names)}

    landed = make_table(*(column(name, "long") for name in names)).land(json.dumps(record), '{"c7": 7}')

    assert landed.rows[0] == tuple(record.values())
    assert landed.rows[1] == tuple(7 if name == "c7" else None for name in names)


LONG_KEY = "k" * 300
ODD_KEYS = [LONG_KEY, "nul\0key", "\0", "line\nbreak", "\x7f", "é" * 300, ""]


@pytest.mark.parametrize("key", ODD_KEYS)
@pytest.mark.parametrize("value", ["1", '{"x": 1}', '"\\ud800"'])
def test_a_key_of_any_length_and_characters_is_dropped_or_kept_where_keys_are_data(
    make_table: MakeTable, key: str, value: str
) -> None:
    name = json.dumps(key)
    kinds = columns(a="long", v="variant", m=mapped("string", "long"), t="string", s=struct(x="long"))

    landed = make_table(*kinds).land(
        f'{{"a": 1, {name}: {value}}}',
        f'{{"v": {{{name}: 1}}, "m": {{{name}: 1}}, "t": {{{name}: 1}}, "s": {{{name}: 1, "x": 2}}}}',
    )

    text = json.dumps({key: 1}, ensure_ascii=False, separators=(",", ":"))
    assert landed.rows == [(1, None, None, None, None), (None, {key: 1}, [(key, 1)], text, {"x": 2})]
    assert landed.unknown == {key: 1, f"s.{key}": 1}


@pytest.mark.parametrize("levels", [600, 1_000, 5_000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"k":', '[{"":'])
@pytest.mark.parametrize("evolves", [True, False])
def test_a_thousand_levels_are_a_reject_wherever_they_are(
    make_table: MakeTable, levels: int, opening: str, evolves: bool
) -> None:
    closing = {"[": "]", "{": "}"}
    deep = opening * levels + "1" + "".join(closing[each] for each in reversed(opening) if each in closing) * levels
    table = make_table(*columns(a="long", s=struct(x="long"), l=listed("string"), t="string"), evolves=evolves)

    for key in ("a", "s", "l", "t"):
        landed = table.land(
            '{"a": 1}', f'{{"{key}": {deep}}}', f'{{"a": 2, "{key}": null}}'.replace('"a": 2, "a"', '"a"')
        )

        assert list(landed.rejects) == [1]
        assert len(landed.rows) == 2


LIMITS = {"string": 16_777_216, "binary": 8_388_608}


def written(kind: str, size: int) -> str:
    return "ä" * (size // 2) + "x" * (size % 2) if kind == "string" else "0a" * size


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("pipe", ["default", "path", "computed"])
def test_a_value_is_as_long_as_snowflakes_longest_and_no_longer(worker: Worker, kind: str, pipe: str) -> None:
    limit = LIMITS[kind]
    shape = columns(x=kind, n="long")
    records = [f'{{"n": {n}, "x": "{written(kind, limit + n)}"}}' for n in range(2)]
    if pipe == "default":
        landed = Table(worker, shape).land(*records)
    else:
        item = "$1:x" if pipe == "path" else "UPPER($1:x::STRING)" if kind == "string" else "TO_BINARY($1:x, 'HEX')"
        landed = land(worker, create(f"{item}, $1:n"), shape, *records)

    assert [(len(x.encode() if kind == "string" else x), n) for x, n in landed.rows] == [(limit, 0)]
    assert [*landed.rejects] == [1]
    column, reason = landed.reasons[1]
    assert column == "x"
    assert f"{limit + 1} bytes, and the column takes {limit}" in reason


@pytest.mark.parametrize(("length", "limit", "unit"), [(None, 16_777_216, "bytes"), (5, 5, "characters")])
def test_a_whole_record_is_no_longer_than_its_column_takes(
    worker: Worker, length: int | None, limit: int, unit: str
) -> None:
    shape = (replace(column("RECORD_CONTENT", "string"), length=length),)
    records = [f'"{"x" * (limit - 2 + more)}"' for more in range(2)]

    landed = Table(worker, shape).through(ContentPipe(shape, Conversion())).land(*records)

    assert landed.rows == records[:1]
    assert landed.reasons == {1: ("RECORD_CONTENT", f"the value has {limit + 1} {unit}, and the column takes {limit}")}
