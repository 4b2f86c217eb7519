"""Changes of columns, put together from what several records and tasks asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import Column, IcebergType, ListType, MapType, Primitive, SchemaChange, StructType
from frazil.pipes.changes import changed, joined, together, within

LONG, DOUBLE, STRING = Primitive("long"), Primitive("double"), Primitive("string")


def struct(**fields: IcebergType) -> StructType:
    return StructType(tuple(Column(0, name, kind) for name, kind in fields.items()))


def _around(kinds: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[IcebergType]:
    fields = st.dictionaries(st.sampled_from("abAB"), kinds, min_size=1, max_size=3)
    apart = fields.filter(lambda each: len({name.lower() for name in each}) == len(each))
    structs = apart.map(lambda each: struct(**dict(sorted(each.items()))))
    maps = kinds.map(lambda kind: MapType(0, STRING, 0, kind, value_required=False))
    return structs | kinds.map(lambda kind: ListType(0, kind, False)) | maps


scalars = [LONG, DOUBLE, STRING, *map(Primitive, ("boolean", "int", "float", "date"))]
decimals_within = [Primitive("decimal", 5, 2), Primitive("decimal", 38, 30), Primitive("decimal", 20, 4)]
types = st.recursive(st.sampled_from([*scalars, *decimals_within]), _around, max_leaves=5)
paths = st.sampled_from([("place", "a"), ("place", "A"), ("place", "b"), ("list", "element", "a")])
decimals = st.integers(3, 9).map(lambda precision: Primitive("decimal", precision, 1))
changes = st.builds(
    SchemaChange,
    grow=st.dictionaries(paths, types, max_size=3),
    widen=st.dictionaries(st.sampled_from([("n",), ("m",)]), decimals, max_size=2),
    relax=st.frozensets(st.sampled_from([("n",), ("m",)])),
)


@given(types, types, types)
def test_joining_types_is_commutative_and_associative_and_repeating_changes_nothing(
    one: IcebergType, two: IcebergType, three: IcebergType
) -> None:
    assert joined(one, two) == joined(two, one)
    assert joined(joined(one, two), three) == joined(one, joined(two, three))
    assert joined(one, one) == one


@given(st.lists(changes, max_size=4), st.randoms())
def test_the_order_in_which_changes_come_together_does_not_matter(asked: list[SchemaChange], random: object) -> None:
    mixed = sorted(asked, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert together(asked) == together(mixed) == together([together(asked[:2]), together(asked[2:])])


def test_fields_that_differ_only_by_case_are_one() -> None:
    asked = [SchemaChange(grow={("place", "name"): LONG}), SchemaChange(grow={("place", "Name"): DOUBLE})]

    assert together(asked).grow == {("place", "Name"): DOUBLE}


def test_fields_come_as_long_as_there_is_room_and_wide_ones_as_text() -> None:
    wide = struct(a=LONG, b=LONG, c=LONG)
    fields = {("p", "one"): LONG, ("p", "three"): wide, ("p", "two"): struct(a=LONG, b=LONG), ("p", "zero"): LONG}

    assert within(fields, 9) == fields
    assert within(fields, 4) == {("p", "one"): LONG, ("p", "three"): wide}
    assert within(fields, 3) == {("p", "one"): LONG, ("p", "three"): STRING, ("p", "two"): STRING}
    assert within(fields, 0) == {}


def test_columns_are_what_a_change_says() -> None:
    columns = (
        Column(1, "n", Primitive("int"), required=True),
        Column(2, "list", ListType(3, struct(a=Primitive("decimal", 3, 1)), True)),
    )

    after = changed(
        columns,
        SchemaChange(
            add={"new": STRING},
            grow={("list", "element", "b"): DOUBLE},
            widen={("n",): LONG, ("list", "element", "a"): Primitive("decimal", 5, 1)},
            relax=frozenset({("n",), ("list", "element")}),
        ),
    )

    assert after == (
        Column(1, "n", LONG),
        Column(2, "list", ListType(3, struct(a=Primitive("decimal", 5, 1), b=DOUBLE), False)),
        Column(0, "new", STRING),
    )
