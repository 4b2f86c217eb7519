"""However many new keys come, what is kept of them fits into so many columns."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import ListType, Primitive, Seen, StructType
from frazil.records.new_keys import NewKeys, width_of
from frazil.tables.evolution import columns_for

LONG, TEXT = Seen(frozenset({"long"})), Seen(frozenset({"string"}))


def fields(*names: str) -> Seen:
    return Seen(fields=tuple((name, LONG) for name in names))


def test_the_keys_that_came_first_are_kept() -> None:
    found = NewKeys(2)

    for key in ("z", "y", "x", "z"):
        found.note(key, LONG)
    found.note("y", TEXT)

    assert dict(found) == {"z": LONG, "y": LONG.merged_with(TEXT)}


def test_an_object_whose_keys_are_made_up_becomes_json_text() -> None:
    found = NewKeys(10)

    found.note("id", LONG)
    for number in range(100):
        found.note("by_id", fields(f"{number:08x}"))

    assert {key: str(kind) for key, kind in columns_for(found, "struct").items()} == {"by_id": "string", "id": "long"}
    assert len(pickle.dumps(dict(found))) < 2000


def test_what_mixed_objects_give_back_is_there_for_others() -> None:
    found = NewKeys(4)

    found.note("a", fields("1", "2", "3"))
    found.note("a", fields("4", "5"))
    for key in "bcd":
        found.note(key, LONG)

    assert columns_for(found, "struct") == dict.fromkeys("a", Primitive("string")) | dict.fromkeys(
        "bcd", Primitive("long")
    )


seen = st.recursive(
    st.just(LONG),
    lambda inner: (
        st.dictionaries(st.text("abcdef", min_size=1, max_size=3), inner, max_size=5).map(
            lambda found: Seen(fields=tuple(found.items()))
        )
        | st.builds(lambda element: Seen(element=element), inner)
    ),
    max_leaves=20,
)


@given(st.integers(0, 12), st.lists(st.tuples(st.text("abc", min_size=1, max_size=2), seen), max_size=30))
def test_there_are_never_more_columns_than_room(room: int, noted: list[tuple[str, Seen]]) -> None:
    found = NewKeys(room)
    for key, each in noted:
        found.note(key, each)

    assert width_of(columns_for(found, "struct").values()) <= room
    assert len(found) <= room


def test_fields_of_structs_count_as_columns() -> None:
    point = StructType(())
    assert width_of([Primitive("long"), point, ListType(1, Primitive("long"), element_required=False)]) == 3
