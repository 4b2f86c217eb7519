"""The default pipe `<TABLE>-STREAMING`: top-level keys to columns by name, optimistically at first, then exactly.

1. Fast validation refuses what the statement might misread: a decoder compiled from the columns.
2. Exact validation looks at each refused row: it is written anew in a form the statement reads exactly, or rejected.
3. What neither the decoder nor the statement sees is looked for in SQL, and goes to exact validation as well.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from frazil.model import MOST_COLUMNS, RESCUED, Column, Conversion, Primitive, SchemaChange, TableRules
from frazil.pipes.base import Chunk
from frazil.pipes.changes import changed, together
from frazil.pipes.default.drift import DriftWatch, Types, growth, growth_by_types
from frazil.pipes.default.exact_validation import ExactValidation, Rewritten
from frazil.pipes.default.fast_validation import FastValidation
from frazil.pipes.default.projection import Projection, Reading
from frazil.pipes.evolution import columns_for, unambiguous
from frazil.records.convert import TYPES, VALUE
from frazil.records.rejects import RejectReason
from frazil.records.schema_types import types_of


class DefaultPipe:
    """See `frazil.pipes.base.Pipe`."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        conversion: Conversion,
        *,
        evolves: bool = False,
        column_budget: int = MOST_COLUMNS,
        rules: TableRules = TableRules(),  # noqa: B008 (frozen)
    ) -> None:
        """Project to a table of these columns.

        Args:
            columns: all of the table's.
            conversion: how values become those of columns.
            evolves: whether new keys may become columns.
            column_budget: how many.
            rules: what becomes of other values that the table has no place for.
        """
        self.columns = columns
        self._conversion = conversion
        self._evolves = evolves
        self._column_budget = column_budget
        self._rules = rules
        self._projection = Projection(
            columns, conversion.normalizes, conversion.metadata_column, conversion.binary == "base64"
        )
        drops = rules.columns == "discard"
        self._fast = FastValidation(self._projection, conversion, keeps_unknown=evolves, drops_unknown=drops)
        self._exact = self._exactly(rules)
        self._diagnosis = self._exactly(replace(rules, types="freeze"))
        self._heeds_types = evolves or rules.types == "evolve"
        self._asks: dict[str, bool] = {}
        """Whether the table has to change for a schema, by what that says of types."""

        self._watches = evolves and not self._projection.payload()
        """Whether so many records are expected to have new keys that all are looked at for these at once."""

        self._rescued_type = Primitive("variant" if conversion.nested_type == "variant" else "string")
        self._is_uniform = True
        """Whether every record so far had every key, once."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The value, what its schema says where that may change the table, and what the metadata is made of."""
        inputs = self._projection.inputs()
        return (*inputs, TYPES) if self._heeds_types else inputs

    def statements(self, chunk: Chunk) -> Iterator[str]:
        """At first one that refuses what most records do not do, if records were like that so far."""
        if not self._validate(chunk):
            return
        was_uniform = self._is_uniform
        if self._is_uniform and self._fast.reading.may_be_strict:
            self._settle(chunk, self._projection.misread(chunk, self._fast.reading, strict=True))
            if chunk.is_outgrown:
                return
            yield self._select(strict=True)
            self._is_uniform = False
        self._settle(chunk, self._projection.misread(chunk, self._fast.reading, strict=False))
        self._settle(chunk, self._projection.duplicated(chunk, self._fast.reading))
        if chunk.is_outgrown:
            return
        yield self._select(strict=False)
        misformed = self._projection.misformed(chunk, self._fast.reading)
        if misformed:
            # That may be all there was against the other statement, too.
            self._is_uniform = was_uniform
            self._fast.look_closely()
            self._settle(chunk, misformed)
            if chunk.is_outgrown:
                return
            yield self._select(strict=False)

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:
        """Why one record does not fit, by exact validation."""
        return self._diagnosis.diagnose(record[VALUE])

    def _select(self, *, strict: bool) -> str:
        return self._projection.select(self._fast.reading, self._exact.defaults, strict=strict)

    def _exactly(self, rules: TableRules) -> ExactValidation:
        return ExactValidation(self._projection, self._conversion, keeps_unknown=self._evolves, rules=rules)

    def _validate(self, chunk: Chunk) -> bool:
        """Settle what fast validation refuses, unless the table has to change first; whether it has not."""
        refused: Iterable[int] = range(chunk.count)
        asking = {text for text in chunk.types() if self._is_asking(text)}
        if not (self._watches or asking):
            self._fast.has_new_keys = False
            refused = self._fast.refused(chunk.texts(), chunk.dropped)
        if self._watches or asking or self._fast.has_new_keys:
            if self._fast.has_untyped_keys:
                refused = range(chunk.count)
                chunk.dropped.clear()
            refused = self._watch(chunk, {*refused}, asking)
        if not chunk.drift:
            self._settle(chunk, refused, refused=True)
        return not chunk.is_outgrown

    def _is_asking(self, text: str) -> bool:
        """Whether the table has to change for records of a schema: it has a key without a column, or a wider type."""
        if text not in self._asks:
            types = types_of(text)
            self._asks[text] = (self._evolves and not all(map(self._projection.is_settled, types))) or (
                self._growth_by(types) != SchemaChange()
            )
        return self._asks[text]

    def _growth_by(self, types: Types) -> SchemaChange:
        return growth_by_types(types, self._projection, self._conversion, self._rules, grows=self._evolves)

    def _watch(self, chunk: Chunk, rows: Container[int], asking: Container[str]) -> list[int]:
        """Look at some rows for new keys, in the order of their records; which are left for exact validation.

        Of each schema in `asking` the first record that lands says what its keys are; its values do not matter.
        """
        texts = [*chunk.texts()]
        watch = DriftWatch(
            self._projection,
            self._conversion,
            self._column_budget,
            chunk.ordered_place,
            lambda row: self._types_of(chunk, row),
            rules=self._rules,
            evolves=self._evolves,
        )
        schemas = chunk.rows_of(asking) if asking else {}
        order = [row for row in chunk.in_order() if row in rows]
        typed = [row for row in order if row in schemas]
        left = self._refused([row for row in order if row not in schemas], texts, chunk, watch)
        if typed:
            # After the others: what the decoder takes for values of a schema may be news where there is none.
            watch.look_at_schemas((row, schemas[row], texts[row]) for row in typed)
            left = sorted(left + self._refused(typed, texts, chunk, watch))
        chunk.drift, chunk.change = watch.drift, together([chunk.change, watch.change])
        self._watches = bool(chunk.drift)
        if chunk.drift:
            if watch.found.is_exceeded:
                self._note_rescue(chunk)
            self._note_changes(chunk, left)
        else:
            chunk.reject(watch.rejected)
        return left

    def _refused(
        self, rows: Sequence[int], texts: Sequence[bytes | None], chunk: Chunk, watch: DriftWatch
    ) -> list[int]:
        """Those of some rows that fast validation refuses while new keys are watched, without what is rejected."""
        watch.rows = rows
        refused = self._fast.refused((texts[row] for row in rows), chunk.dropped, watch)
        return [row for number in refused if (row := rows[number]) not in watch.rejected]

    def _types_of(self, chunk: Chunk, row: int) -> Types:
        text = chunk.types_of(row) if self._heeds_types else None
        return {} if text is None else types_of(text)

    def _settle(self, chunk: Chunk, rows: Iterable[int], *, refused: bool = False) -> None:
        """Have exact validation decide about rows, whether fast validation has `refused` them or not."""
        unfit: dict[int, RejectReason] = {}
        rewritten: dict[int, str | None] = {}
        left = chunk.select(rows)
        for number, (row, text) in enumerate(left):
            if not refused and text is not None:
                chunk.dropped.subtract(self._fast.counted(text))
            found = self._settled(chunk, row, text)
            if isinstance(found, RejectReason):
                unfit[row] = found
            else:
                rewritten[row] = found.text
                chunk.dropped.update(found.dropped)
            if chunk.is_outgrown:
                self._note_changes(chunk, (other for other, _ in left[number + 1 :]))
                return
        chunk.rewrite(rewritten)
        chunk.reject(unfit)

    def _settled(self, chunk: Chunk, row: int, text: str | None) -> Rewritten | RejectReason:
        """What exact validation says of a row; what the table has to become for it is noted."""
        place = chunk.position(row)
        found = self._exact.validate(text, self._fast.reading, place)
        if isinstance(found, Rewritten) and found.rescued and self._fast.learn_rescued():
            found = self._exact.validate(text, self._fast.reading, place)
        self._note_change(chunk, found, row, text)
        return found

    def _note_changes(self, chunk: Chunk, rows: Iterable[int]) -> None:
        """Note what more the table has to become for other rows of a chunk that is staged again anyway."""
        exact = self._evolved(chunk)
        for row, text in chunk.select(rows):
            before = chunk.change
            self._note_change(chunk, exact.validate(text, Reading(), chunk.position(row)), row, text)
            if chunk.change != before:
                exact = self._evolved(chunk)
        chunk.dropped.clear()

    def _evolved(self, chunk: Chunk) -> ExactValidation:
        """Exact validation for the table as it will be after what a chunk has asked for."""
        kinds = columns_for(chunk.drift, self._conversion.nested_type, self._projection.name_for)
        new = {**unambiguous(kinds, self.columns), **chunk.change.add}
        return self._after(replace(chunk.change, add=new))

    def _after(self, change: SchemaChange) -> ExactValidation:
        grown = replace(self._projection, columns=changed(self.columns, change))
        return ExactValidation(grown, self._conversion, keeps_unknown=self._evolves, rules=self._rules)

    def _note_change(self, chunk: Chunk, found: Rewritten | RejectReason, row: int, text: str | None) -> None:
        """Note what the table has to become for a record, by what exact validation says of it."""
        if isinstance(found, RejectReason) or (self._evolves and found.strays):
            types = self._types_of(chunk, row)
            asked = growth(text, types, self._projection, self._conversion, self._rules, grows=self._evolves)
            if asked != SchemaChange() and self._after(asked).diagnose(text) is None:
                chunk.change = together([chunk.change, asked])
                return
        if isinstance(found, Rewritten) and found.rescued:
            self._note_rescue(chunk)

    def _note_rescue(self, chunk: Chunk) -> None:
        if self._projection.rescued is None and self._rules.rescues and self._rules.may_change:
            chunk.change = together([chunk.change, SchemaChange(add={RESCUED: self._rescued_type})])
