"""`$1` in the expressions of a pipe: each constant path of it is a column of its own while they are compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from frazil.pipes.metadata_form import MetadataForm
from frazil.pipes.record_metadata import RECORD as RECORD_FORM
from frazil.pipes.sql.reading import Path, Reading
from frazil.records.convert import VALUE
from frazil.snowflake.building import call, cast, name, text, typed
from frazil.snowflake.functions import NAMED, VOLATILE
from frazil.snowflake.kinds import BIGINT, INTEGER, JSON, TEXT
from frazil.snowflake.paths import steps
from frazil.snowflake.pipes import RECORD
from frazil.snowflake.places import Refused, near, place
from frazil.snowflake.reading import shown
from frazil.snowflake.rendering import rendered
from frazil.snowflake.scope import Field, Scope
from frazil.snowflake.typed import Types
from frazil.sql import ident

CONTENT: Final = "RECORD_CONTENT"

_WHOLE_METADATA: Final = "metadata"
_TIMESTAMP: Final = "timestamp"
"""What $1:RECORD_METADATA has besides its fields: the time of the record, whichever of the two it is."""

_TYPES: Final = {"string": TEXT, "int": INTEGER, "long": BIGINT, "timestamptz": BIGINT}
"""The types of fields of the metadata: times are numbers."""

_LAST: Final = 2**31 - 1
"""The largest index of an array that a path may have."""

RAW: Final = "raw"
"""What is asked for besides a path where its numbers are to stay as they were written."""


@dataclass(slots=True)
class RecordScope(Scope):
    """The one name that a pipe can use, and the aliases of its items."""

    called: str = ""
    """The source's alias."""

    paths: dict[str, Path] = field(default_factory=dict)
    """The paths that are used, by what they are called in SQL for now."""

    inputs: set[str] = field(default_factory=set)
    """Columns of converted records that are read."""

    columns: dict[str, str] = field(default_factory=dict)
    """SQL over them that is computed once, by name."""

    volatile: dict[str, str] = field(default_factory=dict)
    """Columns to compute once for a chunk, since their SQL gives another value each time, by name."""

    form: MetadataForm = RECORD_FORM
    """What the metadata is called, and of what it is."""

    _fields: dict[str, Field] = field(default_factory=dict)

    def with_paths(self, tree: exp.Expr) -> exp.Expr:
        """The expression with a name in place of each constant path of `$1`, and of each volatile function."""
        return tree.transform(self._named)

    def own(self, node: exp.Column) -> tuple[Field, list[exp.Identifier]] | None:
        """What a name means that `with_paths` has put there."""
        found = self._fields.get(node.name) if len(node.parts) == 1 else None
        return (found, []) if found else None

    def unknown(self, node: exp.Column) -> Refused:
        """That there is no such name: keys are written as paths."""
        aliases = [alias for each in self.aliases.values() for alias, _ in each]
        written = shown(node)
        return Refused(
            f"there is no column {written}: keys of the record are $1:{written}{near(written, aliases)}", node
        )

    def is_metadata(self, path: Path | None) -> bool:
        """Whether a path leads to the metadata as a whole."""
        return path is not None and len(path) == 1 and self._is_metadata_key(path[0])

    def _is_metadata_key(self, step: str | int) -> bool:
        return step in (self.form.column, self.form.column.upper())

    def _named(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.upper() in VOLATILE and not node.expressions:
            return self._drawn(node)
        path = self.path_of(node)
        if path is None:
            return node
        called = written_path(path)
        while called in self._fields and self.paths.get(called) != path:
            called += "\N{WORD JOINER}"
        if called not in self._fields:
            self._fields[called] = self._field(called, path, node)
            self.paths[called] = path
        identifier = exp.to_identifier(called, quoted=False)
        if found := place(node):
            identifier.meta.update(start=found[0], end=found[1])
        return exp.Column(this=identifier)

    def _drawn(self, node: exp.Anonymous) -> exp.Expr:
        """A name for what a volatile function gives at one place of the statement, also where an alias repeats it."""
        called = f"drawn {place(node)}"
        if called not in self._fields:
            self.volatile[called] = "CAST(uuid() AS VARCHAR)"
            value = NAMED[node.name.upper()](node, Types(is_strict=True))
            column = exp.Column(this=name(called))
            drawn = value.transform(lambda each: column.copy() if _is_call(each, "uuid") else each)
            self._fields[called] = Field(called, drawn, value.type or TEXT)
        return exp.Column(this=exp.to_identifier(called, quoted=False))

    def path_of(self, node: exp.Expr) -> Path | None:
        """The path from `$1` that an expression is, if it is one with constant steps."""
        match node:
            case exp.Column():
                return () if self._is_record(node) else None
            case exp.JSONExtract():
                return self._joined(node.this, steps(node.expression))
            case exp.Bracket() if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Literal):
                step = node.expressions[0]
                if step.is_string:
                    return self._joined(node.this, [step.name])
                return self._joined(node.this, [int(step.name)]) if step.name.isdecimal() else None
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return self._joined(node.this, [node.expression.name])
            case _:
                return None

    def _joined(self, start: exp.Expr, way: Sequence[object]) -> Path | None:
        before = self.path_of(start)
        if before is None or any(isinstance(each, int) and each < 0 for each in way):
            return None
        if any(isinstance(each, int) and each > _LAST for each in way):
            raise Refused(f"an array has no element beyond {_LAST}", start)
        if "" in way:
            raise Refused("a key without a name cannot be read", start)
        return (*before, *(each for each in way if isinstance(each, str | int)))

    def _is_record(self, node: exp.Column) -> bool:
        if not isinstance(node.this, exp.Identifier) or node.this.name != RECORD or node.this.args.get("quoted"):
            return False
        table = node.args.get("table")
        return table is None or (bool(self.called) and table.name.lower() == self.called.lower())

    def _field(self, called: str, path: Path, node: exp.Expr) -> Field:
        if path and self._is_metadata_key(path[0]):
            return self._of_metadata(called, path[1:], node)
        self.inputs.add(VALUE)
        if not path:
            return Field(called, cast(exp.Column(this=name(VALUE)), JSON), JSON)
        start = exp.Column(this=name(RECORD))
        return Field(called, call("json_extract", start, text(called), kind=JSON), JSON)

    def _of_metadata(self, called: str, path: Path, node: exp.Expr) -> Field:
        """A field of the metadata, with the type it has, or the metadata as a document."""
        if not path:
            self.inputs.update(self.form.inputs)
            document = f"CASE WHEN {self.form.anything()} THEN CAST({self.form.document()} AS JSON) END"
            return Field(called, self._computed(_WHOLE_METADATA, document), JSON)
        first, rest = path[0], path[1:]
        known = dict(self.form.fields)
        has_time = {"CreateTime", "LogAppendTime"} <= known.keys()
        if has_time and first == _TIMESTAMP and not rest:
            self.inputs.update(("CreateTime", "LogAppendTime"))
            either = call(
                "coalesce", exp.Column(this=name("CreateTime")), exp.Column(this=name("LogAppendTime")), kind=BIGINT
            )
            return Field(called, either, BIGINT)
        if first not in known:
            names = [*known, _TIMESTAMP] if has_time else [*known]
            reason = f"{self.form.column} has no field {first}; there are: {', '.join(names)}{near(str(first), names)}"
            raise Refused(reason, node)
        field_ = str(first)
        own = self.form.field_document(field_)
        if own is None:
            if rest:
                raise Refused(f"{self.form.column}.{field_} has nothing inside", node)
            self.inputs.add(field_)
            kind = _TYPES[known[field_]]
            return Field(called, typed(exp.Column(this=name(field_)), kind), kind)
        self.inputs.update(self.form.inputs)
        document = f"CASE WHEN {ident(field_)} IS NOT NULL THEN CAST({own} AS JSON) END"
        value = self._computed(f"{_WHOLE_METADATA} {field_}", document)
        for each in rest:
            pointer = text(f"$[{each}]" if isinstance(each, int) else "/" + each.replace("~", "~0").replace("/", "~1"))
            value = call("json_extract", value, pointer, kind=JSON)
        return Field(called, value, JSON)

    def _computed(self, called: str, sql: str) -> exp.Expr:
        self.columns[called] = sql
        return typed(exp.Column(this=name(called)), JSON)


