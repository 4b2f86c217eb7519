"""However many new keys come, what is kept of them fits into so many columns."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from frazil.model import ListType, ObservedType, Primitive, SourcePartition, StructType
from frazil.pipes.evolution import columns_for
from frazil.records.new_keys import MIXED, NewKeys, width_of

LONG, TEXT = ObservedType(frozenset({"long"})), ObservedType(frozenset({"string"}))


def fields(*names: str) -> ObservedType:
    return ObservedType(fields=tuple((name, LONG) for name in names))


def test_the_keys_that_came_first_are_kept() -> None:
    found = NewKeys(2)

    for key in ("z", "y", "x", "z"):
        found.note(key, LONG)
    found.note("y", TEXT)

    assert dict(found) == {"z": LONG, "y": LONG.merged_with(TEXT)}


def at(partition: int, offset: int, **parts: Any) -> ObservedType:
    return replace(LONG, first=(SourcePartition("orders", partition), offset), **parts)


def test_what_was_seen_again_is_no_news_unless_it_was_earlier_or_there_is_more() -> None:
    found = NewKeys(2)
    found.note("a", at(1, 5))

    assert not found.would_learn({"a": at(1, 6)})
    assert found.would_learn({"a": at(1, 4)})
    assert found.would_learn({"a": at(0, 9)})
    assert found.would_learn({"a": at(1, 6, scalars=frozenset({"null"}))})
    assert found.would_learn({"a": at(1, 6), "b": at(1, 6)})
    found.note("b", at(1, 6))
    assert not found.would_learn({"c": at(1, 7)})


def test_each_key_keeps_where_it_was_first_also_when_it_becomes_json_text() -> None:
    found = NewKeys(3)

    for place in [(1, 5), (0, 9), (0, 7), (1, 2)]:
        found.note("a", at(*place))
    found.note("b", at(1, 1, scalars=frozenset(), fields=fields(*"1234").fields))

    assert found["a"].first == (SourcePartition("orders", 0), 7)
    assert (found["b"], found["b"].first) == (MIXED, (SourcePartition("orders", 1), 1))


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
            lambda found: ObservedType(fields=tuple(found.items()))
        )
        | st.builds(lambda element: ObservedType(element=element), inner)
    ),
    max_leaves=20,
)


@given(st.integers(0, 12), st.lists(st.tuples(st.text("abc", min_size=1, max_size=2), seen), max_size=30))
def test_there_are_never_more_columns_than_room(room: int, noted: list[tuple[str, ObservedType]]) -> None:
    found = NewKeys(room)
    for key, each in noted:
        found.note(key, each)

    assert width_of(columns_for(found, "struct").values()) <= room
    assert len(found) <= room


def test_fields_of_structs_count_as_columns() -> None:
    point = StructType(())
    assert width_of([Primitive("long"), point, ListType(1, Primitive("long"), element_required=False)]) == 3
