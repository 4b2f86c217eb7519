from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.model import Drift, Primitive
from frazil.tables.evolution import column_type, columns_for, merged

KINDS = ["null", "boolean", "long", "huge", "double", "string", "object", "array"]
drifts: st.SearchStrategy[Drift] = st.dictionaries(
    st.sampled_from(["a", "A", "b", "é", "É", "x.y"]), st.sets(st.sampled_from(KINDS), min_size=1).map(frozenset)
)


@given(st.lists(drifts, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_tasks_does_not_matter(found: list[Drift], shuffle: object) -> None:
    shuffled = list(found)
    shuffle.shuffle(shuffled)  # type: ignore[attr-defined]

    assert merged(shuffled) == merged(found)
    assert columns_for(merged(shuffled)) == columns_for(merged(found))
    assert list(columns_for(merged(found))) == sorted(columns_for(merged(found)))


@given(drifts, drifts, drifts)
def test_merging_is_associative_and_repeating_changes_nothing(one: Drift, two: Drift, three: Drift) -> None:
    assert merged([merged([one, two]), three]) == merged([one, merged([two, three])]) == merged([one, two, three])
    assert merged([one, one]) == merged([one]) == one
    assert merged([]) == {}


@given(st.sets(st.sampled_from(KINDS)))
def test_more_kinds_never_narrow_the_type(kinds: set[str]) -> None:
    wider = {"null": 0, "boolean": 1, "long": 1, "double": 2, "string": 3, "variant": 4}
    for each in kinds:
        if each != "null":
            assert wider[column_type(kinds).name] >= wider[column_type({each}).name]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"null"}, "string"),
        (set(), "string"),
        ({"boolean"}, "boolean"),
        ({"long"}, "long"),
        ({"double"}, "double"),
        ({"huge"}, "string"),
        ({"string"}, "string"),
        ({"object"}, "variant"),
        ({"array"}, "variant"),
        ({"long", "double"}, "double"),
        ({"long", "huge"}, "string"),
        ({"long", "string"}, "string"),
        ({"long", "boolean"}, "string"),
        ({"boolean", "double"}, "string"),
        ({"object", "array"}, "variant"),
        ({"object", "long"}, "variant"),
        ({"array", "string", "boolean"}, "variant"),
    ],
)
def test_a_column_holds_all_the_kinds_its_key_had(kinds: set[str], expected: str) -> None:
    assert column_type(kinds) == Primitive(expected)
    assert column_type(kinds | {"null"}) == Primitive(expected)


def test_keys_that_differ_only_by_case_are_one_column_spelled_as_the_first() -> None:
    drift = {"total": frozenset({"long"}), "Total": frozenset({"double"}), "TOTAL": frozenset({"null"})}

    for order in itertools.permutations(drift.items()):
        assert columns_for(dict(order)) == {"TOTAL": Primitive("double")}