def written_path(path: Path) -> str:
    """A path as its user may have written it."""
    found = RECORD
    for place_, step in enumerate(path):
        if isinstance(step, int):
            found += f"[{step}]"
        elif not _PLAIN_KEY.fullmatch(step):
            found += f"['{step}']"
        else:
            found += f".{step}" if place_ and ":" in found else f":{step}"
    return found


_PLAIN_KEY: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def note_paths(node: exp.Expr, scope: RecordScope, reading: Reading) -> None:
    """Note in which forms compiled SQL wants the paths of `$1`."""
    for each in node.find_all(exp.Anonymous):
        if (path := _path(each, scope)) is None:
            continue
        if each.this == "json_extract":
            reading.documents.add(path)
            if not _stands_alone(each):
                reading.computed.add(path)
        elif _is_raw(each):
            reading.raw.add(path)
        else:
            reading.texts.add(path)
    for column in node.find_all(exp.Column):
        if column.name in scope.columns:
            reading.columns[column.name] = scope.columns[column.name]


def sql_of(node: exp.Expr, scope: RecordScope, reading: Reading) -> str:
    """Compiled SQL as text, with the paths of `$1` where `reading` has put them."""

    def put(each: exp.Expr) -> exp.Expr:
        if _is_call(each, "now"):
            scope.volatile["now"] = "now()"
            return exp.Column(this=name("now"))
        path = _path(each, scope)
        if path is None or not isinstance(each, exp.Anonymous):
            return each
        if each.this == "json_extract":
            return reading.document(path) if _stands_alone(each) else reading.computed_document(path)
        return reading.raw_text(path) if _is_raw(each) else reading.text(path)

    return rendered(node.copy().transform(put))


