"""What answers statements: Iceberg plans in the JVM, DuckDB reads."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Final, Self

import duckdb
import pyarrow as pa

from frazil.errors import InvalidQuery
from frazil.model import ChannelStatus
from frazil.queries import definitions, information, listing, locked, pipes
from frazil.queries.answer import Answer
from frazil.queries.failures import FileGone, explained
from frazil.queries.files import Files
from frazil.queries.lake import CatalogLake
from frazil.queries.preparing import SPILL, Preparing
from frazil.queries.spark import NeedsSpark
from frazil.queries.waiting import Cancelling
from frazil.snowflake.compiled import Compiled, ResultColumn
from frazil.snowflake.definitions.values import Definition
from frazil.snowflake.pipes import CreatePipe, DropPipe, PipeStatement
from frazil.snowflake.statements import Describe, Explain, Select, ShowChannels, read
from frazil.staging.scratch import private_directory
from frazil.tables.iceberg.catalog import Catalog

_ROWS: Final = 10_000
"""Rows of a batch."""


class Engine:
    """Answers statements over the tables of a catalog, one at a time."""

    def __init__(
        self,
        catalog: Catalog,
        needs_spark: NeedsSpark | None = None,
        channels: Callable[[], Sequence[ChannelStatus]] | None = None,
    ) -> None:
        """Make one.

        Args:
            catalog: the tables.
            needs_spark: starts Spark for tables that DuckDB does not read exactly; without it they are refused.
            channels: looks at the channels of all connectors; without it SHOW CHANNELS is refused.
        """
        self._channels = channels
        self.lake = CatalogLake(catalog)
        self._scratch = private_directory()
        (self._scratch / SPILL).mkdir()
        self._preparing = Preparing(self.lake, needs_spark, self._scratch)
        self._cancelling = Cancelling()
        self._running: set[duckdb.DuckDBPyConnection] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, text: str) -> Answer:
        """Answer one statement.

        Raises:
            InvalidQuery: it is none, names what does not exist, or a value does not allow what it asks.
            QueryCancelled: `cancel` was called.
            CatalogUnavailable: the catalog did not answer.
            StorageUnavailable: a file cannot be read.
        """
        self._begin()
        statement = read(text)
        if isinstance(statement, Select):
            return self._run(self._cancelling.wait(lambda: statement.compile(self.lake)))
        if isinstance(statement, Explain):
            return self._explain(self._cancelling.wait(lambda: statement.query.compile(self.lake)))
        if isinstance(statement, PipeStatement):
            changes = isinstance(statement, CreatePipe | DropPipe)
            return self._cancelling.wait(lambda: pipes.answer(statement, self.lake), changes=changes)
        if isinstance(statement, Definition):
            return self._cancelling.wait(lambda: definitions.answer(statement, self.lake), changes=True)
        if isinstance(statement, ShowChannels):
            return self._cancelling.wait(lambda: listing.show_channels(statement, self.lake, self._channels))
        if isinstance(statement, Describe):
            return self._cancelling.wait(lambda: listing.describe(statement, self.lake))
        return self._cancelling.wait(lambda: listing.show(statement, self.lake))

    def run(self, compiled: Compiled) -> Answer:
        """Answer a compiled query; raises what `answer` raises."""
        self._begin()
        return self._run(compiled)

    def cancel(self) -> None:
        """End the statement that is being answered, or whose rows are being read; from any thread."""
        self._cancelling.cancel()

    def close(self) -> None:
        """Let go of everything; what is not read of an answer is lost."""
        self.cancel()
        with self._lock:
            running, self._running = self._running, set()
        for connection in running:
            connection.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _begin(self) -> None:
        self._cancelling = Cancelling()
        self.lake.forget()

    def _run(self, compiled: Compiled) -> Answer:
        try:
            return self._read(compiled)
        except FileGone:
            # Somebody has compacted and expired meanwhile: the current snapshot is another one.
            self.lake.forget()
            return self._read(compiled)

    def _read(self, compiled: Compiled) -> Answer:
        cancelling = self._cancelling
        with explained():
            connection, _ = self._preparing.prepare(compiled, cancelling)
        with self._lock:
            self._running.add(connection)
        try:
            with explained():
                _only_selects(connection, compiled.text)
                reader = connection.sql(compiled.text).to_arrow_reader(_ROWS)
                first = next(iter(reader), None)
        except BaseException:
            self._end(connection)
            raise
        schema = _headed(reader.schema, compiled.columns)
        rows = self._rows(connection, first, reader, schema)
        return Answer(compiled.columns, pa.RecordBatchReader.from_batches(schema, rows))

    def _rows(
        self,
        connection: duckdb.DuckDBPyConnection,
        first: pa.RecordBatch | None,
        rest: pa.RecordBatchReader,
        schema: pa.Schema,
    ) -> Iterator[pa.RecordBatch]:
        try:
            if first is not None:
                yield pa.RecordBatch.from_arrays(first.columns, schema=schema)
                first = None
            batches = iter(rest)
            while True:
                with explained():
                    batch = next(batches, None)
                if batch is None:
                    return
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        finally:
            self._end(connection)

    def _explain(self, compiled: Compiled) -> Answer:
        with explained():
            connection, plans = self._preparing.prepare(compiled, self._cancelling)
            try:
                _only_selects(connection, compiled.text)
                rows = connection.execute(f"EXPLAIN {compiled.text}").fetchall()
            finally:
                connection.close()
        return listing.explained(compiled, plans, "\n".join(str(text) for _, text in rows))

    def _end(self, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            self._running.discard(connection)
        connection.close()


def over(rows: pa.Table, compiled: Compiled) -> pa.Table:
    """What a compiled query answers that reads nothing but `rows`, in each of its scans.

    Raises:
        InvalidQuery: a value does not allow what it asks.
    """
    scratch = private_directory()
    try:
        connection = locked.opened(scratch)
        try:
            for scan in compiled.scans:
                information.create(connection, scan, rows)
            locked.lock(connection, Files(connection))
            with explained():
                _only_selects(connection, compiled.text)
                return connection.sql(compiled.text).to_arrow_table()
        finally:
            connection.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _only_selects(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Refuse a text that does anything but read: the planned files may be opened, and must stay as they are."""
    statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InvalidQuery("the query is not one SELECT")


def _headed(schema: pa.Schema, columns: Sequence[ResultColumn]) -> pa.Schema:
    """The schema with heads for names, those that were there before with a number."""
    heads: list[str] = []
    taken = {each.head for each in columns}
    counts: dict[str, int] = {}
    for each in columns:
        head, number = each.head, counts.get(each.head, 1)
        if number > 1:
            while f"{each.head}_{number}" in taken:
                number += 1
            head = f"{each.head}_{number}"
            taken.add(head)
        counts[each.head] = number + 1
        heads.append(head)
    return pa.schema([field.with_name(head) for field, head in zip(schema, heads, strict=True)])
