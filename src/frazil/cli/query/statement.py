"""From a text to what Spark runs."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType
from sqlglot import exp

from frazil.cli.query.allow import check
from frazil.cli.query.dialect import parse
from frazil.cli.query.heads import item_texts
from frazil.cli.query.select import Compiler
from frazil.cli.query.spark import rendered
from frazil.cli.query.types import Types
from frazil.errors import InvalidQuery
from frazil.tables.catalog import Catalog


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a query's result."""

    head: str
    """Its name as Snowflake gives it."""

    type: DataType


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query that Spark runs."""

    text: str
    """Spark SQL; its columns are called c0, c1 and so on."""

    columns: tuple[ResultColumn, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT that has nothing in it which is not on the list."""

    tree: exp.Expr
    items: tuple[str, ...]
    """Its select list as the user wrote it, in upper case."""

    @classmethod
    def parse(cls, text: str) -> Statement:
        """Read a query; nothing is looked up yet.

        Raises:
            InvalidQuery: it is not exactly one SELECT, or has something that is not on the list.
        """
        tree = parse(text)
        check(tree)
        return cls(tree, tuple(item_texts(text)))

    def compile(self, catalog: Catalog, session: SparkSession) -> Compiled:
        """Turn it into Spark SQL, for a session that is `strict`.

        Raises:
            InvalidQuery: it names what does not exist, or Spark refuses a part of it.
        """
        try:
            found = Compiler(catalog, Types(session)).top(self.tree, self.items)
            text = rendered(found.sql)
        except RecursionError:
            raise InvalidQuery("the query is nested too deeply") from None
        return Compiled(text, tuple(ResultColumn(each.name, each.type) for each in found.outputs))
