"""Fault points: named places where a test may crash, delay or fail the process.

The code calls `reach` at the places listed in `POINTS`; nothing happens unless `frazil.testing` installed a handler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

Point = Literal[
    "during_open",
    "after_plan",
    "before_evolve",
    "after_evolve",
    "after_stage",
    "before_swap",
    "after_swap",
    "before_delivery",
    "after_append",
    "after_delivery",
    "before_acknowledge",
]
"""Where a fault can be injected, in the order one cycle reaches them; most change no table, and deliver nothing."""

POINTS: tuple[Point, ...] = get_args(Point)

_handler: Callable[[Point], None] | None = None


def install(handler: Callable[[Point], None] | None) -> None:
    """Call `handler` at every fault point from now on; `None` removes it."""
    global _handler
    _handler = handler


def reach(point: Point) -> None:
    """Mark that the code has come to `point`."""
    if _handler is not None:
        _handler(point)
