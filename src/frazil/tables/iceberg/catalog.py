"""Namespaces and tables of one Iceberg catalog, by names that travel as lists, never as dotted strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import structlog

from frazil.errors import CatalogUnavailable, TableMissing, TableOptionsRefused
from frazil.model import LOCATION, Column, Conversion, TableName
from frazil.pipes.forms import form_of
from frazil.pipes.metadata_form import keeps_structure
from frazil.pipes.stored import PREFIX
from frazil.tables.iceberg.access import LOCAL
from frazil.tables.iceberg.java import (
    SCHEMA_PARSER,
    elements,
    java_class,
    java_errors,
    java_message,
    java_type,
    mapping,
)
from frazil.tables.iceberg.layout import REFUSALS
from frazil.tables.iceberg.syncing import SyncBelow
from frazil.tables.iceberg.table import CREATED_BY, Table
from frazil.tables.rules.error_tables import REJECTS_OF
from frazil.tables.rules.names import matching, meant
from frazil.tables.rules.schema import schema_to_json

PROPERTIES_OF_CREATED: Final = {
    CREATED_BY: "true",
    "format-version": "3",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.metadata.compression-codec": "gzip",
    "write.parquet.compression-codec": "zstd",
}
"""Properties of a table frazil creates; metadata files are replaced at every commit, so old ones are deleted."""

PROPERTIES_ON_LOCAL_DISKS: Final = {"write.metadata.compression-codec": "none"}
"""Over those, of a table on a local disk: it takes the bytes sooner than a core gzips them (docs/decisions/0007)."""

_LOWER_CASE: Final = frozenset({"GlueCatalog", "HiveCatalog"})
"""Classes of catalogs that take names in lower case, or make them so."""

_WITHOUT_PROPERTIES: Final = frozenset({"HadoopCatalog"})
"""Classes of catalogs whose namespaces keep no properties."""

_DIRECTORIES: Final = frozenset({"HadoopCatalog"})
"""Classes of catalogs that are nothing but directories of tables."""

_NO_SUCH_NAMESPACE: Final = frozenset({"NoSuchNamespaceException", "EntityNotFoundException"})
"""What catalogs throw that list the tables of a namespace they do not have; the second is Glue's own."""

_log = structlog.get_logger(__name__)
_Answer = TypeVar("_Answer")


