"""Keys and columns with hostile names: each value lands in its own column, or its record is a reject that says why."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

import pytest
from tests.injection.texts import NAMES
from tests.pipes.default.chunks import Table, Worker, column, listed, mapped, struct

from frazil.model import Column, Conversion, ObservedType, Primitive
from frazil.pipes.default.observation import seen_in
from frazil.pipes.default.projection import Projection
from frazil.pipes.evolution import columns_for, unambiguous
from frazil.pipes.naming import folded
from frazil.pipes.types import unsupported
from frazil.records.metadata import column_type
from frazil.staging.metrics import iceberg_metrics

VALUES = {
    "string": lambda name: name,
    "long": len,
    "variant": lambda name: [name],
    "binary": lambda name: name.encode().hex(),
    "timestamp": lambda name: f"2026-01-02T03:04:{len(name) % 60:02d}",
}
"""What goes to a column of that name, by type: each is made by another kind of SQL."""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    running = Worker(tmp_path_factory.mktemp("scratch"))
    yield running
    running.close()


@pytest.mark.parametrize("kind", VALUES)
def test_every_hostile_name_is_a_column_of_its_own(worker: Worker, kind: str) -> None:
    record = {name: VALUES[kind](name) for name in NAMES}
    table = Table(worker, [column(name, kind) for name in NAMES])

    landed = table.land(json.dumps(record), json.dumps(dict(reversed(record.items()))), "{}")

    assert landed.reasons == {}
    assert [str(value) for value in landed.rows[0]] == [str(expected(kind, record[name])) for name in NAMES]
    assert landed.rows[0] == landed.rows[1]
    assert set(landed.rows[2]) == {None}


def expected(kind: str, value: object) -> object:
    """A value of a record as it is read back."""
    if kind == "binary":
        return bytes.fromhex(str(value))
    return str(value).replace("T", " ") if kind == "timestamp" else value


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_may_stand_anywhere_in_a_type(worker: Worker, name: str) -> None:
    shapes = {
        "struct": (struct(**{name: "string"}), {name: name}),
        "list": (listed(struct(**{name: "binary"})), [{name: "61"}, {name: None}]),
        "map": (mapped("string", "string"), {name: name, f"{name}x": ""}),
        "variant": (Primitive("variant"), {name: {name: [name]}}),
        "string": (Primitive("string"), {name: name}),
    }
    table = Table(worker, [column(key, kind) for key, (kind, _) in shapes.items()])
    record = {key: value for key, (_, value) in shapes.items()}

    landed = table.land(json.dumps(record), json.dumps({**record, name + "!": 1}))

    assert landed.reasons == {}
    texts, listing, mapping, variant, document = landed.rows[0]
    assert texts == {name: name}
    assert listing == [{name: b"a"}, {name: None}]
    assert dict(mapping) == {name: name, f"{name}x": ""}
    assert variant == {name: {name: [name]}}
    assert json.loads(document) == {name: name}
    assert landed.rows[1] == landed.rows[0]


def test_the_bounds_of_hostile_columns_are_those_of_their_own_values(worker: Worker) -> None:
    names = [*NAMES, "a", "b", "c"]
    nests = ['c"."a', "nest"]
    columns = [column(name, "string") for name in names]
    columns += [column(name, struct(**{"b": "string", 'b"."c': "string"})) for name in nests]
    record = {name: f"<{number}>" for number, name in enumerate(names)}
    record |= {name: {"b": f"{name} 1", 'b"."c': f"{name} 2"} for name in nests}

    landed = Table(worker, columns).land(json.dumps(record))

    assert landed.written
    metrics = iceberg_metrics(columns, landed.written.statistics, most=1000)
    for which in ("lower-bounds", "upper-bounds"):
        bounds = dict(zip(metrics[which]["keys"], map(bytes.fromhex, metrics[which]["values"]), strict=True))
        assert [bounds[each.id].decode() for each in columns[:-2]] == [record[name] for name in names]
        assert [bounds[field.id].decode() for each in columns[-2:] for field in each.type.fields] == [
            f"{name} {number}" for name in nests for number in (1, 2)
        ]


RESERVED = ["__duckdb_field_id", "__DuckDB_Field_ID"]
"""DuckDB's own word among the ids of fields."""


@pytest.mark.parametrize("name", RESERVED)
def test_a_key_that_is_a_word_of_duckdbs_never_becomes_a_column(worker: Worker, name: str) -> None:
    table = Table(worker, [column("a", "long")], evolves=True)

    landed = table.land('{"a": 1}', json.dumps({"a": 2, name: 3}))

    assert landed.rows == [1]
    assert "cannot name a column" in landed.rejects[1].reason
    assert not landed.drift


@pytest.mark.parametrize("name", RESERVED)
def test_a_key_that_is_a_word_of_duckdbs_never_becomes_a_field(name: str) -> None:
    nested = ObservedType(fields=((name, ObservedType(frozenset({"long"}))),))

    assert columns_for({"a": nested}, "struct") == {"a": Primitive("string")}


def evolving(worker: Worker, shape: Sequence[Column], *, normalizes: bool) -> Table:
    """A table that takes new columns."""
    return Table(worker, shape, Conversion(normalizes=normalizes), evolves=True)


