"""How many files this process may have open."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Have the system refuse to open more files at once, beside those that are open: `with at_most(8):`."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is one of numbers, of which the lowest free one is given.
    open_now = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 1 + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
