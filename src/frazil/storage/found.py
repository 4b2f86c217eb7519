"""Files as they are found where a table keeps its data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a directory."""

    directory: str
    """The location of the directory that it is in."""

    name: str
    size: int
    """Bytes."""

    modified: float
    """When it was last written, in seconds since the epoch by the clock of its file system."""

    @property
    def location(self) -> str:
        """Where it is."""
        return f"{self.directory}/{self.name}"


def partial(name: str) -> str:
    """What the file of that name is called while it is written, where others could see it."""
    return f".{name}.partial"
