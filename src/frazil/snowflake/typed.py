"""Which type an expression of DuckDB's has: what is known of it, or else what DuckDB itself says."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, Final

import duckdb
from sqlglot import exp

from frazil.snowflake import kinds
from frazil.snowflake.building import name, typed
from frazil.snowflake.places import Refused
from frazil.snowflake.rendering import rendered

_CONSTANTS: Final = (exp.Literal, exp.Null, exp.Boolean, exp.DataType)
_ASKED: Final = 2048
"""Answers of DuckDB's that are kept."""


class Types:
    """Knows the type of every expression, and asks an empty DuckDB where it must."""

    def __init__(self, *, is_strict: bool = False) -> None:
        """Know types; `is_strict` where comparisons fail for what cannot be compared, rather than be NULL."""
        self.is_strict = is_strict

    def of(self, node: exp.Expr) -> exp.DataType:
        """The type of an expression in DuckDB SQL.

        Raises:
            Refused: DuckDB has no such operation for these types.
        """
        if node.type is None:
            if isinstance(node, exp.Paren):
                typed(node, self.of(node.this))
            else:
                typed(node, _asked(*_question(node)))
        found = node.type
        assert found is not None  # noqa: S101 (set above)
        return found

    def kind(self, node: exp.Expr) -> exp.DType:
        """The outermost word of its type."""
        found = self.of(node).this
        assert isinstance(found, exp.DType)  # noqa: S101 (kinds makes nothing else)
        return found

    def is_variant(self, node: exp.Expr) -> bool:
        """Whether it is what Snowflake calls a VARIANT, OBJECT or ARRAY: JSON, or a VARIANT column."""
        return self.kind(node) in (exp.DType.JSON, exp.DType.VARIANT)

    def is_text(self, node: exp.Expr) -> bool:
        """Whether it is a text."""
        return self.kind(node) == exp.DType.TEXT

    def is_number(self, node: exp.Expr) -> bool:
        """Whether it is a number of any kind."""
        kind = self.kind(node)
        return kind in kinds.INTEGERS or kind in kinds.FLOATS or kind == exp.DType.DECIMAL

    def is_exact(self, node: exp.Expr) -> bool:
        """Whether it is a whole number or a decimal."""
        return self.is_number(node) and self.kind(node) not in kinds.FLOATS

    def is_integer(self, node: exp.Expr) -> bool:
        """Whether it is a whole number by its type."""
        return self.kind(node) in kinds.INTEGERS

    def is_boolean(self, node: exp.Expr) -> bool:
        """Whether it is TRUE, FALSE or NULL."""
        return self.kind(node) == exp.DType.BOOLEAN

    def is_moment(self, node: exp.Expr) -> bool:
        """Whether it is a date or a timestamp."""
        return self.kind(node) in kinds.MOMENTS

    def is_nested(self, node: exp.Expr) -> bool:
        """Whether it is a STRUCT, LIST or MAP."""
        return self.kind(node) in kinds.NESTED

    def is_null(self, node: exp.Expr) -> bool:
        """Whether it is NULL and nothing says of which type."""
        return self.kind(node) == exp.DType.NULL

    def common(self, one: exp.DataType, other: exp.DataType) -> exp.DataType:
        """The type that two alternatives have together."""
        if one == other or other.this == exp.DType.NULL:
            return one
        if one.this == exp.DType.NULL:
            return other
        either = (one.this, other.this)
        if exp.DType.JSON in either or exp.DType.VARIANT in either:
            return kinds.JSON
        try:
            return _asked("COALESCE(p0, p1)", (rendered(one), rendered(other)))
        except Refused as error:
            reason = f"a {kinds.shown(one)} and a {kinds.shown(other)} have no type together: cast one of them"
            raise Refused(reason) from error


def _question(node: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """The expression over columns of the types that its parts have."""
    parts: list[str] = []

    def put(each: exp.Expr) -> exp.Expr:
        # A literal stays: some functions want constants.
        if each is root or each.type is None or isinstance(each, _CONSTANTS):
            return each
        parts.append(rendered(each.type))
        return exp.Column(this=name(f"p{len(parts) - 1}"))

    root = _copy(node)
    return rendered(root.transform(put, copy=False)), tuple(parts)


def _copy(node: exp.Expr) -> exp.Expr:
    found: exp.Expr = node.copy()
    found.type = None
    return found


@functools.lru_cache(maxsize=_ASKED)
def _asked(expression: str, parts: Sequence[str]) -> exp.DataType:
    columns = ", ".join(f'CAST(NULL AS {part}) AS "p{n}"' for n, part in enumerate(parts)) or "1"
    try:
        described = empty_duckdb().cursor().execute(f"SELECT {expression} FROM (SELECT {columns}) LIMIT 0").description
    except duckdb.Error as error:
        raise Refused(said(str(error))) from error
    found = kinds.of_duckdb(described[0][1])
    if found is None:
        raise Refused(f"a value of type {str(described[0][1])[:60]} is not supported")
    return found


@functools.cache
def empty_duckdb() -> Any:
    """A DuckDB that has nothing and reaches nothing."""
    return duckdb.connect(
        ":memory:",
        config={
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": "1",
            "lock_configuration": "true",
        },
    )


def said(message: str) -> str:
    """What DuckDB says of an expression, in one line."""
    first = message.split("\n", 1)[0]
    first = re.sub(r"^(\w+ )*Error: ", "", first)
    first = re.sub(r" You might need to add explicit type casts\.?.*", "", first)
    return first[:200].rstrip(".! ")
