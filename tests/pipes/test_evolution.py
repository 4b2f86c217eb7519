"""From drift to columns: commutative, associative, idempotent, and wide enough for everything that was seen."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.model import Column, Drift, IcebergType, ListType, MapType, ObservedType, Primitive, StructType
from frazil.pipes.evolution import NestedType, column_type, columns_for, merged
from frazil.pipes.naming import normalized

NESTED: tuple[NestedType, ...] = ("variant", "json", "struct")
SCALARS = ["null", "boolean", "long", "huge", "double", "string"]
"""Kinds that values show."""

DECLARED = [
    *("int", "float", "date", "time", "timestamp", "timestamptz", "binary"),
    *("decimal(5,2)", "decimal(12,2)", "decimal(20,0)", "decimal(38,30)"),
]
"""Those that schemas say besides."""


names = st.sampled_from(["a", "A", "b", "é", "É", "x.y", "", "n\n"])
scalars = st.sets(st.sampled_from(SCALARS + DECLARED), max_size=3).map(frozenset)


def fields(values: st.SearchStrategy[ObservedType]) -> st.SearchStrategy[tuple[tuple[str, ObservedType], ...]]:
    return st.dictionaries(names, values, max_size=3).map(lambda found: tuple(sorted(found.items())))


seens: st.SearchStrategy[ObservedType] = st.recursive(
    st.builds(ObservedType, scalars),
    lambda inner: st.builds(
        ObservedType,
        scalars,
        st.none() | fields(inner),
        st.none() | inner,
        entries=st.none() | st.tuples(st.builds(ObservedType, scalars), inner),
    ),
    max_leaves=4,
)
drifts: st.SearchStrategy[Drift] = st.dictionaries(names, seens, max_size=4)


def seen(*scalars: str, **others: Any) -> ObservedType:
    return ObservedType(frozenset(scalars), **others)


def listed(element: IcebergType) -> ListType:
    return ListType(0, element, element_required=False)


def mapped(key: IcebergType, value: IcebergType) -> MapType:
    return MapType(0, key, 0, value, value_required=False)


def decimal(precision: int, scale: int) -> Primitive:
    return Primitive("decimal", precision, scale)


def struct(**kinds: IcebergType) -> StructType:
    return StructType(tuple(Column(0, name, kind) for name, kind in kinds.items()))


BOOLEAN, LONG, DOUBLE, STRING, VARIANT = map(Primitive, ("boolean", "long", "double", "string", "variant"))
INT, FLOAT, DATE = map(Primitive, ("int", "float", "date"))


@given(st.lists(drifts, max_size=4), st.sampled_from(NESTED), st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(found: list[Drift], nested: NestedType, shuffle: Any) -> None:
    shuffled = list(found)
    shuffle.shuffle(shuffled)

    assert merged(shuffled) == merged(found)
    assert columns_for(merged(shuffled), nested) == columns_for(merged(found), nested)
    assert list(columns_for(merged(found), nested)) == sorted(columns_for(merged(found), nested))


@given(drifts, drifts, drifts)
def test_merging_is_associative_and_repeating_changes_nothing(one: Drift, two: Drift, three: Drift) -> None:
    assert merged([merged([one, two]), three]) == merged([one, merged([two, three])]) == merged([one, two, three])
    assert merged([one, one]) == merged([one]) == one
    assert merged([]) == {}


@given(seens, seens, seens)
def test_so_it_is_for_one_key(one: ObservedType, two: ObservedType, three: ObservedType) -> None:
    assert one.merged_with(two) == two.merged_with(one)
    assert one.merged_with(two).merged_with(three) == one.merged_with(two.merged_with(three))
    assert one.merged_with(one) == one.merged_with(ObservedType()) == one


@given(seens, seens, st.sampled_from(NESTED))
def test_more_values_never_narrow_the_type(one: ObservedType, two: ObservedType, nested: NestedType) -> None:
    assert holds(column_type(one.merged_with(two), nested), column_type(one, nested), one)


def holds(wider: IcebergType, narrower: IcebergType, values: ObservedType) -> bool:
    """Whether a column of the one type takes what was seen for the other."""
    if values == ObservedType(values.scalars & {"null"}) or wider in (STRING, VARIANT) or wider == narrower:
        return True
    match wider, narrower:
        case ListType(element=one), ListType(element=other):
            return holds(one, other, values.element or ObservedType())
        case StructType(fields=many), StructType(fields=few):
            taking = {field.name.casefold(): field.type for field in many}
            held = dict(values.fields or ())
            return all(
                field.name.casefold() in taking
                and holds(taking[field.name.casefold()], field.type, held.get(field.name, seen("long")))
                for field in few
            )
        case MapType(key=key, value=value), MapType(key=least, value=fewer):
            keys, content = values.entries or (ObservedType(), ObservedType())
            return holds(key, least, keys) and holds(value, fewer, content)
        case MapType(key=key, value=value), StructType(fields=few):
            held = dict(values.fields or ())
            return key == STRING and all(holds(value, field.type, held.get(field.name, seen("long"))) for field in few)
        case Primitive(name="decimal"), Primitive():
            digits = {"int": 10, "long": 19}.get(narrower.name, narrower.precision - narrower.scale)
            return wider.precision - wider.scale >= digits and wider.scale >= narrower.scale
        case _:
            return (wider, narrower) in [(LONG, INT), (DOUBLE, INT), (DOUBLE, LONG), (DOUBLE, FLOAT)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["null"], STRING),
        ([], STRING),
        (["boolean"], BOOLEAN),
        (["long"], LONG),
        (["double"], DOUBLE),
        (["huge"], STRING),
        (["string"], STRING),
        (["long", "double"], DOUBLE),
        (["long", "huge"], STRING),
        (["double", "huge"], STRING),
        (["long", "string"], STRING),
        (["long", "boolean"], STRING),
        (["boolean", "double"], STRING),
        (SCALARS, STRING),
        (["int"], INT),
        (["int", "long"], LONG),
        (["float"], FLOAT),
        (["float", "double"], DOUBLE),
        (["float", "int"], DOUBLE),
        (["date"], DATE),
        (["date", "string"], STRING),
        (["date", "timestamp"], STRING),
        (["timestamp", "timestamptz"], STRING),
        (["binary", "string"], STRING),
        (["decimal(12,2)"], decimal(12, 2)),
        (["decimal(12,2)", "decimal(12,4)"], decimal(14, 4)),
        (["decimal(4,2)", "int"], decimal(12, 2)),
        (["decimal(4,2)", "long"], decimal(21, 2)),
        # No decimal has as many digits, and no double has those of a decimal.
        (["decimal(38,30)", "long"], STRING),
        (["decimal(38,30)", "decimal(38,2)"], STRING),
        (["decimal(12,2)", "double"], STRING),
        (["decimal(12,2)", "float"], STRING),
        (["decimal(12,2)", "huge"], STRING),
    ],
)
@pytest.mark.parametrize("nested", NESTED)
def test_a_column_holds_all_the_scalars_its_key_had(found: list[str], expected: Primitive, nested: NestedType) -> None:
    assert column_type(seen(*found), nested) == expected
    assert column_type(seen(*found, "null"), nested) == expected


OBJECT = ObservedType(fields=(("a", seen("long")),))
ARRAY = ObservedType(element=seen("long"))
MIXES = [
    OBJECT,
    ARRAY,
    OBJECT.merged_with(ARRAY),
    OBJECT.merged_with(seen("long")),
    ARRAY.merged_with(seen("string", "null")),
    ObservedType(fields=()),
    ObservedType(element=ObservedType()),
    ObservedType(entries=(seen("string"), seen("long"))),
]


@pytest.mark.parametrize("found", MIXES)
def test_objects_and_arrays_and_mixes_with_them_are_one_type_where_they_are_not_looked_into(
    found: ObservedType,
) -> None:
    assert column_type(found, "variant") == VARIANT
    assert column_type(found, "json") == STRING


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (OBJECT, struct(a=LONG)),
        (OBJECT.merged_with(seen("null")), struct(a=LONG)),
        (
            OBJECT.merged_with(ObservedType(fields=(("a", seen("double")), ("b", ARRAY)))),
            struct(a=DOUBLE, b=listed(LONG)),
        ),
        # What tells no type yet is not there yet.
        (ObservedType(fields=(("o", OBJECT), ("n", seen("null")))), struct(o=struct(a=LONG))),
        (ARRAY, listed(LONG)),
        (ObservedType(element=seen("long", "null")), listed(LONG)),
        (ObservedType(element=OBJECT.merged_with(seen("null"))), listed(struct(a=LONG))),
        (ObservedType(element=ARRAY), listed(listed(LONG))),
        # Nothing was ever in it: texts, which take whatever comes.
        (ObservedType(element=ObservedType()), listed(STRING)),
        (ObservedType(fields=()), STRING),
        (ObservedType(entries=(seen("string"), seen("date"))), mapped(STRING, DATE)),
        (ObservedType(entries=(seen("int"), OBJECT)), mapped(INT, struct(a=LONG))),
        # An object without a schema may be a map whose keys are texts.
        (ObservedType(entries=(seen("string"), seen("int")), fields=(("a", seen("long")),)), mapped(STRING, LONG)),
        (ObservedType(entries=(OBJECT, seen("int"))), STRING),
        (ObservedType(entries=(seen("string"), seen("int")), element=seen("long")), STRING),
        (ObservedType(fields=(("a", seen("date")), ("m", seen("decimal(5,2)")))), struct(a=DATE, m=decimal(5, 2))),
        # A mix is JSON text, as deep as it is.
        (OBJECT.merged_with(ARRAY), STRING),
        (OBJECT.merged_with(seen("long")), STRING),
        (ARRAY.merged_with(seen("boolean")), STRING),
        (ObservedType(element=OBJECT.merged_with(seen("long"))), listed(STRING)),
        (ObservedType(fields=(("m", OBJECT.merged_with(ARRAY)), ("a", seen("long")))), struct(a=LONG, m=STRING)),
        # Fields that differ only by case are one, and all that was seen of them is its.
        (ObservedType(fields=(("Total", seen("long")), ("total", seen("double")))), struct(Total=DOUBLE)),
        (ObservedType(fields=(("a", OBJECT), ("A", seen("string")))), struct(A=STRING)),
        # Keys that can name no field.
        (ObservedType(fields=(("", seen("long")),)), STRING),
        (ObservedType(fields=(("a", seen("long")), ("x" * 256, seen("long")))), STRING),
        (ObservedType(fields=(("a\nb", seen("long")),)), STRING),
        (ObservedType(fields=(("\ud800", seen("long")),)), STRING),
        (ObservedType(fields=(("x.y", seen("long")), ("*", seen("long")))), struct(**{"*": LONG, "x.y": LONG})),
    ],
)
def test_structs_are_the_union_of_their_fields(found: ObservedType, expected: IcebergType) -> None:
    assert column_type(found, "struct") == expected


def test_keys_that_differ_only_by_case_are_one_column_spelled_as_the_first() -> None:
    drift = {"total": seen("long"), "Total": seen("double"), "TOTAL": seen("null")}

    for order in itertools.permutations(drift.items()):
        assert columns_for(dict(order), "variant") == {"TOTAL": DOUBLE}


def test_keys_with_one_normalised_name_are_one_column() -> None:
    drift = {"total": seen("long"), '"TOTAL"': seen("double"), '"total"': seen("string"), "a\\ b": seen("boolean")}

    assert columns_for(drift, "variant", normalized) == {"A B": BOOLEAN, "TOTAL": STRING}
