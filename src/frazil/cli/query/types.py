"""Spark's types: how they are spelled, what Snowflake's names mean, and what type an expression has."""

from __future__ import annotations

from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query.dialect import shown
from frazil.cli.query.spark import KIND, cast, rendered
from frazil.errors import InvalidQuery
from frazil.tables.jvm import java_errors, java_message

INTEGERS: Final = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
NUMBERS: Final = (*INTEGERS, t.DecimalType, t.FloatType, t.DoubleType)
TIMES: Final = (t.DateType, t.TimestampType, t.TimestampNTZType)
NESTED: Final = (t.StructType, t.ArrayType, t.MapType)

NUMBER: Final = t.DecimalType(38, 0)
"""Snowflake's NUMBER and all its integers."""

_D = exp.DType
_PLAIN: Final[dict[object, t.DataType]] = {
    **dict.fromkeys((_D.TINYINT, _D.SMALLINT, _D.MEDIUMINT, _D.INT, _D.BIGINT), NUMBER),
    **dict.fromkeys((_D.FLOAT, _D.DOUBLE), t.DoubleType()),
    **dict.fromkeys((_D.TEXT, _D.VARCHAR, _D.CHAR, _D.NCHAR, _D.NVARCHAR), t.StringType()),
    **dict.fromkeys((_D.BINARY, _D.VARBINARY), t.BinaryType()),
    **dict.fromkeys((_D.TIMESTAMP, _D.DATETIME, _D.TIMESTAMPNTZ), t.TimestampNTZType()),
    **dict.fromkeys((_D.TIMESTAMPLTZ, _D.TIMESTAMPTZ), t.TimestampType()),
    _D.BOOLEAN: t.BooleanType(),
    _D.DATE: t.DateType(),
    _D.VARIANT: t.VariantType(),
}


def spark_type(name: exp.DataType) -> t.DataType:
    """The Spark type of a Snowflake type; lengths of texts and digits of seconds do not count.

    Raises:
        InvalidQuery: there is none.
    """
    if name.this == _D.DECIMAL:
        return t.DecimalType(*_precision_and_scale(name))
    found = _PLAIN.get(name.this)
    if found is None:
        raise InvalidQuery(
            f"{shown(name)} is no type to cast to; there are NUMBER, FLOAT, VARCHAR, BOOLEAN, DATE, TIMESTAMP_NTZ, "
            "TIMESTAMP_LTZ, BINARY, VARIANT, OBJECT and ARRAY"
        )
    return found


def parameters(name: exp.DataType) -> list[int]:
    """The numbers in the parentheses of a type."""
    texts = [each.name for each in name.expressions]
    if not all(text.isdecimal() and len(text) < 10 for text in texts):
        raise InvalidQuery(f"{shown(name)} is no type to cast to")
    return [int(text) for text in texts]


def _precision_and_scale(name: exp.DataType) -> tuple[int, int]:
    precision, scale = (*parameters(name), 0)[:2] if name.expressions else (38, 0)
    if not (1 <= precision <= 38 and scale <= precision):
        raise InvalidQuery(f"{shown(name)} is no type to cast to: a NUMBER has 1 to 38 digits")
    return precision, scale


class Types:
    """What type an expression has: Spark analyses it, with NULLs of their types for the parts whose types are known."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._known: dict[str, t.DataType] = {}

    def of(self, node: exp.Expr) -> t.DataType:
        """The type of an expression of Spark SQL.

        Raises:
            InvalidQuery: Spark refuses the expression.
        """
        if KIND not in node.meta:
            text = rendered(exp.select(_probe(node)))
            if text not in self._known:
                (field,) = self.analysed(text).fields
                self._known[text] = field.dataType
            node.meta[KIND] = self._known[text]
        found: t.DataType = node.meta[KIND]
        return found

    def analysed(self, text: str) -> t.StructType:
        """The columns of a text of Spark SQL."""
        try:
            return self._session.sql(text).schema
        except java_errors() as error:
            raise refusal(error) from error

    def is_variant(self, node: exp.Expr) -> bool:
        """Whether an expression is a VARIANT."""
        return isinstance(self.of(node), t.VariantType)

    def is_text(self, node: exp.Expr) -> bool:
        """Whether an expression is a text."""
        return isinstance(self.of(node), t.StringType)


def refusal(error: Exception) -> InvalidQuery:
    """What Spark says of a query, in one line."""
    said = str(error) if isinstance(error, PySparkException) else java_message(error)
    said = said.strip().splitlines()[0]
    said = said.replace("Please use `try_variant_get` instead.", "TRY_CAST gives NULL instead.")
    return InvalidQuery(f"Spark refuses the query: {said.rstrip('.;')}")


def _probe(node: exp.Expr) -> exp.Expr:
    return node.copy().transform(_null_of_its_type)


def _null_of_its_type(node: exp.Expr) -> exp.Expr:
    # Literals stay: the type of some functions depends on what is written.
    if KIND in node.meta and not isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return cast(exp.null(), node.meta[KIND])
    return node
