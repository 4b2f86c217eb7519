"""A user's pipe compiled for the columns of its table: checked as a whole, and written as DuckDB SQL.

Only what `frazil.snowflake.allow` lets through is in the tree that SQL is generated from, and its names mean a record
or nothing: a pipe reaches no file, no table and no environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from frazil.errors import InvalidQuery
from frazil.model import Column, Conversion, PipeItem, PipeSpec, PipeTarget, ReadObject
from frazil.pipes.base import CHUNK
from frazil.pipes.forms import form_of
from frazil.pipes.sql import fitting
from frazil.pipes.sql.functions import Fitting
from frazil.pipes.sql.reading import Path, Reading
from frazil.pipes.sql.record import CONTENT, RecordScope, is_path, note_paths, raw_text, sql_of
from frazil.pipes.stored import identity_of
from frazil.pipes.types import unsupported
from frazil.snowflake.expressions import Expressions
from frazil.snowflake.functions.sizes import growing
from frazil.snowflake.growth import Growth
from frazil.snowflake.heads import head
from frazil.snowflake.items import note_aliases
from frazil.snowflake.kinds import shown as type_shown
from frazil.snowflake.pipes import CreatePipe
from frazil.snowflake.places import Refused, invalid, near
from frazil.snowflake.scope import Scope, matching
from frazil.snowflake.typed import Types
from frazil.snowflake.values import as_text, boxed
from frazil.snowflake.windows import aggregated

_GROWING_BATCH: Final = 4
"""Records at once of a pipe whose texts may grow: as long as texts may be, they take a tenth of a worker's memory."""

WHERE: Final = "WHERE"
"""What stands for a column where a record's WHERE fails."""


def compile_pipe(
    pipe: CreatePipe,
    name: str,
    columns: Sequence[Column],
    conversion: Conversion,
    targets: Sequence[PipeTarget] = (),
) -> PipeSpec:
    """Compile a pipe.

    Args:
        pipe: as it was read.
        name: what it is called in the catalog.
        columns: those of its table, in their order.
        conversion: the rules of the connector whose records come through it.
        targets: the columns that its items have gone to since it was created; empty for a pipe that is created now.

    Raises:
        InvalidQuery: it has what does not exist or cannot go to its column; points at the place.
    """
    try:
        return _Compiling(pipe, columns, conversion, targets).spec(name)
    except Refused as refused:
        raise invalid(refused, pipe.text) from refused
    except RecursionError:
        raise InvalidQuery("the query is nested too deeply") from None


