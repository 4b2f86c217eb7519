"""Names of pipes (spec 5.1)."""

from __future__ import annotations


def default_pipe(table: str) -> str:
    """The name of the pipe that matches top-level keys to columns by name."""
    return f"{table}-STREAMING"