def _is_call(node: exp.Expr, function: str) -> bool:
    """Whether an expression calls a function of DuckDB's that takes no argument."""
    return isinstance(node, exp.Anonymous) and node.this == function and not node.expressions


def _stands_alone(node: exp.Expr) -> bool:
    """Whether an expression is no more than this part of it, as a document."""
    above = node.parent
    while isinstance(above, exp.Paren) or (isinstance(above, exp.Cast) and above.to.this in _DOCUMENTS):
        above = above.parent
    return above is None


_DOCUMENTS: Final = frozenset({exp.DType.JSON, exp.DType.VARIANT})


def raw_text(node: exp.Expr) -> exp.Expr | None:
    """The text of a path with numbers as they were written; None if the node is no path."""
    if isinstance(node, exp.Anonymous) and node.this == "json_extract" and _starts_at_record(node):
        return call("json_extract_string", *(each.copy() for each in node.expressions), text(RAW), kind=TEXT)
    return None


def is_path(node: exp.Expr) -> bool:
    """Whether an expression is a path, as a text or a document: its value is no longer than its record."""
    bare = node.unnest()
    while isinstance(bare, exp.Cast):
        bare = bare.this.unnest()
    return isinstance(bare, exp.Anonymous) and bare.this in _READERS and _starts_at_record(bare)


_READERS: Final = frozenset({"json_extract", "json_extract_string"})


def _starts_at_record(node: exp.Anonymous) -> bool:
    first = node.expressions[0] if node.expressions else None
    return isinstance(first, exp.Column) and first.name == RECORD


def _path(node: exp.Expr, scope: RecordScope) -> Path | None:
    if not (isinstance(node, exp.Anonymous) and node.this in ("json_extract", "json_extract_string")):
        return None
    return scope.paths[node.expressions[1].name] if _starts_at_record(node) else None


def _is_raw(node: exp.Anonymous) -> bool:
    """Whether the text goes into a number, of which any way to write it is read."""
    if len(node.expressions) > 2:
        return True
    parent = node.parent
    return isinstance(parent, exp.Cast) and parent.this is node and parent.to.this in _NUMBERS


_NUMBERS: Final = frozenset({exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.BIGINT, exp.DType.INT})
