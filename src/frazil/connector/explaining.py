"""What a pipe does, in words and in SQL, and what it would make of records: nothing is written anywhere."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from frazil.config import ConnectorSettings, load
from frazil.connector.newest import last_records
from frazil.connector.registry import Registry
from frazil.connector.token_scan import ConnectorTokens, connector_tokens, tables_of
from frazil.connector.trying import Trial, Trying, batch_of, lines_of
from frazil.cycle.pipes import compiled, stored_pipes
from frazil.errors import ExplainRefused, InvalidConfiguration, InvalidQuery, PipeBroken
from frazil.model import Column, Conversion, PipeSpec
from frazil.pipes.choice import pipe_of
from frazil.pipes.naming import default_pipe
from frazil.pipes.stored import StoredPipe
from frazil.sources import kinds
from frazil.sources.base import Source
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.iceberg.table import Table


@dataclass(frozen=True, slots=True)
class ExplainedColumn:
    """What goes to one column."""

    name: str
    type: str
    takes: str | None
    """The item of the pipe as its user wrote it, or the record's key; None for a column that gets nothing."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A pipe, and what it would make of some records."""

    pipe: str
    table: str
    sql: str | None
    """The CREATE PIPE; None for a default pipe."""

    columns: tuple[ExplainedColumn, ...]
    condition: str | None
    """WHERE, as it was written."""

    statement: str
    """The SELECT that DuckDB runs over a chunk of records."""

    warnings: tuple[str, ...]
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A pipe of a table."""

    name: str
    table: Table
    stored: StoredPipe | None
    """As the table keeps it; None for its default pipe."""

    @property
    def sql(self) -> str | None:
        """The CREATE PIPE; None for a default pipe."""
        return self.stored.sql if self.stored else None


class Explainer:
    """Explains the pipes of one catalog, with what a home knows of connectors."""

    def __init__(self, catalog: Catalog, registry: Registry) -> None:
        """Look nothing up yet."""
        self._catalog = catalog
        self._registry = registry

    def of_file(self, name: str, sample: Path) -> Explanation:
        """A pipe, or the pipe of a table, and what it makes of the lines of a file, each a record's value.

        Raises:
            ExplainRefused: nothing is called that, or several are.
            PipeBroken: the pipe does not go with its table.
            InvalidConfiguration: the file cannot be read.
            CatalogUnavailable: the catalog did not answer.
        """
        found = self._found(name)
        topics = self._topics(found)
        settings = next(iter(self._settings(topics).values()), None)
        topic = next((topic for held in topics.values() for topic in held), found.table.name.name.lower())
        try:
            records = [*lines_of(sample, topic)]
        except OSError as error:
            reason = f"{sample} cannot be read: {error.strerror or error}"
            raise InvalidConfiguration.single("the command line", "--sample", reason) from error
        return _explained(found, settings.conversion if settings else Conversion(), topic, records)

    def of_last_records(self, name: str, count: int) -> Explanation:
        """The same with the last records of the topics that come through the pipe, as many of each partition.

        Raises:
            ExplainRefused: no connector is known here whose records come through it; or as for `of_file`.
            BrokerUnavailable, BrokerRefused, StreamUnavailable, StreamRefused: the records cannot be had.
        """
        found = self._found(name)
        topics = self._topics(found)
        settings = self._settings(topics)
        if not settings:
            raise ExplainRefused(
                f"no connector that ran from this home brings records through the pipe {found.name}",
                "Give records in a file, a JSON document a line: --sample FILE.",
            )
        (connector, chosen), *_ = settings.items()
        wanted = sorted(topics[connector])
        with _observed(chosen, wanted) as source:
            records = [*last_records(source, wanted, count, chosen.source.address)]
        return _explained(found, chosen.conversion, wanted[0], records)

    def _found(self, name: str) -> _Found:
        *namespace, last = name.split(".")
        within = self._catalog.namespace(".".join(namespace)) if namespace else None
        tables = [each for each in tables_of(self._catalog) if within is None or each.name.namespace == within]
        known = [pipe for table in tables for pipe in _pipes_of(table)]
        for same in (operator.eq, _equal_ignoring_case):
            # A table's own is what topics find by its name: the pipe of that name, or else the default pipe.
            of_tables = [each for each in known if each.sql is None and same(each.table.name.name, last)]
            meant = [each for each in known if same(each.name, last)] or of_tables
            if len(meant) > 1:
                tables_there = ", ".join(str(each.table.name) for each in meant)
                raise ExplainRefused(f"{name} may be that of {tables_there}", "Write the namespace before it.")
            if meant:
                return meant[0]
        there_are = ", ".join(sorted({each.name for each in known})[:20]) or "none"
        raise ExplainRefused(f"there is no pipe or table {name}", f"The pipes there are: {there_are}.")

    def _topics(self, found: _Found) -> dict[str, set[str]]:
        """The topics whose records come through a pipe, by connector."""
        topics: dict[str, set[str]] = {}
        known = self._registry.connectors()
        for held in connector_tokens(self._catalog):
            if held.table.name == found.table.name:
                registered = known.get(held.connector)
                mine = {topic for topic in _topics_of(held) if held.pipe_of(topic, registered) == found.name}
                if mine:
                    topics[held.connector] = mine
        return topics

    def _settings(self, connectors: Collection[str]) -> dict[str, ConnectorSettings]:
        """The settings of those connectors whose files can still be read, by key."""
        found = {}
        for key, known in self._registry.connectors().items():
            if key in connectors and known.connector is not None:
                try:
                    found[key] = load(Path(known.connector), Path(known.worker) if known.worker else None)
                except InvalidConfiguration:
                    continue
        return found


def _explained(found: _Found, conversion: Conversion, topic: str, records: Sequence[pa.RecordBatch]) -> Explanation:
    # Keys that would become columns are shown as keys without one.
    shape = replace(found.table.shape(), evolves=False)
    spec = _compiled(found, shape.columns, conversion)
    pipe = pipe_of(shape, spec, conversion)
    with Trying(pipe, conversion, topic, shape.layout) as trying:
        trials = tuple(trying.each(records))
        statement = trying.statement
        if statement is None:
            # An empty document has the pipe give its statement.
            [*trying.each([batch_of([b"{}"], topic)])]
            statement = trying.statement
    return Explanation(
        found.name,
        str(found.table.name),
        found.sql,
        tuple(_column(column, spec) for column in shape.columns),
        spec.condition.text if spec and spec.condition else None,
        statement or "",
        spec.warnings if spec else (),
        trials,
    )


def _compiled(found: _Found, columns: tuple[Column, ...], conversion: Conversion) -> PipeSpec | None:
    if found.stored is None:
        return None
    try:
        return compiled(found.stored, columns, conversion)
    except InvalidQuery as error:
        raise PipeBroken(found.name, str(found.table.name), error.message) from error


def _column(column: Column, spec: PipeSpec | None) -> ExplainedColumn:
    if spec is None:
        return ExplainedColumn(column.name, str(column.type), column.name)
    item = next(each for each in spec.items if each.column == column.name)
    return ExplainedColumn(column.name, str(column.type), item.text or None)


def _pipes_of(table: Table) -> Iterator[_Found]:
    """The users' pipes of a table, and its default pipe."""
    for name, stored in stored_pipes(table.state()).items():
        yield _Found(name, table, stored)
    yield _Found(default_pipe(table.name.name), table, None)


def _equal_ignoring_case(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _topics_of(held: ConnectorTokens) -> set[str]:
    return {partition.topic for partition, _ in held.tokens.channels()}


@contextmanager
def _observed(settings: ConnectorSettings, topics: Collection[str]) -> Iterator[Source]:
    source = kinds.observe(settings.source.kind, settings.source.client, topics)
    try:
        yield source
    finally:
        source.close()
