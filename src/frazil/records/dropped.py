"""Values of keys that have no column, counted by key."""

from __future__ import annotations

from collections import Counter
from typing import Final

OTHER: Final = "(other keys)"
"""What keys that are one too many are counted as."""


class Dropped(Counter[str]):
    """The counts; however many keys there are, and however long, they stay small."""

    most = 1000
    """Keys that are counted each: where keys are made up record by record, there is no end of them."""

    longest = 300
    """Characters of a key that are kept."""

    def note(self, key: str, count: int) -> str | None:
        """Count values of a key; return what it is counted as if that is new."""
        name = key if len(key) <= self.longest else f"{key[: self.longest]}…"
        if name not in self and len(self) >= self.most:
            name = OTHER
        new = name not in self
        self[name] += count
        return name if new else None


class KeptDropped(Dropped):
    """Counts that travel with every commit."""

    most = 100
    longest = 100
