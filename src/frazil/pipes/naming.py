"""Names of pipes (spec 5.1), and which names are one column."""

from __future__ import annotations


def default_pipe(table: str) -> str:
    """The name of the pipe that matches top-level keys to columns by name."""
    return f"{table}-STREAMING"


def folded(name: str) -> str:
    """What two names have in common that mean one column.

    To Spark, `ı` and `İ` are `i` in another case: it cannot read a table that has columns for several of them.
    """
    return name.casefold().replace("\N{LATIN SMALL LETTER DOTLESS I}", "i").replace("i\N{COMBINING DOT ABOVE}", "i")


def normalized(key: str) -> str:
    """The column a key names when identifiers are normalised (spec 5.4): upper case, unless in double quotes."""
    if len(key) > 1 and key[0] == key[-1] == '"':
        return key[1:-1].replace('""', '"')
    return key.replace("\\ ", " ").upper()
