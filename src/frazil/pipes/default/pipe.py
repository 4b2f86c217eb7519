"""The default pipe `<TABLE>-STREAMING`: top-level keys to columns by name, optimistically at first, then exactly.

1. Fast validation refuses what the statement might misread: a decoder compiled from the columns.
2. Exact validation looks at each refused row: it is written anew in a form the statement reads exactly, or rejected.
3. What neither the decoder nor the statement sees is looked for in SQL, and goes to exact validation as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frazil.model import MOST_COLUMNS, Column, Conversion
from frazil.pipes.base import Chunk
from frazil.pipes.default.drift import DriftWatch, members
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.fast_validation import FastValidation
from frazil.pipes.default.projection import Projection
from frazil.records.convert import VALUE
from frazil.records.rejects import RejectReason


class DefaultPipe:
    """See `frazil.pipes.base.Pipe`."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        conversion: Conversion,
        *,
        evolves: bool = False,
        column_budget: int = MOST_COLUMNS,
    ) -> None:
        """Project to a table of these columns; if it `evolves`, new keys may become up to `column_budget` columns."""
        self.columns = columns
        self._conversion = conversion
        self._evolves = evolves
        self._column_budget = column_budget
        self._projection = Projection(columns, conversion.normalizes)
        self._fast = FastValidation(self._projection, conversion, keeps_unknown=evolves)
        self._exact = ExactValidation(self._projection, conversion, keeps_unknown=evolves)
        self._is_uniform = True
        """Whether every record so far had every key, once."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The value, and what RECORD_METADATA is made of."""
        return self._projection.inputs()

    def statements(self, chunk: Chunk) -> Iterator[str]:
        """At first one that refuses what most records do not do, if records were like that so far."""
        if not self._validate(chunk):
            return
        was_uniform = self._is_uniform
        if self._is_uniform and self._fast.reading.may_be_strict:
            self._settle(chunk, self._projection.misread(chunk, self._fast.reading, strict=True))
            yield self._select(strict=True)
            self._is_uniform = False
        self._settle(chunk, self._projection.misread(chunk, self._fast.reading, strict=False))
        self._settle(chunk, self._projection.duplicated(chunk, self._fast.reading))
        yield self._select(strict=False)
        misformed = self._projection.misformed(chunk, self._fast.reading)
        if misformed:
            # That may be all there was against the other statement, too.
            self._is_uniform = was_uniform
            self._fast.look_closely()
            self._settle(chunk, misformed)
            yield self._select(strict=False)

    def diagnose(self, record: Mapping[str, Any]) -> RejectReason | None:
        """Why one record does not fit, by exact validation."""
        return self._exact.diagnose(record[VALUE])

    def _select(self, *, strict: bool) -> str:
        return self._projection.select(self._fast.reading, self._exact.defaults, strict=strict)

    def _validate(self, chunk: Chunk) -> bool:
        """Settle what fast validation refuses, unless there is drift: the table has to get columns first."""
        if not self._evolves:
            self._settle(chunk, self._fast.refused(chunk.texts(), chunk.dropped), refused=True)
            return True
        order, texts = chunk.in_order(), [*chunk.texts()]
        watch = DriftWatch(
            self._projection, self._conversion, self._column_budget, lambda row: chunk.position(order[row])
        )
        refused = self._fast.refused((texts[row] for row in order), chunk.dropped, watch)
        if watch.found:
            chunk.drift = watch.found
            chunk.dropped.clear()
            return False
        chunk.reject({order[row]: reason for row, reason in watch.rejected.items()})
        self._settle(chunk, (order[row] for row in refused if row not in watch.rejected), refused=True)
        return True

    def _settle(self, chunk: Chunk, rows: Iterable[int], *, refused: bool = False) -> None:
        """Have exact validation decide about rows, whether fast validation has `refused` them or not."""
        unfit: dict[int, RejectReason] = {}
        rewritten: dict[int, str | None] = {}
        for row, text in chunk.select(rows):
            if not refused and text is not None:
                # Those that were accepted were counted.
                chunk.dropped.subtract(key for key in members(text) if self._projection.column_for(key) is None)
            found = self._exact.validate(text, self._fast.reading)
            if isinstance(found, RejectReason):
                unfit[row] = found
            else:
                rewritten[row] = found.text
                chunk.dropped.update(found.dropped)
        chunk.rewrite(rewritten)
        chunk.reject(unfit)