class Catalog:
    """The catalog a connector writes to; see `frazil.tables.base.Targets`."""

    def __init__(
        self, java: Any, gateway: Any, name: str, at_once: int = 1, sync_below: SyncBelow | None = None
    ) -> None:
        """Wrap Iceberg's Java `Catalog`.

        Args:
            java: the catalog.
            gateway: py4j's, which reaches it.
            name: Spark's name for it.
            at_once: how many of its tables may be opened and committed to at a time.
            sync_below: has what is written to a local location synced; None where nothing is to be.
        """
        self.at_once = at_once
        self._sync_below = sync_below
        self._java = java
        self._gateway = gateway
        self.jvm = gateway.jvm
        self.name = name
        self.lower_case = str(java.getClass().getSimpleName()) in _LOWER_CASE
        """Whether all its names are in lower case."""

        self.deletes_files = str(java.getClass().getSimpleName()) in _DIRECTORIES
        """Whether a table that is dropped is gone with its files: the catalog is the directories themselves."""

        self._names_pipes = str(java.getClass().getSimpleName()) not in _WITHOUT_PROPERTIES

    def namespace(self, name: str) -> tuple[str, ...]:
        """The namespace of that name: the existing one equal ignoring case, else the name as written.

        Dots separate levels, each of which is looked for by itself.
        """
        found: tuple[str, ...] = ()
        for level in name.split("."):
            spelled = matching((each[-1] for each in self._namespaces_within(found)), level)
            found = (*found, spelled or level)
        return found

    def ensure_namespace(self, namespace: tuple[str, ...]) -> None:
        """Create the namespace unless it exists, and those that it is in."""
        if self._has(namespace):
            return
        if len(namespace) > 1:
            self.ensure_namespace(namespace[:-1])
        try:
            self._java.createNamespace(self._namespace(namespace))
        except java_errors() as error:
            # Somebody else may have made it meanwhile, which not every catalog tells by AlreadyExistsException.
            if not self._has(namespace):
                raise CatalogUnavailable(f"create the namespace {'.'.join(namespace)}", java_message(error)) from error

    def list_tables(self, namespace: tuple[str, ...]) -> list[TableName]:
        """All tables of a namespace; none if it does not exist."""
        try:
            listed = self._java.listTables(self._namespace(namespace))
        except java_errors() as error:
            if java_class(error) in _NO_SUCH_NAMESPACE:
                return []
            raise CatalogUnavailable(f"list the tables of {'.'.join(namespace)}", java_message(error)) from error
        return sorted(TableName(namespace, str(each.name())) for each in listed)

    def namespaces(self) -> list[tuple[str, ...]]:
        """All namespaces, those within others too."""
        found: list[tuple[str, ...]] = []
        waiting = self._namespaces_within(())
        while waiting:
            each = waiting.pop()
            found.append(each)
            waiting.extend(self._namespaces_within(each))
        return sorted(found)

    def _namespaces_within(self, parent: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Those right within a namespace; none if it is not there."""
        try:
            # Some catalogs have no root, and list what is at the top only if nothing is said of where to look.
            listed = self._java.listNamespaces(self._namespace(parent)) if parent else self._java.listNamespaces()
            found = [tuple(str(level) for level in each.levels()) for each in elements(listed)]
        except java_errors() as error:
            # That is also what a Hadoop catalog says of a warehouse that is still empty.
            if java_class(error) in _NO_SUCH_NAMESPACE:
                return []
            raise CatalogUnavailable("list namespaces", java_message(error)) from error
        # A REST server may answer with what is at the top, whatever it is asked for: `parent` is optional to it.
        return [each for each in found if each[:-1] == parent]

    def resolve(self, namespace: tuple[str, ...], name: str, *, quoted: bool) -> TableName:
        """The table a name means, as `frazil.tables.rules.names.meant` has it."""
        existing = () if quoted else self.list_tables(namespace)
        return meant(namespace, name, existing, quoted=quoted, lower=self.lower_case)

    def open(self, name: TableName, create: Mapping[str, str] | None, conversion: Conversion) -> Table:
        """The table of that name, created with the properties `create` if it is missing.

        Raises:
            TableMissing: there is none, and `create` is None.
            TableNotSupported: it exists and frazil cannot write it.
        """
        try:
            java = self.load(name)
        except TableMissing:
            if create is None:
                raise
            java = self.create(name, conversion, create)
        table = self._wrapped(name, java, conversion)
        existing = next((column for column in table.shape().columns if form_of(conversion).is_column(column)), None)
        if existing and conversion.structured_headers and not keeps_structure(existing):
            _log.warning("structured headers are texts in a struct: only VARIANT and STRING keep them", table=str(name))
        return table

    def errors(self, name: TableName, columns: Sequence[Column], source: str) -> Table:
        """The error table of that name; created, and marked as that of the table with the uuid `source`, if missing."""
        try:
            java = self.load(name)
        except TableMissing:
            java = self._created(name, columns, {REJECTS_OF: source})
        return self._wrapped(name, java, Conversion())

    def table(self, name: TableName) -> Table:
        """The table of that name as it is, to be read; whether frazil can write it is not asked.

        Raises:
            TableMissing: there is none of that name.
            CatalogUnavailable: the catalog did not answer.
        """
        return self._wrapped(name, self.load(name), Conversion())

    def load(self, table: TableName) -> Any:
        """Iceberg's Java table.

        Raises:
            TableMissing: there is none of that name.
            CatalogUnavailable: the catalog did not answer.
        """
        try:
            return self._java.loadTable(self._identifier(table))
        except java_errors() as error:
            if java_class(error) in ("NoSuchTableException", "NoSuchNamespaceException"):
                raise TableMissing(str(table)) from error
            raise CatalogUnavailable(f"load the table {table}", java_message(error)) from error

    def pipe_tables(self, namespace: tuple[str, ...]) -> dict[str, str]:
        """The tables of users' pipes that are called otherwise than their table, by the pipe's name.

        The namespace says so where it has properties; elsewhere every table is asked.
        """
        if not self._names_pipes:
            found = ((table, self._pipes_of(table)) for table in self.list_tables(namespace))
            return {pipe: table.name for table, pipes in found for pipe in pipes if pipe != table.name}
        try:
            properties = self._java.loadNamespaceMetadata(self._namespace(namespace))
        except java_errors() as error:
            if java_class(error) in _NO_SUCH_NAMESPACE:
                return {}
            raise CatalogUnavailable(f"read the namespace {'.'.join(namespace)}", java_message(error)) from error
        known = mapping(self.jvm, properties)
        return {key.removeprefix(PREFIX): table for key, table in known.items() if key.startswith(PREFIX)}

    def name_pipe(self, namespace: tuple[str, ...], pipe: str, table: str | None) -> None:
        """Have the namespace say which table a pipe of another name belongs to; with None, that there is no such pipe.

        Raises:
            CatalogUnavailable: the catalog did not do it.
        """
        if not self._names_pipes:
            return
        java, key = self._namespace(namespace), PREFIX + pipe
        if table is None:
            gone = self._gateway.jvm.java.util.HashSet()
            gone.add(key)
            self._call(f"forget the pipe {pipe}", lambda: self._java.removeProperties(java, gone))
            return
        told = self._gateway.jvm.java.util.HashMap()
        told.put(key, table)
        self._call(f"name the pipe {pipe}", lambda: self._java.setProperties(java, told))

    def set_properties(self, table: TableName, properties: Mapping[str, str | None]) -> None:
        """Set properties of a table, and remove those that are None, in one commit of its own.

        Raises:
            TableMissing: there is none of that name.
            CatalogUnavailable: the catalog did not do it.
        """
        update = self.load(table).updateProperties()
        for key, value in properties.items():
            update = update.remove(key) if value is None else update.set(key, value)
        self._call(f"change the table {table}", update.commit)

    def _pipes_of(self, table: TableName) -> list[str]:
        try:
            properties = mapping(self.jvm, self.load(table).properties())
        except TableMissing:
            return []
        except CatalogUnavailable as error:
            _log.error("a table is passed over: it cannot be read", table=str(table), cause=str(error))
            return []
        return [key.removeprefix(PREFIX) for key in properties if key.startswith(PREFIX)]

    def exists(self, table: TableName) -> bool:
        """Whether the table exists."""
        return bool(self._call(f"look for {table}", lambda: self._java.tableExists(self._identifier(table))))

    def builder(self, table: TableName, schema: Any, properties: Mapping[str, str]) -> Any:
        """What makes or replaces a table of a Java schema: Iceberg's TableBuilder."""
        builder = self._java.buildTable(self._identifier(table), schema)
        for key, value in properties.items():
            if key == LOCATION:
                builder = builder.withLocation("/".join((value.rstrip("/"), *table.namespace, table.name)))
            else:
                builder = builder.withProperty(key, value)
        return builder

    def drop(self, table: TableName) -> bool:
        """Forget a table; whether it was there. Its files stay, unless the catalog `deletes_files`."""
        return bool(self._java.dropTable(self._identifier(table), False))

    def create(self, table: TableName, conversion: Conversion, properties: Mapping[str, str]) -> Any:
        """Create the table with the column of metadata only; its other columns come with the first records.

        Args:
            table: its name.
            conversion: how records become its rows.
            properties: Iceberg's, over those every created table has.

        Raises:
            TableOptionsRefused: the catalog can have no table with such properties.
            CatalogUnavailable: the catalog did not do it.
        """
        form = form_of(conversion)
        return self._created(table, (Column(1, form.column, form.created_type(conversion)),), properties)

    def _created(self, table: TableName, columns: Sequence[Column], properties: Mapping[str, str]) -> Any:
        self.ensure_namespace(table.namespace)
        schema = java_type(self.jvm, SCHEMA_PARSER).fromJson(schema_to_json(columns))
        try:
            made = self.builder(table, schema, {**PROPERTIES_OF_CREATED, **properties}).create()
            if LOCAL.match(str(made.location())):
                update = made.updateProperties()
                for key, value in PROPERTIES_ON_LOCAL_DISKS.items():
                    update = update.set(key, value)
                update.commit()
        except java_errors() as error:
            if java_class(error) == "AlreadyExistsException":
                return self.load(table)
            if java_class(error) in REFUSALS:
                said = java_message(error)
                raise TableOptionsRefused(str(table), said.partition(": ")[2] or said) from error
            raise CatalogUnavailable(f"create the table {table}", java_message(error)) from error
        return made

    def _wrapped(self, name: TableName, java: Any, conversion: Conversion) -> Table:
        table = Table(self.jvm, name, java, conversion, lambda: self.load(name))
        if self._sync_below:
            # Its rejects are beside it.
            self._sync_below(table.location.rpartition("/")[0])
        return table

    def _namespace(self, levels: tuple[str, ...]) -> Any:
        # A list of levels, not a dotted string: a name may hold dots of its own.
        array = self._gateway.new_array(java_type(self.jvm, "java.lang.String"), len(levels))
        for index, level in enumerate(levels):
            array[index] = level
        return java_type(self.jvm, "org.apache.iceberg.catalog.Namespace").of(array)

    def _has(self, namespace: tuple[str, ...]) -> bool:
        java = self._namespace(namespace)
        return bool(self._call("look for a namespace", lambda: self._java.namespaceExists(java)))

    def _identifier(self, table: TableName) -> Any:
        identifier = java_type(self.jvm, "org.apache.iceberg.catalog.TableIdentifier")
        return identifier.of(self._namespace(table.namespace), table.name)

    def _call(self, action: str, request: Callable[[], _Answer]) -> _Answer:
        try:
            return request()
        except java_errors() as error:
            raise CatalogUnavailable(action, java_message(error)) from error
