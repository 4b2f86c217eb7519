"""What frazil writes beside a consumer group's offsets, so that it knows its own again.

An offset that somebody else published is where a migration begins. One of our own says that the records before it were
landed in a table: where that table or its tokens are missing, something happened that a person has to know of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FORM: Final = re.compile(r"frazil:1:([A-Z0-9_$]+):([^:]+):([^:]+)")


@dataclass(frozen=True, slots=True)
class OffsetMetadata:
    """The text beside one offset."""

    connector: str
    """The connector's key; a group that another connector goes on with is a migration too."""

    table: str
    """The uuid of the table that has the records."""

    commit: str
    """The commit that landed the last of them."""

    def __str__(self) -> str:
        return f"frazil:1:{self.connector}:{self.table}:{self.commit}"

    @classmethod
    def read(cls, text: str) -> OffsetMetadata | None:
        """The mark that `text` is; None if somebody else wrote it."""
        match = _FORM.fullmatch(text)
        return cls(*match.groups()) if match else None
