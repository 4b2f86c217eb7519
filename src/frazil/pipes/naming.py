"""Names of pipes (spec 5.1)."""

from __future__ import annotations


def default_pipe(table: str) -> str:
    """The name of the pipe that matches top-level keys to columns by name."""
    return f"{table}-STREAMING"


def normalized(key: str) -> str:
    """The column a key names when identifiers are normalised (spec 5.4): upper case, unless in double quotes."""
    if len(key) > 1 and key[0] == key[-1] == '"':
        return key[1:-1].replace('""', '"')
    return key.replace("\\ ", " ").upper()
