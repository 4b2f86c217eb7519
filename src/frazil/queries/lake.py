"""The tables of a catalog, as far as one statement asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors import InvalidQuery, TableMissing
from frazil.model import Column, TableName
from frazil.queries.versions import OpenTable
from frazil.snowflake.lake import NOW, Moment
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.rules.schema import columns_from_json


class CatalogLake:
    """A `frazil.snowflake.lake.Lake` over a catalog; what it heard once it says again until `forget`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._namespaces: list[tuple[str, ...]] | None = None
        self._tables: dict[tuple[str, ...], list[TableName]] = {}
        self._opened: dict[TableName, OpenTable] = {}

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self.catalog.name

    def namespaces(self) -> Sequence[tuple[str, ...]]:
        """The namespaces there are."""
        if self._namespaces is None:
            self._namespaces = self.catalog.namespaces()
        return self._namespaces

    def tables(self, namespace: tuple[str, ...]) -> Sequence[TableName]:
        """The tables of a namespace; none if it does not exist."""
        if namespace not in self._tables:
            self._tables[namespace] = self.catalog.list_tables(namespace)
        return self._tables[namespace]

    def columns(self, table: TableName, moment: Moment = NOW) -> Sequence[Column]:
        """The columns of a table at a moment.

        Raises:
            InvalidQuery: it has nothing at that moment, or is not there any more.
        """
        return columns_from_json(self.opened(table).at(moment).schema)

    def opened(self, table: TableName) -> OpenTable:
        """A table, loaded once.

        Raises:
            InvalidQuery: it is not there any more.
            CatalogUnavailable: the catalog did not answer.
        """
        if table not in self._opened:
            try:
                java = self.catalog.load(table)
            except TableMissing as error:
                raise InvalidQuery(f"there is no table {table} any more") from error
            self._opened[table] = OpenTable(table, java, self.catalog.jvm)
        return self._opened[table]

    def forget(self) -> None:
        """Ask the catalog again from now on: another statement begins, and tables may have changed."""
        self._namespaces = None
        self._tables.clear()
        self._opened.clear()
