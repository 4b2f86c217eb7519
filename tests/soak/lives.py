"""What happens to the connector, one life of its process after the other, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from frazil.faults import POINTS

LASTING: Final = (
    "broker restarted",
    "broker killed",
    "slow network",
    "connections reset",
    "black hole",
    "catalog locked",
)
"""Troubles that begin, last and end."""

AT_ONCE: Final = ("worker killed", "rolled back", "foreign append", "compacted", "expired", "column added")
"""Troubles that are done when they are there."""

TROUBLES: Final = LASTING + AT_ONCE

DURING_OPEN: Final = "killed at during_open"
WHILE_STARTING: Final = "killed while starting"
EARLY: Final = (DURING_OPEN, WHILE_STARTING)
"""Ends of a process that has not landed anything yet."""

_NOT_REACHED: Final = ("before_evolve", "after_evolve", "before_delivery", "after_append", "after_delivery")
"""Where no process comes whose table never changes, and that delivers nothing."""

AT_POINTS: Final = tuple(f"killed at {point}" for point in POINTS if point not in _NOT_REACHED)
KILLS: Final = ("killed", WHILE_STARTING, *AT_POINTS, "JVM killed")
"""Ends by `kill -9`: of the process with all that belongs to it, or of its JVM alone."""

ENDS: Final = (*KILLS, "stopped", "overtaken", "overtaken while frozen")
"""How a process ends; overtaken is one that a newer process of the same connector fences."""

FAULTS: Final = TROUBLES + ENDS
"""Everything that has to happen at least once."""

_MOSTLY_KILLS: Final = (*("killed",) * 6, *(WHILE_STARTING,) * 10, *ENDS)
"""Ends once each has come up; a start-up takes most of a life, so that is when a kill at any time strikes."""

_TROUBLE_IN_ONE_OF_THREE: Final = (*TROUBLES, *(None,) * (2 * len(TROUBLES)))

_Card = TypeVar("_Card")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What befalls a connector in one of its lives without ending it."""

    name: str
    seconds: float
    """How long it lasts, if it lasts."""


@dataclass(frozen=True, slots=True)
class Life:
    """One process from its start to its end."""

    number: int
    troubles: tuple[Trouble, ...]
    end: str
    moment: float
    """When the end comes, between 0 and 1: how much of a second or of a start-up goes by before."""

    amid: bool
    """Whether the end comes while the last trouble lasts."""


def lives(seed: int) -> Iterator[Life]:
    """Lives without end. Within the first dozen every fault comes up; equal seeds give equal lives."""
    draw = Random(seed)
    ends = _deal(draw, ENDS, _MOSTLY_KILLS)
    troubles = _deal(draw, TROUBLES, _TROUBLE_IN_ONE_OF_THREE)
    left = len(TROUBLES)
    number = 0
    for number, end in enumerate(ends, 1):
        # At first two to a life, so that a short run has them all.
        count = 0 if end in EARLY else 2 if left > 0 else 1
        left -= count
        names = [next(troubles) for _ in range(count)]
        chosen = tuple(Trouble(name, draw.uniform(1, 4)) for name in names if name)
        sudden = end in KILLS and end != "JVM killed"
        yield Life(number, chosen, end, draw.random(), amid=bool(chosen) and sudden and draw.random() < 0.9)


def _deal(draw: Random, first: Sequence[_Card], later: Sequence[_Card]) -> Iterator[_Card]:
    """All cards of the first pack in some order, then the later one shuffled again and again."""
    pack = list(first)
    while True:
        draw.shuffle(pack)
        yield from pack
        pack = list(later)