PATHS = ["RECORD_METADATA.topic", "record_metadata.HEADERS.key", "s.f", "S.ı", "s.f.element", "l.element", "m.value.x"]
"""What a field of a table is to Iceberg, ignoring case."""


@pytest.mark.parametrize("normalizes", [False, True])
def test_a_key_that_is_the_path_of_a_field_never_becomes_a_column(worker: Worker, normalizes: bool) -> None:
    shape = [
        column("RECORD_METADATA", column_type()),
        column("s", struct(f=listed("long"), i="long")),
        column("l", listed("long")),
        column("m", mapped("string", struct(x="long"))),
    ]
    keys = [f'"{path}"' if normalizes else path for path in PATHS]
    table = evolving(worker, shape, normalizes=normalizes)

    landed = table.land(*(json.dumps({key: 1}) for key in keys))

    assert not landed.drift
    assert [(reject.column, "cannot name a column" in reject.reason) for reject in landed.rejects.values()] == [
        (repr(key), True) for key in keys
    ]


@pytest.mark.parametrize(
    "key", ['""', '"a\0"', '"__duckdb_field_id"', "ß" * 200, '"RECORD_METADATA"', "record_metadata"]
)
def test_a_key_whose_normalised_name_is_none_never_becomes_a_column(worker: Worker, key: str) -> None:
    table = evolving(worker, [column("A", "long")], normalizes=True)

    landed = table.land('{"a": 1}', json.dumps({key: 2}))

    assert not landed.drift
    assert landed.rows[0] == 1


@pytest.mark.parametrize(
    ("seen", "existing", "texts"),
    [
        ({"a": {"b": 1}, "a.b": 1}, {}, {"a"}),
        ({"a": {"b": 1}, "A.ß": 1, "A.B": 1}, {}, {"a"}),
        ({"a": {"b": {"c": 1}}, "a.b": {"c": 1}}, {}, {"a", "a.b"}),
        ({"a": {"b.c": 1, "b": {"c": 1}}}, {}, {"a"}),
        ({"a": [1], "a.element": 1}, {}, {"a"}),
        ({"a": [{"b": 1}], "a.b": 1}, {}, set()),
        ({"a": {"b": 1}}, {"a.b": 1}, {"a"}),
        ({"a.b": {"c": 1}}, {"a": {"b.c": 1}}, {"a.b"}),
        ({"a": {"b": 1}, "b": {"a": 1}}, {"c": {"a": 1}}, set()),
    ],
)
def test_what_has_a_field_with_the_path_of_another_is_text(
    seen: dict[str, object], existing: dict[str, object], texts: set[str]
) -> None:
    columns = columns_for(drift_of(seen), "struct")
    there = [Column(0, name, kind) for name, kind in columns_for(drift_of(existing), "struct").items()]

    settled = unambiguous(columns, there)

    assert {name for name, kind in settled.items() if kind == Primitive("string")} == texts
    assert all(settled[name] == kind for name, kind in columns.items() if name not in texts)


def drift_of(record: dict[str, object]) -> dict[str, ObservedType]:
    """What a task sees in a record of new keys."""
    return dict(seen_in(json.dumps(record), lambda _: False, deep=True))


@pytest.mark.parametrize("name", [*RESERVED, "\0", "a\ud800"])
def test_a_field_that_cannot_be_written_is_named(name: str) -> None:
    assert unsupported(struct(**{name: "long"})) == f"struct with a field named {name!r}"


@pytest.mark.parametrize(
    "names",
    [
        ("i", "I", "ı", "İ", "i̇"),
        ("straße", "STRASSE", "ſtraſſe"),
        ("k", "K"),
        ("ﬁ", "FI"),
        ("σ", "ς", "Σ"),
        ("å", "Å", "Å"),
    ],
)
def test_names_that_spark_takes_for_one_are_one_column(names: tuple[str, ...]) -> None:
    assert len({folded(name) for name in names}) == 1
    for first, second in itertools.permutations(names, 2):
        drift = {first: ObservedType(frozenset({"long"})), second: ObservedType(frozenset({"double"}))}
        assert columns_for(drift, "variant") == {min(first, second): Primitive("double")}
        assert Projection((Column(1, first, Primitive("long")),)).column_for(second)


def test_two_keys_that_spark_takes_for_one_are_a_reject_unless_one_is_null(worker: Worker) -> None:
    table = Table(worker, [column("i", "string"), column("s", struct(i="string"))])

    landed = table.land(
        '{"ı": "a"}', '{"İ": "b", "I": null}', '{"i": "c", "ı": "d"}', '{"s": {"ı": "e"}}', '{"s": {"i": 1, "İ": 2}}'
    )

    assert landed.rows == [("a", None), ("b", None), (None, {"i": "e"})]
    assert [landed.reasons[offset][0] for offset in (2, 4)] == ["i", "s"]


def test_no_number_of_spellings_makes_a_statement_long(worker: Worker) -> None:
    name = "customer_reference"
    spellings = ["".join(letters) for letters in itertools.product(*((each, each.upper()) for each in name[:11]))]
    table = Table(worker, [column(name, "string")])

    landed = table.land(*(json.dumps({spelling + name[11:]: spelling}) for spelling in spellings))

    assert landed.rows == spellings
