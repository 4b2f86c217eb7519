"""A condition on the rows of one table, apart from any query: what stands after WHERE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import Column, TableName
from frazil.snowflake.compiled import Compiled
from frazil.snowflake.lake import NOW, Moment
from frazil.snowflake.statements import Select, read
from frazil.sql import ident

_NAMESPACE: Final = ("public",)
_PARTS: Final = frozenset({"expressions", "from_", "where"})
"""What a query has that is nothing but a condition on one table."""


@dataclass(frozen=True, slots=True)
class _OneTable:
    """A lake that has one table: the condition can ask for no other."""

    table: TableName
    its: Sequence[Column]
    name: str = "frazil"

    def namespaces(self) -> Sequence[tuple[str, ...]]:
        return [self.table.namespace]

    def tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:
        return [self.table] if namespace == self.table.namespace else []

    def columns(self, table: TableName, moment: Moment = NOW) -> Sequence[Column]:  # noqa: ARG002 (there is one)
        return self.its


def keys_where(table: str, columns: Sequence[Column], keys: Sequence[str], condition: str) -> Compiled:
    """A query for some columns of the rows of a table that meet a condition, in Snowflake's SQL.

    Args:
        table: what the condition may call the table.
        columns: all that it has.
        keys: the names of those that are wanted.
        condition: as its user wrote it.

    Raises:
        InvalidQuery: it is no condition, or names what the table has not.
    """
    listed = ", ".join(ident(each) for each in keys)
    # A comment at its end must not take the parenthesis along.
    statement = read(f"SELECT {listed} FROM {ident(table)} WHERE (\n{condition}\n)")
    if not isinstance(statement, Select) or not _is_one_condition(statement.tree):
        raise InvalidQuery(f"{condition[:200]!r} is no condition: write what would stand after WHERE")
    return statement.compile(_OneTable(TableName(_NAMESPACE, table), columns))


def _is_one_condition(tree: exp.Expr) -> bool:
    where = tree.args.get("where")
    parts = {name for name, value in tree.args.items() if value}
    return isinstance(tree, exp.Select) and isinstance(where and where.this, exp.Paren) and parts <= _PARTS
