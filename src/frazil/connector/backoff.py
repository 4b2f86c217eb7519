"""Try one thing until it works: exponential waits with jitter, by stamina, which a stop can end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import stamina
from stamina import Attempt

from frazil.cycle.backoff import FIRST, LONGEST, spread
from frazil.errors import Transient

Wait = Callable[[Transient, int, float], bool]
"""Takes an error, the number of the attempt it ended, and the seconds to wait; waits, and tells whether to go on."""


def attempts(wait: Wait) -> Iterator[Attempt]:
    """Attempts at one thing: each is a context manager, and the next one follows if a transient error left it.

    Any other error, and the error after which `wait` says no, leaves the loop.
    """
    current: Attempt | None = None

    def again(error: Exception) -> bool | float:
        if not isinstance(error, Transient) or current is None:
            return False
        # A stop could not end stamina's own sleep. So the waiting is done in here, and nothing is left to sleep.
        # Stamina's jitter comes on top of a wait, and there is none where waits are longest: hence ours.
        return 0.0 if wait(error, current.num, spread(current.next_wait)) else False

    context = stamina.retry_context(
        on=again, attempts=None, timeout=None, wait_initial=FIRST, wait_max=LONGEST, wait_jitter=0.0
    )
    for attempt in context:
        current = attempt
        yield attempt
