"""Where a task's time goes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up wall time by what it was for: `read`, `convert`, `project`, `move`."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count the time within as that of `what`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] += time.perf_counter() - started
