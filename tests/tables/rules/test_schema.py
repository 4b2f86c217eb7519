from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType
from frazil.tables.rules.schema import columns_from_json, remaining, schema_to_json

primitives = st.sampled_from(["long", "string", "time", "uuid", "binary", "timestamptz", "variant"]).map(
    Primitive
) | st.builds(Primitive, st.just("decimal"), st.integers(1, 38), st.integers(0, 38))


def fields_of(kinds: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[tuple[Column, ...]]:
    return st.lists(st.builds(Column, st.just(0), st.text(), kinds, st.booleans()), max_size=3).map(tuple)


kinds: st.SearchStrategy[IcebergType] = st.recursive(
    primitives,
    lambda inner: (
        st.builds(ListType, st.just(0), inner, st.booleans())
        | st.builds(MapType, st.just(0), primitives, st.just(0), inner, st.booleans())
        | fields_of(inner).map(StructType)
    ),
    max_leaves=5,
)


def ids(kind: object) -> list[int]:
    if isinstance(kind, dict):
        own = [value for key, value in kind.items() if key in ("id", "element-id", "key-id", "value-id")]
        return own + [number for value in kind.values() for number in ids(value)]
    return [number for value in kind for number in ids(value)] if isinstance(kind, list) else []


@given(fields_of(kinds))
def test_a_schema_written_is_read_back_with_ids_of_its_own(columns: tuple[Column, ...]) -> None:
    text = schema_to_json(columns)

    found = columns_from_json(text)

    assert [(each.name, each.required, str(each.type)) for each in found] == [
        (each.name, each.required, str(each.type)) for each in columns
    ]
    numbers = ids(json.loads(text))
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert schema_to_json(found) == text


def test_a_schema_is_read_as_iceberg_writes_it() -> None:
    text = """{"type": "struct", "schema-id": 3, "fields": [
        {"id": 7, "name": "p", "required": true, "type": "decimal(9, 2)", "doc": "price"},
        {"id": 8, "name": "l", "required": false,
         "type": {"type": "list", "element-id": 9, "element": "int", "element-required": true}},
        {"id": 10, "name": "m", "required": false, "type": {"type": "map", "key-id": 11, "key": "string",
         "value-id": 12, "value": {"type": "struct", "fields": []}, "value-required": false}}]}"""

    assert columns_from_json(text) == (
        Column(7, "p", Primitive("decimal", 9, 2), required=True),
        Column(8, "l", ListType(9, Primitive("int"), element_required=True)),
        Column(10, "m", MapType(11, Primitive("string"), 12, StructType(()), value_required=False)),
    )


def test_a_write_default_is_kept_as_json_text_and_no_other_default_is() -> None:
    text = """{"type": "struct", "schema-id": 3, "fields": [
        {"id": 1, "name": "n", "required": true, "type": "long", "initial-default": 3, "write-default": 7},
        {"id": 2, "name": "d", "required": false, "type": "decimal(9, 2)", "write-default": "14.20"},
        {"id": 3, "name": "b", "required": false, "type": "boolean", "write-default": false},
        {"id": 4, "name": "t", "required": false, "type": "string", "write-default": ""},
        {"id": 5, "name": "u", "required": false, "type": "string", "write-default": "\\u00e9 \\"\\u0000"},
        {"id": 6, "name": "x", "required": false, "type": "binary", "write-default": "00ff"},
        {"id": 7, "name": "f", "required": false, "type": "double", "write-default": 0.1},
        {"id": 8, "name": "i", "required": false, "type": "long", "initial-default": 3},
        {"id": 9, "name": "z", "required": false, "type": "long", "write-default": null},
        {"id": 10, "name": "s", "required": false, "write-default": {}, "type": {"type": "struct", "fields": [
            {"id": 11, "name": "n", "required": false, "type": "long", "write-default": 0}]}}]}"""

    found = columns_from_json(text)

    assert {each.name: each.default and json.loads(each.default) for each in found} == {
        "n": 7,
        "d": "14.20",
        "b": False,
        "t": "",
        "u": 'é "\0',
        "x": "00ff",
        "f": 0.1,
        "i": None,
        "z": None,
        "s": None,
    }
    assert [each.default for each in found if each.name in ("n", "b", "t")] == ["7", "false", '""']
    assert found[-1].type == StructType((Column(11, "n", Primitive("long"), default="0"),))


COUNT, LAT = Column(1, "count", Primitive("int"), required=True), Column(3, "lat", Primitive("float"), required=True)
EXISTING = (COUNT, Column(2, "place", StructType((LAT,))), Column(4, "sizes", ListType(5, Primitive("int"), True)))


def test_what_is_left_of_a_change_is_what_nobody_did() -> None:
    change = SchemaChange(
        add={"COUNT": Primitive("long"), "new": Primitive("long")},
        widen={
            ("count",): Primitive("int"),
            ("place", "lat"): Primitive("double"),
            ("sizes", "element"): Primitive("long"),
            ("place",): Primitive("long"),
            ("gone",): Primitive("long"),
            ("gone", "field"): Primitive("long"),
        },
        relax=frozenset({("place",), ("place", "lat"), ("sizes", "element"), ("gone",)}),
    )

    assert remaining(change, EXISTING) == SchemaChange(
        add={"new": Primitive("long")},
        widen={("place", "lat"): Primitive("double"), ("sizes", "element"): Primitive("long")},
        relax=frozenset({("place", "lat"), ("sizes", "element")}),
    )


def test_nothing_is_made_narrower() -> None:
    narrower = SchemaChange(widen={("count",): Primitive("string"), ("place", "lat"): Primitive("float")})

    assert remaining(narrower, EXISTING) == SchemaChange()
