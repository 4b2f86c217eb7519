"""Which of the catalogs in Spark's configuration holds the tables: pure rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from frazil.tables.defaults import CATALOGS, EMBEDDED


def chosen(known: Collection[str], asked: str | None, database: str | None, configured: Mapping[str, str]) -> str:
    """Which catalog holds the tables.

    `frazil.catalog` if set; else the catalog named like `snowflake.database.name` if there is one; else the only
    Iceberg catalog among the settings the user gave; else the embedded one.

    Args:
        known: the catalogs there are.
        asked: `frazil.catalog`.
        database: `snowflake.database.name`.
        configured: the settings the user gave.
    """
    if asked:
        return _existing(known, asked) or asked
    if database and (named := _existing(known, database)):
        return named
    theirs = catalogs(configured)
    return theirs.pop() if len(theirs) == 1 else EMBEDDED


def catalogs(keys: Iterable[str]) -> set[str]:
    """The catalogs that settings with these keys configure."""
    names = (key.removeprefix(CATALOGS) for key in keys if key.startswith(CATALOGS))
    return {name for name in names if "." not in name}


def _existing(known: Collection[str], name: str) -> str | None:
    return name if name in known else next((each for each in sorted(known) if each.lower() == name.lower()), None)
