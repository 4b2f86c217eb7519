"""Values of keys that have no column, counted by key."""

from __future__ import annotations

from collections import Counter
from typing import Final

OTHER: Final = "(other keys)"
"""What keys that are one too many are counted as."""

_MOST: Final = 1000
"""Keys that are counted each: where keys are made up record by record, there is no end of them."""

_LONGEST: Final = 300
"""Characters of a key that are kept."""


class Dropped(Counter[str]):
    """The counts; however many keys there are, and however long, they stay small."""

    def note(self, key: str, count: int) -> str | None:
        """Count values of a key; return what it is counted as if that is new."""
        name = key if len(key) <= _LONGEST else f"{key[:_LONGEST]}…"
        if name not in self and len(self) >= _MOST:
            name = OTHER
        new = name not in self
        self[name] += count
        return name if new else None
