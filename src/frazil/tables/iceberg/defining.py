"""Tables made, replaced and changed as somebody says, each by one commit of Iceberg's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from frazil.errors import CatalogUnavailable, InvalidQuery
from frazil.model import LOCATION, Column, IcebergType, TableName
from frazil.tables.iceberg.access import LOCAL
from frazil.tables.iceberg.catalog import PROPERTIES_OF_CREATED, PROPERTIES_ON_LOCAL_DISKS, Catalog
from frazil.tables.iceberg.java import (
    SCHEMA_PARSER,
    elements,
    java_class,
    java_errors,
    java_message,
    java_type,
    mapping,
)
from frazil.tables.iceberg.layout import REFUSALS, partitioned, sorted_by
from frazil.tables.iceberg.table import CREATED_BY
from frazil.tables.rules.created_layout import ColumnKey
from frazil.tables.rules.defining import TableDefinition, schema_with_comments
from frazil.tables.rules.lengths import LENGTHS, changed
from frazil.tables.rules.schema import schema_to_json
from frazil.tables.rules.tokens import PREFIX as TOKENS

_KEPT_UP: Final = {key: value for key, value in PROPERTIES_OF_CREATED.items() if key != CREATED_BY}
"""What frazil sets on every table; whoever defines one decides on its columns and snapshots."""

_TRIES: Final = 50
"""Commits of others that may come between the reading of a table and its change."""


def create(catalog: Catalog, table: TableName, definition: TableDefinition) -> bool:
    """Make a table; whether there was none.

    Raises:
        InvalidQuery: Iceberg cannot have it so.
        CatalogUnavailable: the catalog did not do it.
    """
    catalog.ensure_namespace(table.namespace)
    action = f"create the table {table}"
    try:
        made = _asked(action, lambda: _made(_builder(catalog, table, definition).createTransaction(), definition))
    except _Existing:
        return False
    if LOCAL.match(str(made.location())):
        catalog.set_properties(table, PROPERTIES_ON_LOCAL_DISKS)
    return True


def _made(transaction: Any, definition: TableDefinition) -> Any:
    """Commit a new table, whose columns have ids by now, by which the property names their lengths."""
    if (lengths := _lengths(transaction, definition.columns)) is not None:
        transaction.updateProperties().set(LENGTHS, lengths).commit()
    transaction.commitTransaction()
    return transaction.table()


def _lengths(transaction: Any, columns: Sequence[Column]) -> str | None:
    """The property of lengths, of a table that has these columns and no others."""
    schema = transaction.table().schema()
    return changed(None, {int(schema.findField(each.name).fieldId()): each.length for each in columns})


def replace(catalog: Catalog, table: TableName, definition: TableDefinition) -> None:
    """Put an empty table into the place of one of the same name, or make it: with nothing left but offset tokens.

    Raises:
        InvalidQuery: Iceberg cannot have it so.
        CatalogUnavailable: the catalog did not do it.
    """
    catalog.ensure_namespace(table.namespace)

    def swap() -> None:
        transaction = _builder(catalog, table, definition).createOrReplaceTransaction()
        found = mapping(catalog.jvm, transaction.table().properties())
        asked = {**_KEPT_UP, **definition.properties}
        if LOCAL.match(str(transaction.table().location())):
            asked |= PROPERTIES_ON_LOCAL_DISKS
        if (lengths := _lengths(transaction, definition.columns)) is not None:
            asked |= {LENGTHS: lengths}
        update = transaction.updateProperties()
        for key in found.keys() - asked.keys():
            if not key.startswith(TOKENS):
                update = update.remove(key)
        for key, value in asked.items():
            # These were said to the builder, and are no properties.
            if key not in ("format-version", LOCATION):
                update = update.set(key, value)
        update.commit()
        transaction.commitTransaction()

    _repeated(f"replace the table {table}", swap)


def drop(catalog: Catalog, table: TableName) -> bool:
    """Have the catalog forget a table, as `Catalog.drop` does; whether it was there.

    Raises:
        CatalogUnavailable: the catalog did not do it.
    """
    return _asked(f"drop the table {table}", lambda: catalog.drop(table)) is True


def add_columns(catalog: Catalog, table: TableName, columns: Sequence[Column], comments: Sequence[str | None]) -> None:
    """Add columns, with what rows that are there have in them."""
    schema = schema_with_comments(columns, comments)
    fields = list(java_type(catalog.jvm, SCHEMA_PARSER).fromJson(schema).columns())
    lengths = {each.name: each.length for each in columns if each.length is not None}

    def change(update: Any) -> Any:
        for each in fields:
            add = update.addRequiredColumn if each.isRequired() else update.addColumn
            # With a parent of None the name is taken as it is, dots included.
            update = add(None, each.name(), each.type(), each.doc(), each.writeDefaultLiteral())
        return update

    _change_schema(catalog, table, change, lengths)


def drop_columns(catalog: Catalog, table: TableName, names: Sequence[str]) -> None:
    """Drop columns."""

    def change(update: Any) -> Any:
        for name in names:
            update = update.deleteColumn(name)
        return update

    _change_schema(catalog, table, change)


def rename_column(catalog: Catalog, table: TableName, name: str, new: str) -> None:
    """Give a column another name."""
    _change_schema(catalog, table, lambda update: update.renameColumn(name, new))


def alter_columns(
    catalog: Catalog,
    table: TableName,
    types: Mapping[str, IcebergType],
    relaxed: Sequence[str],
    comments: Mapping[str, str],
    lengths: Mapping[str, int | None],
) -> None:
    """Give columns wider types and other lengths, let them be NULL, and say other things of them."""
    schema = schema_to_json([Column(0, name, kind) for name, kind in types.items()])
    parsed = java_type(catalog.jvm, SCHEMA_PARSER).fromJson(schema)
    wider = {str(each.name()): each.type() for each in elements(parsed.columns())}

    def change(update: Any) -> Any:
        for name, kind in wider.items():
            update = update.updateColumn(name, kind)
        for name in relaxed:
            update = update.makeColumnOptional(name)
        for name, comment in comments.items():
            update = update.updateColumnDoc(name, comment or None)
        return update

    _change_schema(catalog, table, change, lengths)


def set_properties(catalog: Catalog, table: TableName, properties: Mapping[str, str | None]) -> None:
    """Set properties, and remove those that are None."""

    def swap() -> None:
        update = catalog.load(table).updateProperties()
        for key, value in properties.items():
            update = update.remove(key) if value is None else update.set(key, value)
        update.commit()

    _repeated(f"change the table {table}", swap)


def set_partition(catalog: Catalog, table: TableName, keys: Sequence[ColumnKey]) -> None:
    """Partition what is written from now on by other keys."""

    def swap() -> None:
        java = catalog.load(table)
        partitioned(catalog.jvm, java.spec(), java.updateSpec(), keys).commit()

    _repeated(f"partition the table {table}", swap)


def set_order(catalog: Catalog, table: TableName, keys: Sequence[ColumnKey]) -> None:
    """Sort what is written from now on by other keys."""

    def swap() -> None:
        sorted_by(catalog.jvm, catalog.load(table).replaceSortOrder(), keys).commit()

    _repeated(f"sort the table {table}", swap)


class _Existing(Exception):
    """There is a table of that name already."""


def _builder(catalog: Catalog, table: TableName, definition: TableDefinition) -> Any:
    jvm = catalog.jvm
    schema = java_type(jvm, SCHEMA_PARSER).fromJson(definition.schema)
    spec = java_type(jvm, "org.apache.iceberg.PartitionSpec").builderFor(schema)
    for name, transform in definition.partition:
        add = getattr(spec, transform.name)
        spec = add(name, transform.parameter) if transform.parameter else add(name)
    order = sorted_by(jvm, java_type(jvm, "org.apache.iceberg.SortOrder").builderFor(schema), definition.order)
    builder = catalog.builder(table, schema, {**_KEPT_UP, **definition.properties})
    return builder.withPartitionSpec(spec.build()).withSortOrder(order.build())


def _change_schema(
    catalog: Catalog, table: TableName, change: Callable[[Any], Any], lengths: Mapping[str, int | None] | None = None
) -> None:
    """Change columns, and the lengths of some of them, by name, with it."""

    def swap() -> None:
        java = catalog.load(table)
        if not lengths:
            change(java.updateSchema()).commit()
            return
        transaction = java.newTransaction()
        change(transaction.updateSchema()).commit()
        schema, before = transaction.table().schema(), java.properties().get(LENGTHS)
        found = changed(before, {int(schema.findField(name).fieldId()): each for name, each in lengths.items()})
        if found != before:
            update = transaction.updateProperties()
            (update.remove(LENGTHS) if found is None else update.set(LENGTHS, found)).commit()
        transaction.commitTransaction()

    _repeated(f"change the columns of {table}", swap)


def _repeated(action: str, request: Callable[[], object]) -> None:
    """Ask again while others, such as a connector, commit in between."""
    for _ in range(_TRIES):
        try:
            _asked(action, request)
        except _Overtaken as error:
            reason = str(error)
        else:
            return
    raise CatalogUnavailable(action, reason)


class _Overtaken(Exception):
    """Somebody else committed meanwhile, and nothing happened."""


def _asked(action: str, request: Callable[[], Any]) -> Any:
    try:
        return request()
    except java_errors() as error:
        match java_class(error):
            case "CommitFailedException":
                raise _Overtaken(java_message(error)) from error
            case "AlreadyExistsException":
                raise _Existing from error
            case name if name in REFUSALS:
                said = java_message(error).partition(": ")[2] or name
                raise InvalidQuery(f"Iceberg refuses to {action}: {said[:300].rstrip('.')}") from error
        raise CatalogUnavailable(action, java_message(error)) from error
