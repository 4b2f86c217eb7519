"""Tables of the lake: found by their names, read in one place of the query each."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from frazil.model import Column, Primitive, TableName
from frazil.snowflake.compiled import Filter
from frazil.snowflake.lake import NOW, Lake, Moment
from frazil.snowflake.places import Refused, near
from frazil.snowflake.reading import shown
from frazil.snowflake.scope import Reading, matching

DEFAULT_NAMESPACE: Final = "public"
INFORMATION_SCHEMA: Final = "information_schema"

_STRING: Final = Primitive("string")


def _columns(*named: tuple[str, Primitive]) -> tuple[Column, ...]:
    return tuple(Column(number, name, kind) for number, (name, kind) in enumerate(named, 1))


INFORMATION: Final[dict[str, tuple[Column, ...]]] = {
    "tables": _columns(
        ("TABLE_CATALOG", _STRING), ("TABLE_SCHEMA", _STRING), ("TABLE_NAME", _STRING), ("TABLE_TYPE", _STRING),
        ("ROW_COUNT", Primitive("long")), ("BYTES", Primitive("long")), ("CREATED", Primitive("timestamptz")),
        ("LAST_ALTERED", Primitive("timestamptz")),
    ),
    "columns": _columns(
        ("TABLE_CATALOG", _STRING), ("TABLE_SCHEMA", _STRING), ("TABLE_NAME", _STRING), ("COLUMN_NAME", _STRING),
        ("ORDINAL_POSITION", Primitive("long")), ("COLUMN_DEFAULT", _STRING), ("IS_NULLABLE", _STRING),
        ("DATA_TYPE", _STRING),
    ),
}  # fmt: skip
"""The columns of information_schema's tables, which whoever runs the query fills."""

_MOST_SHOWN: Final = 20


@dataclass(slots=True)
class Read:
    """A table in one place of the query."""

    place: str
    table: TableName
    columns: Sequence[Column]
    moment: Moment
    since: Moment | None
    reading: Reading
    filters: list[Filter]
    sampled: bool = False
    """Some of its rows are taken by chance: then all must be there."""


def existing(node: exp.Table, lake: Lake) -> TableName:
    """The table that is meant.

    Raises:
        Refused: there is none of that name.
    """
    parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
    if len(parts) != len(node.parts) or not parts:
        raise Refused(f"{shown(node)} is no table of the catalog", node)
    *before, last = parts
    namespace = _namespace(node, before, lake)
    tables = list(lake.tables(namespace))
    if namespace == (INFORMATION_SCHEMA,):
        tables = [TableName(namespace, name) for name in INFORMATION]
    found = matching(((each.name, each) for each in tables), last)
    if len(found) > 1:
        names = " or ".join(sorted(f'"{each.name}"' for each in found))
        raise Refused(f"{last.name} can mean {names}: write which one, in double quotes", node)
    if not found:
        known = [each.name for each in tables]
        listed = ", ".join(known[:_MOST_SHOWN]) + (", …" if len(known) > _MOST_SHOWN else "")
        called = (last.name if last.quoted else last.name.upper())[:60]
        hint = near(last.name, known)
        raise Refused(
            f"there is no table {'.'.join((*namespace, called))}; {'.'.join(namespace)} has: {listed or 'none'}{hint}",
            node,
        )
    return found[0]


def namespace_of(node: exp.Table, lake: Lake) -> tuple[str, ...]:
    """The namespace that a name with dots means, or the default one.

    Raises:
        Refused: there is none of that name.
    """
    *before, _ = [part for part in node.parts if isinstance(part, exp.Identifier)]
    return _namespace(node, before, lake)


def _namespace(node: exp.Table, before: list[exp.Identifier], lake: Lake) -> tuple[str, ...]:
    """The namespace that the parts before a table's name mean; they may begin with the catalog."""
    if not before:
        return _spelled(lake, (DEFAULT_NAMESPACE,), [exp.to_identifier(DEFAULT_NAMESPACE)]) or (DEFAULT_NAMESPACE,)
    found = _spelled(lake, tuple(each.name for each in before), before)
    if found:
        return found
    first, *rest = before
    is_catalog = bool(matching([(lake.name, True)], first))
    if rest and is_catalog:
        found = _spelled(lake, tuple(each.name for each in rest), rest)
    elif rest:
        raise Refused(f"{shown(node)}: the catalog is {lake.name}, not {first.name}; write namespace.table", node)
    if found:
        return found
    known = [".".join(each) for each in lake.namespaces()]
    called = ".".join(each.name for each in before)
    hint = near(called, known)
    there_are = ", ".join(known[:_MOST_SHOWN]) or "none"
    reason = f"there is no table {shown(node)}: there is no namespace {called}; there are: {there_are}{hint}"
    raise Refused(reason, node)


def _spelled(lake: Lake, plain: tuple[str, ...], parts: list[exp.Identifier]) -> tuple[str, ...] | None:
    if len(parts) == 1 and matching([(INFORMATION_SCHEMA, True)], parts[0]):
        return (INFORMATION_SCHEMA,)
    found = [each for each in lake.namespaces() if _means(parts, each)]
    if len(found) > 1:
        exact = [each for each in found if each == plain]
        if exact:
            return exact[0]
        names = " or ".join(".".join(each) for each in found)
        raise Refused(f"{'.'.join(plain)} can mean {names}: write which one, in double quotes", parts[0])
    return tuple(found[0]) if found else None


def _means(parts: list[exp.Identifier], namespace: tuple[str, ...]) -> bool:
    same = len(parts) == len(namespace)
    return same and all(matching([(name, True)], part) for name, part in zip(namespace, parts, strict=True))


def columns(lake: Lake, table: TableName, moment: Moment = NOW) -> Sequence[Column]:
    """The columns of a table."""
    if table.namespace == (INFORMATION_SCHEMA,):
        return INFORMATION[table.name]
    return lake.columns(table, moment)


def place_names(columns: Sequence[str]) -> list[str]:
    """What columns of a table are called in its place: as the table spells them.

    DuckDB takes names that differ by case alone for the same; in a view the later ones get a number.
    """
    counts: dict[str, int] = {}
    found = []
    for each in columns:
        name = each
        while name.lower() in counts:
            counts[name.lower()] += 1
            name = f"{name}_{counts[name.lower()] - 1}"
        counts[name.lower()] = 1
        found.append(name)
    return found


def with_twins(columns: Sequence[str], needed: Container[str]) -> list[str]:
    """The columns that are needed, and those that differ from them by case alone: together they have their names."""
    alike = {each.lower() for each in columns if each in needed}
    return [each for each in columns if each.lower() in alike]
