"""DuckDB SQL as text: every name in quotes, functions as they are called."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import UnsupportedError
from sqlglot.generators.duckdb import DuckDBGenerator

from frazil.snowflake.places import Refused
from frazil.sql import ident, literal


class _Generator(DuckDBGenerator):
    """Texts and names go through `frazil.sql`, as all that comes from outside."""

    TYPE_MAPPING = {**DuckDBGenerator.TYPE_MAPPING, exp.DType.NULL: '"NULL"'}  # noqa: RUF012 (sqlglot's way)

    def literal_sql(self, expression: exp.Literal) -> str:
        return literal(expression.name) if expression.is_string else str(expression.this)

    def identifier_sql(self, expression: exp.Identifier) -> str:
        return ident(expression.name)


class _PlainDuckDB(DuckDB):
    Generator = _Generator


_DIALECT: Final = Dialect.get_or_raise(_PlainDuckDB)
_OPTIONS: Final[dict[str, Any]] = {
    "identify": True,
    "comments": False,
    "normalize_functions": False,
    "unsupported_level": ErrorLevel.RAISE,
}


def rendered(node: exp.Expr) -> str:
    """The node as DuckDB reads it.

    Raises:
        Refused: DuckDB has nothing that means the same.
    """
    try:
        return node.sql(dialect=_DIALECT, **_OPTIONS)
    except ValueError as error:
        raise Refused(str(error)[:120]) from error
    except UnsupportedError as error:
        raise Refused(f"DuckDB has nothing that means the same: {str(error)[:120].rstrip('. ')}") from error
