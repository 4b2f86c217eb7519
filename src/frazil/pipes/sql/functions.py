"""Functions that the statements of a user's pipe call for values in odd forms: exact validation, for single values.

Most values never come here: the statements themselves read the usual forms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import duckdb
import pyarrow as pa
from msgspec import Raw

from frazil.model import Column, Conversion, IcebergType
from frazil.pipes.default import numbers
from frazil.pipes.default.coercion import Coercion
from frazil.pipes.default.decoder import becomes_variant
from frazil.pipes.default.exact_json import TOO_DEEP, CoercionError, Number, parse
from frazil.pipes.types import VARIANT
from frazil.records.variant import encode

PLAIN_NUMBER: Final = "frazil_plain_number"
"""The function that gives the plain text of a number."""

_KNOWN: Final = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"


@dataclass(frozen=True, slots=True)
class Fitting:
    """What makes JSON values those of one type, by the rules of one connector."""

    type: IcebergType
    conversion: Conversion

    @property
    def name(self) -> str:
        """What the function is called in SQL: the same name, the same rules."""
        conversion = self.conversion
        rules = f"{self.type!r} {conversion.time_zone} {conversion.numbers} {conversion.binary}"
        return f"frazil_fit_{hashlib.sha256(rules.encode()).hexdigest()[:16]}"

    def reason(self, text: str) -> str | None:
        """Why a JSON value is none of the type; None if it is one."""
        try:
            self._fitted(Coercion(self.conversion), text)
        except CoercionError as error:
            return str(error)
        except RecursionError:
            return TOO_DEEP
        return None

    def define(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the function known to a connection.

        Of a JSON value as text it makes one that DuckDB reads exactly as the type; of one that is to become a VARIANT
        its bytes, or NULL where DuckDB's own cast makes them.
        """
        coercion = Coercion(self.conversion)
        if self.type == VARIANT:
            define(connection, self.name, lambda text: self._encoded(coercion, text), "BLOB", pa.binary())
        else:
            define(connection, self.name, lambda text: self._fitted(coercion, text))

    def default(self, column: Column) -> str:
        """What exact validation makes of the default of a column of the type."""
        return Coercion(self.conversion).default(column)

    def _fitted(self, coercion: Coercion, text: str) -> str:
        return coercion.text(self.type, parse(text), "")

    def _encoded(self, coercion: Coercion, text: str) -> bytes | None:
        if becomes_variant(Raw(text.encode())):
            return None
        self._fitted(coercion, text)
        return encode(text)


def plain_number(text: str) -> str:
    """The plain text of a number."""
    return numbers.plain(Number(text))


def define(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[[str], object],
    returns: str = "VARCHAR",
    arrow: pa.DataType | None = None,
) -> None:
    """Make a function of one text known to a connection, unless it is known there.

    It gives NULL for NULL, and what it raises fails the statement.
    """
    ((known,),) = connection.execute(_KNOWN, [name]).fetchall()
    if known:
        return

    def of_column(column: pa.ChunkedArray) -> pa.Array:
        values = [None if each is None else function(each) for each in column.to_pylist()]
        return pa.array(values, arrow or pa.string())

    connection.create_function(name, of_column, ["VARCHAR"], returns, type="arrow", null_handling="special")


def define_plain_number(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the function known that paths with numbers in odd forms are read by."""
    define(connection, PLAIN_NUMBER, plain_number)
