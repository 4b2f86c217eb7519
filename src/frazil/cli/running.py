"""A statement that runs while somebody may press Ctrl-C, which ends the statement and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Final, Protocol, Self

import pyarrow as pa
from rich.console import Console

from frazil.queries.answer import Answer
from frazil.snowflake.compiled import ResultColumn

_AHEAD: Final = 2
"""Batches that are read before they are wanted."""

_LOOK_EVERY: Final = 0.5
"""Seconds between two looks at how far a statement is."""

_GRACE: Final = 5.0
"""Seconds that a statement may take to notice that it was cancelled."""


class Answers(Protocol):
    """What answers statements: `frazil.queries.engine.Engine`."""

    def answer(self, text: str) -> Answer:
        """The answer to one statement.

        Raises:
            InvalidQuery: it cannot be answered.
        """

    def cancel(self) -> None:
        """End the statement that runs; from another thread."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """An answer whose rows are on their way."""

    columns: tuple[ResultColumn, ...]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    """The rows, once; meanwhile it is said how long they have been waited for."""


@contextmanager
def running(engine: Answers, statement: str, console: Console, *, said_throughout: bool) -> Iterator[Arriving]:
    """Run a statement; with the block it has ended, one way or the other.

    It runs in a thread of its own, since a signal is not looked at within DuckDB, nor while the JVM is waited for.

    Args:
        engine: what answers.
        statement: its text.
        console: where it is said how long it takes.
        said_throughout: whether that is said also once rows have come; a terminal on which they are printed has no
            place for it.
    """
    reading = _Reading(engine, statement)
    try:
        reading.start()
        with _Waiting(console) as waiting:
            answer = reading.answer(waiting)
            batches = reading.batches(waiting, said_throughout=said_throughout)
            yield Arriving(answer.columns, answer.batches.schema, batches)
    finally:
        reading.end()


class _Waiting:
    """Says how long something takes and how many rows have come, for people at a terminal."""

    def __init__(self, console: Console) -> None:
        self.rows = 0
        self._began = time.monotonic()
        self._status = console.status("Running the query …")

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def look(self) -> None:
        """Say it now."""
        rows = f", {self.rows:,} rows" if self.rows else ""
        self._status.update(f"Running the query … {time.monotonic() - self._began:.0f} s{rows}")

    def stop(self) -> None:
        """Say no more."""
        self._status.stop()


class _Reading(threading.Thread):
    """Reads an answer, a few batches ahead of who wants them."""

    def __init__(self, engine: Answers, statement: str) -> None:
        super().__init__(name="frazil-query", daemon=True)
        self._engine = engine
        self._statement = statement
        self._queue: Queue[Answer | pa.RecordBatch | BaseException | None] = Queue(_AHEAD)
        self._ended = threading.Event()
        self._done = threading.Event()

    def run(self) -> None:
        try:
            answer = self._engine.answer(self._statement)
            self._put(answer)
            for batch in answer.batches:
                self._put(batch)
                if self._ended.is_set():
                    return
            self._put(None)
        except BaseException as error:  # noqa: BLE001 (it is raised where the answer is wanted)
            self._put(error)
        finally:
            self._done.set()

    def answer(self, waiting: _Waiting) -> Answer:
        """The answer, once its first rows are under way."""
        found = self._next(waiting)
        assert isinstance(found, Answer)  # noqa: S101 (it comes first)
        return found

    def batches(self, waiting: _Waiting, *, said_throughout: bool) -> Iterator[pa.RecordBatch]:
        """Its rows."""
        while True:
            found = self._next(waiting)
            if not said_throughout:
                waiting.stop()
            if not isinstance(found, pa.RecordBatch):
                return
            waiting.rows += found.num_rows
            yield found

    def end(self) -> None:
        """Have no more read."""
        self._ended.set()
        if not self._done.is_set():
            self._engine.cancel()
            # It may still be about to begin, so it cannot be joined.
            self._done.wait(_GRACE)

    def _next(self, waiting: _Waiting) -> Answer | pa.RecordBatch | None:
        while True:
            try:
                found = self._queue.get(timeout=_LOOK_EVERY)
            except Empty:
                waiting.look()
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def _put(self, found: Answer | pa.RecordBatch | BaseException | None) -> None:
        while not self._ended.is_set():
            try:
                self._queue.put(found, timeout=_LOOK_EVERY)
            except Full:
                continue
            return
