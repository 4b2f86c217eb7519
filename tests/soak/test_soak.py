"""The parts of a soak that need nothing real: what happens when, what is counted, and what fails a run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from tests.soak import census
from tests.soak.census import KINDS, Census
from tests.soak.lives import AT_ONCE, EARLY, ENDS, FAULTS, KILLS, LASTING, TROUBLES, Life, lives
from tests.soak.showing import document, shown
from tests.soak.tally import Judgement, Tally, figures, verdict

from frazil.faults import POINTS

RIGHT = Judgement(records=100, rows=100, lost=0, twice=0, harmed=(), unfit=7, rejects=7, tombstones=3, gaps=5)


def everything_once() -> Tally:
    return Tally(fired=Counter(FAULTS), recoveries=[2.0, 9.0], starts=[5.0])


def first(seed: int, count: int) -> list[Life]:
    return list(islice(lives(seed), count))


def test_equal_seeds_give_equal_lives_and_others_give_others() -> None:
    assert first(1, 200) == first(1, 200)
    assert first(1, 20) != first(2, 20)


@pytest.mark.parametrize("seed", range(20))
def test_every_fault_happens_within_the_first_dozen_lives(seed: int) -> None:
    early = first(seed, len(ENDS))

    happened = Counter([each.end for each in early] + [trouble.name for each in early for trouble in each.troubles])
    assert set(happened) == set(FAULTS)
    assert {happened[each] for each in (*ENDS, *TROUBLES)} <= {1, 2}


def test_a_process_is_killed_at_every_point_that_a_table_which_never_changes_comes_to() -> None:
    delivering = ("before_delivery", "after_append", "after_delivery")
    reached = {point for point in POINTS if point not in ("before_evolve", "after_evolve", *delivering)}

    assert {end.removeprefix("killed at ") for end in ENDS if end.startswith("killed at ")} == reached


def test_most_lives_end_by_a_kill_and_some_end_within_a_trouble() -> None:
    many = first(3, 1000)

    assert 0.8 < sum(each.end in KILLS for each in many) / len(many) < 0.95
    assert 0.1 < sum(each.amid for each in many) / len(many) < 0.4


def test_a_life_that_ends_early_has_no_troubles_and_only_what_dies_at_once_dies_amid_one() -> None:
    for each in first(4, 1000):
        assert not (each.end in EARLY and each.troubles)
        assert not each.amid or (each.troubles and each.end in KILLS and each.end != "JVM killed")
        assert 0 <= each.moment < 1
        assert all(1 <= trouble.seconds <= 4 for trouble in each.troubles)


def test_names_of_faults_are_different() -> None:
    assert len({*LASTING, *AT_ONCE, *ENDS}) == len(FAULTS)


def test_a_run_in_which_all_is_right_passes() -> None:
    assert verdict(everything_once(), RIGHT) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"lost": 2}, "2 records are lost"),
        ({"twice": 1}, "1 records are there twice"),
        ({"rows": 99}, "99 rows for 100 good records"),
        ({"rejects": 8}, "8 rejects for 7 unfit records"),
        ({"harmed": ("partition 0: 1 bad hash",)}, "partition 0: 1 bad hash"),
    ],
)
def test_anything_wrong_with_the_table_fails_the_run(wrong: dict[str, object], reason: str) -> None:
    assert verdict(everything_once(), replace(RIGHT, **wrong)) == [reason]  # type: ignore[arg-type]


def test_a_fault_that_never_happened_fails_the_run() -> None:
    tally = everything_once()
    del tally.fired["rolled back"]

    assert verdict(tally, RIGHT) == ["rolled back: never happened"]


def test_a_recovery_that_took_too_long_fails_the_run() -> None:
    tally = everything_once()
    tally.recoveries.append(15.2)

    assert verdict(tally, RIGHT) == ["1 recoveries took longer than 15 s: 15.2 s at most"]


def test_a_problem_on_the_way_and_a_table_not_judged_fail_the_run() -> None:
    tally = everything_once()
    tally.problems.append("life 3: it was asked to stop, and it did not end")

    assert verdict(tally, None) == [tally.problems[0], "the table was not judged"]


def test_kills_are_counted_whatever_they_hit() -> None:
    tally = Tally(fired=Counter({"killed": 3, "JVM killed": 1, "killed at after_swap": 2, "stopped": 5}))

    assert tally.kills == 6


def test_figures_of_nothing_are_none() -> None:
    assert figures([]) == {"count": 0, "p50": None, "max": None}
    assert figures([3.0, 1.0, 2.0]) == {"count": 3, "p50": 2.0, "max": 3.0}


def test_the_result_is_json_and_a_table_with_every_fault() -> None:
    found = document(7, 600.4, everything_once(), RIGHT)

    assert json.loads(json.dumps(found))["table"]["rows"] == 100
    assert (found["seed"], found["seconds"], found["kills"], found["failed"]) == (7, 600, len(KILLS), [])
    assert set(found["faults"]) == set(FAULTS)
    assert len(shown(found).renderables) == 3


def test_a_census_counts_offsets_by_kind() -> None:
    kinds = [KINDS.index(kind) for kind in (census.GOOD, census.UNFIT, census.GAP, census.GOOD, census.TOMBSTONE)]
    taken = Census({0: bytes(kinds), 1: b""})

    assert taken.counts() == {census.GAP: 1, census.GOOD: 2, census.UNFIT: 1, census.TOMBSTONE: 1}
    assert taken.without_row() == {0: {1, 2, 4}, 1: set()}
    assert taken.offsets(census.UNFIT) == {0: {1}, 1: set()}
