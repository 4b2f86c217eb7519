"""Which table a name means. A pure rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from frazil.model import TableName


def meant(
    namespace: tuple[str, ...], name: str, existing: Collection[TableName], *, quoted: bool, lower: bool = False
) -> TableName:
    """The table a name means: quoted, exactly that; unquoted, the one equal ignoring case, else upper case.

    Args:
        namespace: where it is looked for.
        name: as it was written.
        existing: the tables of the namespace.
        quoted: whether it was written in double quotes.
        lower: whether the catalog has names in lower case only: then it means that.
    """
    if lower:
        return TableName(namespace, name.lower())
    if quoted:
        return TableName(namespace, name)
    return TableName(namespace, matching((table.name for table in existing), name) or name.upper())


def nearest(name: TableName, existing: Collection[TableName]) -> TableName | None:
    """The existing table whose name differs from that of a missing table only by case, if there is one."""
    if name in existing:
        return None
    return next((each for each in sorted(existing) if each.name.lower() == name.name.lower()), None)


def matching(existing: Iterable[str], name: str) -> str | None:
    """The existing name that an unquoted `name` means: the one equal ignoring case, upper case first."""
    found = sorted(each for each in existing if each.lower() == name.lower())
    return name.upper() if name.upper() in found else next(iter(found), None)