class _Compiling:
    def __init__(
        self, pipe: CreatePipe, columns: Sequence[Column], conversion: Conversion, targets: Sequence[PipeTarget]
    ) -> None:
        self._pipe = pipe
        self._columns = columns
        self._kept_targets = targets
        self._conversion = conversion
        self._types = Types(is_strict=True)
        self._growth = Growth(pipe.query)
        alias = pipe.query.args["from_"].this.args.get("alias")
        self._scope = RecordScope(called=alias.name if alias else "", form=form_of(conversion))
        self._warnings: list[str] = []
        self._texts = {
            id(item): " ".join(text.split()) for item, text in zip(pipe.query.expressions, pipe.items, strict=True)
        }

    def spec(self, name: str) -> PipeSpec:
        """The pipe for these columns."""
        items = self._pipe.query.expressions
        pairs = self._pairs(items)
        note_aliases([self._scope.with_paths(each) for each in items], self._scope)
        compiled = {column.name: self._item(column, item) for column, item in pairs}
        self._require_all(compiled)
        reading = Reading()
        for item in compiled.values():
            item.note(self._scope, reading)
        reading.arrange()
        found = tuple(
            compiled[column.name].as_item(self._scope, reading) if column.name in compiled else self._absent(column)
            for column in self._columns
        )
        condition, condition_source, objects = self._where()
        self._warn()
        targets = self._targets(pairs)
        return PipeSpec(
            name=name,
            identity=identity_of(self._pipe.text, targets),
            source=reading.source(CHUNK),
            items=found,
            inputs=tuple(sorted(self._scope.inputs | {"value"})),
            objects=self._objects(reading.objects(), objects),
            condition=condition,
            condition_source=condition_source,
            volatile=tuple(sorted(self._scope.volatile.items())),
            batch=_GROWING_BATCH if any(growing(self._pipe.query)) else None,
            targets=targets,
            warnings=tuple(self._warnings),
        )

    def _pairs(self, items: Sequence[exp.Expr]) -> list[tuple[Column, exp.Expr]]:
        """Which item goes to which column."""
        if self._pipe.matching != "none":
            return self._by_name(items)
        if self._kept_targets:
            return [*zip(self._kept_columns(items), items, strict=True)]
        if self._pipe.columns:
            columns = [self._column(each) for each in self._pipe.columns]
            for number, column in enumerate(columns):
                if column in columns[:number]:
                    raise Refused(f"the column {column.name} is listed twice", self._pipe.columns[number])
            if len(columns) != len(items):
                raise Refused(
                    f"{len(columns)} columns are listed, and {len(items)} items selected",
                    self._pipe.query.expressions[-1],
                )
            return list(zip(columns, items, strict=True))
        if len(items) > len(self._columns):
            names = ", ".join(column.name for column in self._columns)
            raise Refused(
                f"{len(items)} items are selected, and the table has {len(self._columns)} columns: {names}",
                items[len(self._columns)],
            )
        found = list(zip(self._columns, items, strict=False))
        self._warn_of_places(found)
        return found

    def _kept_columns(self, items: Sequence[exp.Expr]) -> list[Column]:
        """The columns that the items have gone to since the pipe was created."""
        if len(items) != len(self._kept_targets):
            raise Refused(
                f"the table keeps {len(self._kept_targets)} columns for the pipe, and {len(items)} items are selected",
                items[-1],
            )
        by_id = {column.id: column for column in self._columns}
        found: list[Column] = []
        for target, item in zip(self._kept_targets, items, strict=True):
            column = by_id.get(target.id)
            if column is None:
                raise Refused(f"the column {target.name}, which this item goes to, was dropped from the table", item)
            if column.name != target.name:
                self._warnings.append(
                    f"the column {target.name} was renamed: its item still goes to it, as {column.name}"
                )
            found.append(column)
        return found

    def _targets(self, pairs: Sequence[tuple[Column, exp.Expr]]) -> tuple[PipeTarget, ...]:
        """The columns to keep with the pipe; none where it matches names each time."""
        if self._kept_targets or self._pipe.matching != "none":
            return tuple(self._kept_targets)
        return tuple(PipeTarget(column.id, column.name) for column, _ in pairs)

    def _warn_of_places(self, pairs: Sequence[tuple[Column, exp.Expr]]) -> None:
        names = {column.name.upper() for column in self._columns}
        for column, item in pairs:
            alias = item.args["alias"].name if isinstance(item, exp.Alias) else ""
            if alias.upper() in names and alias.upper() != column.name.upper():
                self._warnings.append(
                    f"the item {alias} goes to the column {column.name}, by its place; list the columns after the "
                    "table, or write MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE behind the query"
                )

    def _by_name(self, items: Sequence[exp.Expr]) -> list[tuple[Column, exp.Expr]]:
        found: dict[str, tuple[Column, exp.Expr]] = {}
        for item in items:
            # As for names in quotes, case counts.
            wanted = exp.to_identifier(head(item), quoted=self._pipe.matching == "case_sensitive")
            wanted.meta.update(item.args["alias"].meta if isinstance(item, exp.Alias) else {})
            try:
                column = self._column(wanted)
            except Refused as refused:
                refused.node = refused.node if "start" in wanted.meta else item
                raise
            if column.name in found:
                raise Refused(f"two items go to the column {column.name}", item)
            found[column.name] = (column, item)
        return [*found.values()]

    def _column(self, wanted: exp.Identifier) -> Column:
        found = matching(((column.name, column) for column in self._columns), wanted)
        exact = [column for column in found if column.name == wanted.name]
        if len(found) > 1 and len(exact) != 1:
            raise Refused(f"{wanted.name} can mean {' or '.join(sorted(each.name for each in found))}", wanted)
        if not found:
            names = [column.name for column in self._columns]
            raise Refused(
                f"the table has no column {wanted.name}; there are: {', '.join(names[:20])}{near(wanted.name, names)}",
                wanted,
            )
        return (exact or found)[0]

    def _item(self, column: Column, item: exp.Expr) -> _Item:
        if reason := unsupported(column.type):
            raise Refused(f"the column {column.name} is of type {column.type}, and {reason} is not written", item)
        bare = item.this if isinstance(item, exp.Alias) else item
        written = self._texts[id(item)]
        if self._scope.form.is_column(column) or self._scope.is_metadata(self._scope.path_of(bare.unnest())):
            whole = self._whole_metadata(column, bare, written)
            if whole:
                return whole
        value = self._expressions()(self._scope.with_paths(bare.copy()))
        if aggregated(value):
            raise Refused(f"{written} makes one value of many records: a pipe sees a record at a time", bare)
        kind = self._types.of(value)
        if not fitting.takes(column.type, kind):
            raise Refused(
                f"{written} is a {type_shown(kind)}: it does not go to the column {column.name} of type {column.type}",
                bare,
            )
        return _Item(column, written, value, kind, self._types, self._conversion, self._cast_of(bare))

    def _whole_metadata(self, column: Column, bare: exp.Expr, written: str) -> _Item | None:
        """`$1:RECORD_METADATA`, or what it is called, for a column that takes it as the default pipe writes it."""
        if not self._scope.is_metadata(self._scope.path_of(bare.unnest())):
            return None
        if self._scope.form.unsupported(column, self._conversion) is not None:
            return None
        self._scope.inputs.update(self._scope.form.inputs)
        return _Item(column, written, None, None, self._types, self._conversion, None)

    def _cast_of(self, bare: exp.Expr) -> tuple[exp.Expr, str] | None:
        """What an item casts, and the type: what to say of a value of which the cast fails."""
        node = bare.unnest()
        if not isinstance(node, exp.Cast) or isinstance(node, exp.TryCast):
            return None
        inner = self._expressions()(self._scope.with_paths(node.this.copy()))
        return inner, node.args["to"].sql(dialect="snowflake")

    def _absent(self, column: Column) -> PipeItem:
        return PipeItem(column.name, fitting.absent(column, Fitting(column.type, self._conversion)), "")

    def _objects(self, *found: Mapping[Path, frozenset[str]]) -> tuple[ReadObject, ...]:
        """The objects whose keys are read, by any part of the pipe."""
        paths = dict.fromkeys(path for objects in found for path in objects)
        keys = {path: frozenset[str]().union(*(each.get(path, ()) for each in found)) for path in paths}
        whole = () in self._scope.paths.values()
        return tuple((path, None if whole and not path else read) for path, read in keys.items())

    def _where(self) -> tuple[PipeItem | None, str, Mapping[Path, frozenset[str]]]:
        where = self._pipe.query.args.get("where")
        if where is None:
            return None, "", {}
        condition = self._expressions().condition(self._scope.with_paths(where.this.copy()))
        if aggregated(condition):
            raise Refused("WHERE makes one value of many records: a pipe sees a record at a time", where)
        reading = Reading()
        note_paths(condition, self._scope, reading)
        reading.arrange()
        sql = sql_of(condition, self._scope, reading)
        return PipeItem(WHERE, sql, " ".join(self._pipe.condition.split())), reading.source(CHUNK), reading.objects()

    def _expressions(self) -> Expressions:
        return Expressions(self._scope, self._types, _no_subquery, self._growth)

    def _require_all(self, compiled: Mapping[str, _Item]) -> None:
        for column in self._columns:
            if column.required and column.default is None and column.name not in compiled:
                raise Refused(f"the column {column.name} must not be NULL, and the pipe gives it no value")

    def _warn(self) -> None:
        if any(path[:1] == (CONTENT,) for path in self._scope.paths.values()):
            self._warnings.append(
                f"$1:{CONTENT} is NULL unless the records have a key of that name: $1 is the record itself; write $1 "
                "for all of it"
            )


