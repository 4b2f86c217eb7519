"""Functions by Snowflake's names.

Most have a counterpart in Spark that does the same: they are a table. The others are in the modules of their kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import types as t
from sqlglot import exp

from frazil.cli.query import aggregates, conditions, dates, nested, numbers, objects, texts, times
from frazil.cli.query.spark import call
from frazil.cli.query.translator import Function, Translator, arity
from frazil.cli.query.types import Types
from frazil.cli.query.values import as_condition, as_integer, as_moment, as_number, as_text

_READ: Final[dict[str, Callable[[Types, exp.Expr], exp.Expr]]] = {
    "t": as_text,
    "n": as_number,
    "i": as_integer,
    "b": as_condition,
    "m": as_moment,
    "a": lambda _, node: node,
}
"""How an argument is read: as a text, number, INT, condition, moment, or as it is."""

_TABLE: Final[dict[t.DataType | None, str]] = {
    t.StringType(): """
        UPPER(t) LOWER(t) INITCAP(t) REVERSE(t) SOUNDEX(t) LEFT(ti) RIGHT(ti) REPEAT(ti) SPACE(i) LPAD(ti|t) RPAD(ti|t)
        TRANSLATE(ttt) SPLIT_PART(tti) REGEXP_SUBSTR(tt) CHR(n) CHAR(n)=chr MD5(t) MD5_HEX(t)=md5 SHA1(t)
        SHA1_HEX(t)=sha1 BASE64_ENCODE(t)=base64 HEX_ENCODE(t)=hex""",
    t.IntegerType(): """
        LENGTH(t) LEN(t)=length CHAR_LENGTH(t)=length OCTET_LENGTH(t) BIT_LENGTH(t) ASCII(t) REGEXP_COUNT(tt)
        REGEXP_INSTR(tt) EDITDISTANCE(tt)=levenshtein YEAR(m) QUARTER(m) MONTH(m) DAY(m) DAYOFMONTH(m)=day DAYOFYEAR(m)
        HOUR(m) MINUTE(m) SECOND(m) WEEK(m)=weekofyear WEEKISO(m)=weekofyear WEEKOFYEAR(m) ROW_NUMBER() RANK()
        DENSE_RANK() NTILE(i)""",
    t.BooleanType(): """
        CONTAINS(tt) STARTSWITH(tt) ENDSWITH(tt) BOOLAND_AGG(b)=bool_and BOOLOR_AGG(b)=bool_or""",
    t.DoubleType(): """
        POWER(nn) POW(nn)=power SQRT(n) CBRT(n) EXP(n) LN(n) LOG(nn) PI() DEGREES(n) RADIANS(n) SIN(n) COS(n) TAN(n)
        COT(n) ASIN(n) ACOS(n) ATAN(n) ATAN2(nn) SINH(n) COSH(n) TANH(n) STDDEV(n) STDDEV_SAMP(n) STDDEV_POP(n)
        VARIANCE(n) VAR_SAMP(n) VAR_POP(n) KURTOSIS(n) SKEW(n)=skewness CORR(nn) COVAR_POP(nn) COVAR_SAMP(nn)
        PERCENT_RANK() CUME_DIST() MONTHS_BETWEEN(mm)""",
    t.LongType(): "COUNT_IF(b) GROUPING_ID(a*)",
    t.ByteType(): "GROUPING(a)",
    t.DateType(): "LAST_DAY(m) NEXT_DAY(mt) CURRENT_DATE()",
    None: """
        SUBSTR(ti|i) SUBSTRING(ti|i) CONCAT(t*) ABS(n) SIGN(n) ROUND(n|i) FLOOR(n|i) CEIL(n|i) CEILING(n|i)=ceil MOD(nn)
        WIDTH_BUCKET(nnnn) SUM(n) AVG(n) MEDIAN(n) ANY_VALUE(a) PERCENTILE_CONT(n)
        PERCENTILE_DISC(n) VARIANT_GET(at|t) TRY_VARIANT_GET(at|t)""",
}
"""NAME(arguments) by type of the result (None: Spark says), `=` before Spark's name where it differs.

After `|` arguments may be left out; `*` repeats the last one.
"""

_ENTRY: Final = re.compile(r"(?P<name>\w+)\((?P<needed>\w*)\|?(?P<optional>\w*)(?P<more>\*?)\)(?:=(?P<spark>\w+))?")


@dataclass(frozen=True, slots=True)
class _Same:
    """A function that Spark has as well."""

    name: str
    spark: str
    needed: str
    optional: str
    more: bool
    kind: t.DataType | None

    def __call__(self, x: Translator, arguments: Sequence[exp.Expr]) -> exp.Expr:
        ways = self.needed + self.optional
        most = None if self.more else len(ways)
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            values = self._read(x, arguments[0].expressions)
            return call(self.spark, exp.Distinct(expressions=values), kind=self.kind)
        arity(self.name, arguments, len(self.needed), most)
        return call(self.spark, *self._read(x, arguments), kind=self.kind)

    def _read(self, x: Translator, arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
        ways = self.needed + self.optional
        # Beyond the last way there are arguments only where it is repeated.
        return [_READ[ways[min(n, len(ways) - 1)]](x.types, x(node)) for n, node in enumerate(arguments)]


def _table() -> dict[str, Function]:
    found: dict[str, Function] = {}
    for kind, entries in _TABLE.items():
        for entry in _ENTRY.finditer(entries):
            name, spark = entry["name"], entry["spark"] or entry["name"].lower()
            found[name] = _Same(name, spark, entry["needed"], entry["optional"], bool(entry["more"]), kind)
    return found


FUNCTIONS: Final[dict[str, Function]] = {
    **_table(),
    **texts.FUNCTIONS,
    **numbers.FUNCTIONS,
    **conditions.FUNCTIONS,
    **nested.FUNCTIONS,
    **objects.FUNCTIONS,
    **times.FUNCTIONS,
    **dates.FUNCTIONS,
    **aggregates.FUNCTIONS,
}
"""What each function becomes, by Snowflake's name in upper case."""

KNOWN: Final = frozenset(FUNCTIONS)
