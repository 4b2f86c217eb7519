"""CREATE, ALTER and DROP TABLE, carried out by the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from frazil.layout.sources import unwritable
from frazil.model import (
    ERROR_LOGGING,
    Column,
    Conversion,
    Layout,
    PartitionField,
    Primitive,
    SortField,
    StructType,
    TableName,
)
from frazil.pipes.default.coercion import within_length
from frazil.pipes.default.exact_json import CoercionError
from frazil.pipes.forms import form_for
from frazil.pipes.naming import folded
from frazil.pipes.sql.compiling import compile_pipe
from frazil.pipes.types import has
from frazil.queries import pipes
from frazil.queries.answer import Answer
from frazil.queries.lake import CatalogLake
from frazil.queries.listing import rows_answer
from frazil.queries.pipes import FoundPipe
from frazil.snowflake.definitions.values import (
    AddColumns,
    AlterColumn,
    AlterTable,
    CreateTable,
    Definition,
    DropColumns,
    DropTable,
    LayoutKey,
    NewColumn,
    RenameColumn,
    SetOrder,
    SetPartition,
    SetProperties,
)
from frazil.snowflake.heads import upper
from frazil.snowflake.places import Refused, invalid, near
from frazil.snowflake.tables import DEFAULT_NAMESPACE, existing, namespace_of
from frazil.sql import is_writable_name
from frazil.tables.iceberg import defining
from frazil.tables.rules.created_layout import ColumnKey
from frazil.tables.rules.defining import TableDefinition
from frazil.tables.rules.error_tables import is_marked, name_of_source
from frazil.tables.rules.names import matching
from frazil.tables.rules.schema import columns_from_json, is_promotion

_NEWEST_FORMAT: Final = "3"
_OF_FORMAT_3: Final = ("variant", "timestamp_ns", "timestamptz_ns")


def answer(statement: Definition, lake: CatalogLake) -> Answer:
    """Carry out a statement that defines a table.

    Raises:
        InvalidQuery: it names what does not exist, or what exists already, or the table cannot be so.
        CatalogUnavailable: the catalog did not answer.
    """
    try:
        match statement:
            case CreateTable():
                return _create(statement, lake)
            case AlterTable():
                return _alter(statement, lake)
            case DropTable():
                return _drop(statement, lake)
    except Refused as refused:
        raise invalid(refused, statement.text) from refused


def _create(statement: CreateTable, lake: CatalogLake) -> Answer:
    name = _new_name(statement.name, lake)
    definition = _definition(statement)
    if statement.pipe:
        _check_pipe(statement, name, definition, lake)
    notes = [f"Note: {option} has no effect: {reason}." for option, reason in statement.no_effect]
    is_there = name in lake.tables(name.namespace)
    if is_there and statement.if_missing:
        return _said(f"{name.name} already exists, statement succeeded.")
    if is_there and not statement.replaces:
        raise _exists(statement.name, name)
    _refuse_error_table(statement, name, lake)
    if statement.replaces:
        gone = pipes.pipes_of_table(lake.catalog, name)
        defining.replace(lake.catalog, name, definition)
        _forget(gone, lake)
        if gone:
            went = ", ".join(each.pipe.name for each in gone)
            notes.append(f"Note: its pipes went with the table that was there: {went}.")
    elif not defining.create(lake.catalog, name, definition):
        if not statement.if_missing:
            raise _exists(statement.name, name)
        return _said(f"{name.name} already exists, statement succeeded.")
    if statement.pipe:
        lake.forget()
        pipes.answer(statement.pipe, lake)
        return _said(f"Table {name.name} successfully created.", f"Pipe {name.name} successfully created.", *notes)
    return _said(f"Table {name.name} successfully created.", *notes)


def _refuse_error_table(statement: CreateTable, name: TableName, lake: CatalogLake) -> None:
    """Refuse to replace an error table, or to take the place of one that a table of its own asks for."""
    tables, source = lake.tables(name.namespace), name_of_source(name)
    if name in tables and is_marked(lake.catalog.table(name).state()):
        raise Refused(f"{name} is an error table: rename it or drop it first", statement.name)
    if name not in tables and source in tables and source is not None:
        state = lake.catalog.table(source).state()
        if state.property(ERROR_LOGGING) == "true":
            raise Refused(f"{name} is the name of the error table of {source}, which frazil creates", statement.name)


def _check_pipe(statement: CreateTable, name: TableName, definition: TableDefinition, lake: CatalogLake) -> None:
    """See that the pipe of an interactive table can be made after the table."""
    assert statement.pipe is not None  # noqa: S101 (asked for only then)
    columns = columns_from_json(definition.schema)
    compile_pipe(statement.pipe, name.name, columns, Conversion(metadata_column=form_for(columns).column))
    there = pipes.found_pipe(lake.catalog, name.namespace, name.name)
    if there is not None and there.table != name:
        raise Refused(f"there is a pipe {there.pipe.name} already, of the table {there.table}", statement.name)


def _drop(statement: DropTable, lake: CatalogLake) -> Answer:
    name = _found(statement.name, lake, if_there=statement.if_there)
    if name is not None:
        gone = pipes.pipes_of_table(lake.catalog, name)
        if defining.drop(lake.catalog, name):
            _forget(gone, lake)
            files = "were deleted with it" if lake.catalog.deletes_files else "stay where they are"
            return _said(f"{name.name} successfully dropped.", f"Note: its files {files}.")
        if not statement.if_there:
            raise Refused(f"there is no table {name} any more", statement.name)
    return _said("Drop statement executed successfully; there was no such table.")


def _alter(statement: AlterTable, lake: CatalogLake) -> Answer:
    table = _found(statement.name, lake, if_there=statement.if_there)
    if table is None:
        return _said("Statement executed successfully; there is no such table.")
    columns, catalog = lake.columns(table), lake.catalog
    notes: list[str] = []
    match statement.change:
        case AddColumns(columns=new):
            notes = _add(table, new, columns, lake)
        case DropColumns(names=names, if_there=if_there):
            found = [_column(each, columns) for each in names if not (if_there and _known(each, columns) is None)]
            if found:
                defining.drop_columns(catalog, table, [each.name for each in found])
        case RenameColumn(name=name, new=new_name):
            before = _column(name, columns)
            _refuse_taken(new_name, [each for each in columns if each != before])
            defining.rename_column(catalog, table, before.name, _spelled(new_name))
        case SetProperties(properties=properties, no_effect=no_effect):
            notes = [f"Note: {option} has no effect: {reason}." for option, reason in no_effect]
            if properties:
                defining.set_properties(catalog, table, properties)
        case SetOrder(order=order):
            defining.set_order(catalog, table, _checked((), order, columns)[1])
        case SetPartition(partition=partition):
            defining.set_partition(catalog, table, _checked(partition, (), columns)[0])
        case altered:
            _alter_columns(table, altered, columns, lake)
    return _said("Statement executed successfully.", *notes)


def _add(table: TableName, new: Sequence[NewColumn], columns: Sequence[Column], lake: CatalogLake) -> list[str]:
    version = str(lake.catalog.table(table).state().format_version)
    wanted = [each for each in new if not (each.if_missing and _known(each.name, columns))]
    _refuse_unwritable(wanted, version)
    for number, each in enumerate(wanted):
        _refuse_taken(each.name, [*columns, *map(_as_column, wanted[:number])])
        if each.required and each.default is None:
            raise Refused(
                f"{_spelled(each.name)} is NOT NULL and has no DEFAULT: rows that are there would have nothing",
                each.name,
            )
    if wanted:
        defining.add_columns(
            lake.catalog, table, [_as_column(each) for each in wanted], [each.comment for each in wanted]
        )
    skipped = [each for each in new if each not in wanted]
    return [f"Note: the column {_spelled(each.name)} is there already." for each in skipped]


def _alter_columns(
    table: TableName, altered: Sequence[AlterColumn], columns: Sequence[Column], lake: CatalogLake
) -> None:
    types, relaxed, comments = {}, [], {}
    lengths: dict[str, int | None] = {}
    for each in altered:
        column = _column(each.name, columns)
        if each.type is not None and str(each.type) != str(column.type):
            if not (
                isinstance(each.type, Primitive)
                and isinstance(column.type, Primitive)
                and is_promotion(column.type, each.type)
            ):
                raise Refused(
                    f"{column.name} is of type {column.type}, which cannot become {each.type}: int becomes long, "
                    "float becomes double, and a decimal gets more digits before the point",
                    each.name,
                )
            types[column.name] = each.type
        if each.type is not None:
            lengths[column.name] = each.length
            _refuse_long_default(replace(column, length=each.length), each.name)
        if each.relaxes and column.required:
            relaxed.append(column.name)
        if each.comment is not None:
            comments[column.name] = each.comment
    if types or relaxed or comments or lengths:
        defining.alter_columns(lake.catalog, table, types, relaxed, comments, lengths)


def _definition(statement: CreateTable) -> TableDefinition:
    _refuse_unwritable(statement.columns, statement.properties.get("format-version", _NEWEST_FORMAT))
    columns: list[Column] = []
    for each in statement.columns:
        _refuse_taken(each.name, columns)
        column = _as_column(each)
        columns.append(column)
    comments = tuple(each.comment for each in statement.columns)
    plain = TableDefinition(tuple(columns), comments)
    partition, order = _checked(statement.partition, statement.order, columns_from_json(plain.schema))
    return TableDefinition(plain.columns, comments, partition, order, statement.properties)


def _refuse_long_default(column: Column, name: exp.Identifier) -> None:
    """Refuse a DEFAULT that no record could bring itself."""
    try:
        within_length(column.default or "null", column, in_base64=False)
    except CoercionError as error:
        raise Refused(f"the DEFAULT of {column.name} is too long: {error}", name) from error


def _refuse_unwritable(columns: Sequence[NewColumn], version: str) -> None:
    for each in columns:
        _refuse_long_default(_as_column(each), each.name)
        if not is_writable_name(each.name.name):
            raise Refused("a column needs a name that SQL can write", each.name)
        if version == _NEWEST_FORMAT:
            continue
        if found := next((kind for kind in _OF_FORMAT_3 if has(each.type, kind)), None):
            raise Refused(f"{each.name.name} is of type {found}, which needs ICEBERG_VERSION = 3", each.name)
        if each.default is not None:
            raise Refused(f"{each.name.name} has a DEFAULT, which needs ICEBERG_VERSION = 3", each.name)


def _checked(
    partition: Sequence[LayoutKey], order: Sequence[LayoutKey], columns: Sequence[Column]
) -> tuple[tuple[ColumnKey, ...], tuple[ColumnKey, ...]]:
    """The keys by the names of columns of the table; refused if files cannot be written so."""
    found = {id(key): _field(key.column, columns) for key in (*partition, *order)}
    fields = [(key, PartitionField(found[id(key)][0], found[id(key)][1], key.transform)) for key in partition]
    sorting = [(key, SortField(found[id(key)][1], key.transform)) for key in order]
    for key, field in fields:
        _refuse_layout(Layout(partition=(field,)), columns, key)
    for key, each in sorting:
        _refuse_layout(Layout(order=(each,)), columns, key)
    whole = Layout(tuple(field for _, field in fields), tuple(each for _, each in sorting))
    for key in (*partition, *order)[:1]:
        _refuse_layout(whole, columns, key)
    named = [tuple((found[id(key)][0], key.transform) for key in keys) for keys in (partition, order)]
    return named[0], named[1]


def _field(path: Sequence[exp.Identifier], columns: Sequence[Column]) -> tuple[str, int]:
    """The dotted name of a column, or of a field of a struct, and its id."""
    first, *rest = path
    column = _column(first, columns)
    if not rest:
        return column.name, column.id
    if not isinstance(column.type, StructType):
        raise Refused(f"{column.name} is of type {column.type}, which has no field {rest[0].name[:60]}", rest[0])
    name, number = _field(rest, column.type.fields)
    return f"{column.name}.{name}", number


def _refuse_layout(layout: Layout, columns: Sequence[Column], key: LayoutKey) -> None:
    if reason := unwritable(layout, columns):
        raise Refused(f"the table cannot be written: {reason}", key.column[0])


def _as_column(new: NewColumn) -> Column:
    return Column(0, _spelled(new.name), new.type, new.required, new.default, new.length)


def _spelled(name: exp.Identifier) -> str:
    return upper(name)


def _refuse_taken(name: exp.Identifier, columns: Sequence[Column]) -> None:
    other = next((each.name for each in columns if folded(each.name) == folded(name.name)), None)
    if other is not None:
        differ = "" if other == _spelled(name) else "; names may not differ by case alone"
        raise Refused(f"there is a column {other} already{differ}", name)


def _known(name: exp.Identifier, columns: Sequence[Column]) -> Column | None:
    by_name = {each.name: each for each in columns}
    if name.args.get("quoted"):
        return by_name.get(name.name)
    spelled = matching(by_name, name.name)
    return by_name[spelled] if spelled is not None else None


def _column(name: exp.Identifier, columns: Sequence[Column]) -> Column:
    column = _known(name, columns)
    if column is None:
        known = [each.name for each in columns]
        raise Refused(
            f"there is no column {_spelled(name)[:60]}; there are: {', '.join(known[:20])}{near(name.name, known)}",
            name,
        )
    return column


def _new_name(node: exp.Table, lake: CatalogLake) -> TableName:
    """The table that is there by that name, or the one that is to be."""
    namespace = _namespace(node, lake)
    identifier = node.this
    return lake.catalog.resolve(namespace, identifier.name, quoted=bool(identifier.args.get("quoted")))


def _namespace(node: exp.Table, lake: CatalogLake) -> tuple[str, ...]:
    try:
        return namespace_of(node, lake)
    except Refused:
        # It is made with its first table, as connectors make it.
        if node.db.lower() == DEFAULT_NAMESPACE and node.catalog.lower() in ("", lake.name.lower()):
            return (DEFAULT_NAMESPACE,)
        raise


def _found(node: exp.Table, lake: CatalogLake, *, if_there: bool) -> TableName | None:
    try:
        return existing(node, lake)
    except Refused:
        if if_there:
            return None
        raise


def _forget(gone: Sequence[FoundPipe], lake: CatalogLake) -> None:
    """Have the namespace forget the pipes of a table that is gone."""
    for each in gone:
        if not each.is_named_as_table:
            lake.catalog.name_pipe(each.table.namespace, each.pipe.name, None)


def _exists(node: exp.Table, name: TableName) -> Refused:
    return Refused(f"there is a table {name} already: CREATE OR REPLACE TABLE, or CREATE TABLE IF NOT EXISTS", node)


def _said(*sentences: str) -> Answer:
    return rows_answer(("status",), [(sentence,) for sentence in sentences])