class _Item:
    """An item, compiled, whose paths have no place yet."""

    def __init__(
        self,
        column: Column,
        written: str,
        value: exp.Expr | None,
        kind: exp.DataType | None,
        types: Types,
        conversion: Conversion,
        cast: tuple[exp.Expr, str] | None,
    ) -> None:
        self._column = column
        self._written = written
        self._conversion = conversion
        self._kind = kind
        self._value: exp.Expr | None = None
        self._form = "metadata"
        self._cast = (raw_text(cast[0]) or as_text(types, cast[0]), cast[1]) if cast else None
        if value is not None and kind is not None:
            self._form, self._value = self._formed(value, kind, types)

    def note(self, scope: RecordScope, reading: Reading) -> None:
        """Note which paths the item reads."""
        for node in (self._value, self._cast[0] if self._cast else None):
            if node is not None:
                note_paths(node, scope, reading)

    def as_item(self, scope: RecordScope, reading: Reading) -> PipeItem:
        """The item as SQL."""
        column, conversion = self._column, self._conversion
        if self._value is None:
            sql = form_of(conversion).expression(column)
            return PipeItem(column.name, sql, self._written, required=column.required)
        value = sql_of(self._value, scope, reading)
        source: str | None = None
        if self._form == "text":
            found = fitting.of_text(value, column, conversion)
            source = f"CAST(to_json({value}) AS VARCHAR)"
        elif self._form == "document":
            found = fitting.of_document(value, column, conversion)
            source = f"CAST({value} AS VARCHAR)"
        else:
            assert self._kind is not None  # noqa: S101 (there is a value)
            found = fitting.of_typed(value, self._kind, column, conversion) or ""
        if column.length is not None or not is_path(self._value):
            found = fitting.within_length(found, column)
        target: str | None = None
        if self._cast:
            cast = sql_of(self._cast[0], scope, reading)
            source = f"CAST(to_json({cast}) AS VARCHAR)"
            # Where a length may be what fails, the failure itself says which of the two it was.
            target = self._cast[1] if column.length is None else None
        return PipeItem(column.name, found, self._written, source, target, column.required)

    def _formed(self, value: exp.Expr, kind: exp.DataType, types: Types) -> tuple[str, exp.Expr]:
        """In which form the value goes to its column, and the value in that form."""
        column = self._column
        if types.is_null(value):
            return "document", boxed(types, value)
        if fitting.of_typed("x", kind, column, self._conversion) is not None:
            return "typed", value
        if types.is_variant(value):
            if fitting.reads_text(column.type):
                wants_raw = str(column.type) != "string" and raw_text(value)
                return "text", wants_raw or as_text(types, value)
            return "document", boxed(types, value)
        if fitting.reads_text(column.type) and not types.is_nested(value):
            return "text", as_text(types, value)
        return "document", boxed(types, value)


def _no_subquery(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, Sequence[exp.DataType]]:  # noqa: ARG001 (the protocol's)
    raise Refused("a pipe reads its source only: it has no query within", node)
