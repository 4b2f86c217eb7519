"""Tables in memory that get what real readers give of real shards: a connector over a local stream, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson
from tests.memory.catalog import MemoryCatalog
from tests.memory.table import Files, MemoryFile, MemoryRow, MemoryTable

from frazil.config import ConnectorSettings, load
from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.cycle.job import AccessTo
from frazil.dev.kinesis import LocalKinesis
from frazil.model import Buffer, SourcePartition, Staged, StagedFile, StagedTable, TableName, Task
from frazil.sources import kinds
from frazil.sources.base import ReadFailed
from frazil.sources.kinesis.initial_positions import InitialPosition
from frazil.sources.kinesis.source import KinesisSource, Reading

VALUE = 0
"""The id under which a row has its record's value."""


class StreamStaging:
    """Reads ranges as a task does, and writes a row for each record; see `frazil.cycle.job.Job`."""

    def __init__(self, files: Files, cores: int = 2) -> None:
        self._files = files
        self.cores = cores

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:  # noqa: ARG002 (for Spark's UI)
        """Stage the tasks, one after the other."""
        return [self._staged(task) for group in groups for task in group]

    def discard(self, files: Sequence[tuple[TableName, str]], access: AccessTo) -> None:  # noqa: ARG002 (memory is open)
        """Delete files of stages."""
        for _, path in files:
            self._files.delete(path)

    def _staged(self, task: Task) -> Staged:
        (part,) = task.tables
        reader = kinds.open_reader(task.reader, task.ranges, task.most_bytes)
        try:
            rows = [row for batch in reader.batches() for row in _rows(task, batch.to_pylist())]
        except ReadFailed as error:
            return Staged((), failure=error.failure)
        ranges = tuple(replace(each, inserted=each.parsed) for each in reader.ranges)
        files: tuple[StagedFile, ...] = ()
        if rows:
            path = "00000".join(part.data_path.rsplit("{}", 1))
            self._files.data[path] = MemoryFile(tuple(rows), part.shape.columns)
            files = (StagedFile(path, len(rows), 100 * len(rows)),)
        return Staged(ranges, (StagedTable(part.shape, ranges, files),))


class StreamWorld:
    """One stream and the table that it goes to: what outlives a connector."""

    def __init__(self, local: LocalKinesis, stream: str, initial: InitialPosition | None = None) -> None:
        self.local = local
        self.stream = stream
        self.catalog = MemoryCatalog()
        self._initial = initial or InitialPosition()

    def settings(self, **keys: str) -> ConnectorSettings:
        """The settings of its connector; double underscores in keys stand for dots."""
        given = {
            "name": "shop",
            "connector.class": "frazil.KinesisConnector",
            "frazil.kinesis.streams": self.stream,
            "frazil.kinesis.region": self.local.region,
            "frazil.kinesis.endpoint": self.local.endpoint,
            "frazil.kinesis.access.key.id": "key",
            "frazil.kinesis.secret.access.key": "secret",
        }
        return load({**given, **{key.replace("__", "."): value for key, value in keys.items()}})

    def source(self, settings: ConnectorSettings, **client: str) -> KinesisSource:
        """The stream as a process reads it, which looks as often as it can."""
        options = {**settings.source.client, "poll_interval_ms": "0", **client}
        return KinesisSource(options, Reading((self.stream,), initial=self._initial, discovery=0.0))

    def connector(self, buffer: Buffer | None = None, **keys: str) -> Ingestion:
        """A process that opens the connector; it has read nothing yet."""
        settings = self.settings(**keys)
        staging = StreamStaging(self.catalog.files)
        return Ingestion(settings, self.catalog, self.source(settings), staging, buffer, destinations)

    @property
    def table(self) -> MemoryTable:
        """The table."""
        return self.catalog.tables[TableName(("public",), self.stream.upper())]

    def values(self) -> list[dict[str, object]]:
        """The values of its rows, in the order in which they landed."""
        return [row.values[VALUE] for row in self.table.rows()] if self.catalog.tables else []

    def catch_up(self, connector: Ingestion, most: int = 500) -> None:
        """Run cycles until nothing is left in any shard that is read."""
        for _ in range(most):
            report = connector.cycle()
            if report.idle and connector.resting.keys() == connector.plan.starts.keys():
                return
        raise AssertionError(f"{most} cycles were not enough")


def _rows(task: Task, records: Sequence[dict[str, object]]) -> Iterator[MemoryRow]:
    for each in records:
        partition = SourcePartition(str(each["topic"]), str(each["partition"]))
        value = each["value"]
        assert isinstance(value, bytes)
        yield MemoryRow(task.connector, partition, str(each["offset"]), {VALUE: orjson.loads(value)})
