"""The table of a table's rejects: its columns, and which reject lists it has. Pure.

What it has, one property of it says for each table and connector: the newest commit whose rejects it has. That is set
in the swap that appends them, so each is there once, whatever ends the process.

An error table is marked as one from its creation. Only `frazil.tables.error_tables` appends to a marked table: no
topic, value or pipe leads there, so that no producer can forge a reject.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from frazil.model import Column, IcebergType, ListType, Primitive, StructType, TableName
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.state import TableState
from frazil.tables.rules.tokens import PREFIX as TOKENS

SUFFIX: Final = "_ERRORS"
"""What the name of the table ends with; in lower case where the name of its table is."""

REJECTS_OF: Final = "frazil.errors.of"
"""The property that marks an error table: the uuid of the table whose rejects it was created for."""

_DELIVERED: Final = "frazil.delivered."

_TEXT: Final = Primitive("string")
_BYTES: Final = Primitive("binary")
_MOMENT: Final = Primitive("timestamptz")
_HEADER: Final[IcebergType] = StructType((Column(16, "name", _TEXT), Column(17, "value", _BYTES)))

PARTITIONS: Final = {"int32": Primitive("int"), "int64": Primitive("long"), "string": _TEXT}
"""Types of partitions and offsets in the table, by Arrow's in reject files: a source has its own."""


def columns(partition: Primitive, offset: Primitive) -> tuple[Column, ...]:
    """The columns, with the ids that a catalog gives to those of a new table.

    Args:
        partition: the type of the source's partitions.
        offset: the type of its offsets.
    """
    kinds: dict[str, IcebergType] = {
        "connector": _TEXT,
        "topic": _TEXT,
        "partition": partition,
        "offset": offset,
        "timestamp": _MOMENT,
        "stage": _TEXT,
        "code": _TEXT,
        "message": _TEXT,
        "column": _TEXT,
        "key": _BYTES,
        "value": _BYTES,
        "headers": ListType(15, _HEADER, element_required=False),
        "commit": _TEXT,
        "rejected_at": _MOMENT,
    }
    return tuple(Column(number, name, kind) for number, (name, kind) in enumerate(kinds.items(), 1))


def name_of(table: TableName) -> TableName:
    """What the table of a table's rejects is called.

    >>> name_of(TableName((), "ORDERS")).name, name_of(TableName((), "orders")).name
    ('ORDERS_ERRORS', 'orders_errors')
    """
    return TableName(table.namespace, table.name + (SUFFIX.lower() if table.name.islower() else SUFFIX))


def name_of_source(table: TableName) -> TableName | None:
    """The table whose rejects a table of that name has, if it is one of those."""
    bare = TableName(table.namespace, table.name[: -len(SUFFIX)])
    return bare if bare.name and name_of(bare) == table else None


def mark(connector: str, uuid: str) -> str:
    """The property that says what the table has of a connector's rejects of the table with that uuid."""
    return f"{_DELIVERED}{connector}.{uuid}"


def is_marked(state: TableState) -> bool:
    """Whether a table is an error table; the first ones have no mark but what they say of their commits."""
    return state.property(REJECTS_OF) is not None or bool(state.properties_under(_DELIVERED))


def unfit(state: TableState, wanted: Iterable[Column]) -> str | None:
    """Why a table cannot be the error table that its name makes it; None if it can.

    Args:
        state: the table.
        wanted: the columns that are needed.
    """
    there = {each.id: each for each in state.columns()}
    lacking = [each.name for each in wanted if each.id not in there or there[each.id].type != each.type]
    if lacking:
        return f"it lacks, or has otherwise, {', '.join(lacking)} of the columns of an error table"
    if landing := sorted(state.properties_under(TOKENS)):
        return f"records are landed in it by {', '.join(landing)}"
    if state.current is not None and not is_marked(state):
        return f"it has rows, and the property {REJECTS_OF} does not mark it as an error table"
    return None


def columns_in(state: TableState) -> tuple[Column, ...]:
    """The columns that a table needs as an error table, with partitions and offsets of the types that it has."""
    found = {each.name: each.type for each in state.columns()}
    known = [kind for name in ("partition", "offset") for kind in PARTITIONS.values() if found.get(name) == kind]
    return columns(known[0], known[1]) if len(known) == 2 else columns(PARTITIONS["int32"], PARTITIONS["int64"])


def missing(lists: Sequence[OutboxList], newest: str | None) -> list[OutboxList]:
    """The lists that a table does not have yet, the oldest first.

    Args:
        lists: those that are not delivered, the oldest first.
        newest: the commit of the newest list that it has; None for none.
    """
    known = [number for number, each in enumerate(lists) if each.commit == newest]
    return [*lists[known[-1] + 1 :]] if known else [*lists]
