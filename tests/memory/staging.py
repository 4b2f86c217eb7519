"""Staging in memory: what a Spark job does with tasks, without Spark, Kafka and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
from tests.memory.source import MemoryCluster, MemoryRecord
from tests.memory.table import Files, MemoryFile, MemoryRow

from frazil.cycle.job import AccessTo
from frazil.errors import BrokerUnavailable, DataLoss, InvalidRecord, StorageUnavailable
from frazil.model import (
    Range,
    Reject,
    RejectKind,
    RejectSummary,
    SourcePartition,
    Staged,
    StagedFile,
    StagedRange,
    StageFailure,
    TableName,
    Task,
)
from frazil.pipes.default.drift import seen_in
from frazil.pipes.naming import folded
from frazil.records.new_keys import NewKeys

_REASON = "the value is no JSON object"


class _Failed(Exception):
    """A task fails; carries the failure as the value the driver gets."""

    def __init__(self, failure: StageFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class MemoryStaging:
    """Stages tasks from a cluster in memory to files in memory; see `frazil.cycle.job.Job`.

    Keys become columns by name, whatever their values are. Rejects are the records whose value is no JSON object.
    """

    def __init__(self, cluster: MemoryCluster, files: Files, cores: int = 2) -> None:
        self._cluster = cluster
        self._files = files
        self.cores = cores
        """How many tasks a plan is spread over at most."""

        self._records = 0
        self._bytes = 0

    def prepare(self) -> None:
        """Nothing has to be made ready."""

    def cancel(self) -> None:
        """Nothing takes long enough to be cancelled."""

    def staged(self) -> tuple[int, int]:
        """Records, and the bytes they claim to have, staged so far."""
        return self._records, self._bytes

    def run(self, groups: Sequence[Sequence[Task]], description: str) -> list[Staged]:  # noqa: ARG002 (for Spark's UI)
        """Stage the tasks, one after the other."""
        staged = [self._stage(task) for group in groups for task in group]
        self._records += sum(each.parsed for task in staged for each in task.ranges)
        self._bytes += sum(each.bytes for task in staged for each in task.ranges)
        return staged

    def discard(self, files: Sequence[tuple[TableName, str]], access: AccessTo) -> None:  # noqa: ARG002 (memory is open to all)
        """Delete files of stages; a snapshot that refers to one cannot be read afterwards."""
        for _, path in files:
            self._files.delete(path)

    def _stage(self, task: Task) -> Staged:
        try:
            return self._staged(task, {each: self._read(each) for each in task.ranges})
        except _Failed as error:
            return Staged(task.shape, (), failure=error.failure)

    def _read(self, wanted: Range) -> dict[int, MemoryRecord]:
        self._cluster.on_request("read")
        try:
            log = self._cluster.log(wanted.partition)
        except BrokerUnavailable as error:
            raise _Failed(StageFailure(error.code, error.message, wanted.partition)) from error
        follows = wanted.start_epoch is None or log.holds(wanted.start, wanted.start_epoch)
        if not log.earliest <= wanted.start <= log.latest or not follows:
            raise _Failed(StageFailure(DataLoss.code, "an offset is gone", wanted.partition))
        if wanted.end > log.latest:
            raise _Failed(StageFailure(BrokerUnavailable.code, "no record came", wanted.partition))
        return {offset: log.records[offset] for offset in range(wanted.start, wanted.end) if offset in log.records}

    def _staged(self, task: Task, read: dict[Range, dict[int, MemoryRecord]]) -> Staged:
        rejects = _rejects(task, read)
        if rejects and task.tolerance == "none":
            first = {each: min(_unfit(records), default=each.end) for each, records in read.items()}
            cut = {replace(each, end=end): _below(read[each], end) for each, end in first.items()}
            return replace(self._staged(replace(task, tolerance="all"), cut), rejects=rejects)
        drift = _drift(task, read) if task.shape.evolves else {}
        rows = [] if drift else [row for each, records in read.items() for row in _rows(task, each, records)]
        if rejects and not drift:
            self._files.rejects[task.rejects_path] = tuple(
                (each.partition, offset, records[offset].leader_epoch)
                for each, records in read.items()
                for offset in _unfit(records)
            )
        return Staged(
            shape=task.shape,
            ranges=tuple(self._accounted(task, each, records) for each, records in read.items()),
            files=(self._write(task, rows),) if rows else (),
            rejects=rejects,
            drift=drift,
            dropped={} if drift else _dropped(task, read),
        )

    def _accounted(self, task: Task, wanted: Range, records: dict[int, MemoryRecord]) -> StagedRange:
        errors = len(_unfit(records))
        skipped = sum(_skipped(task, record) for record in records.values())
        last = max(records.values(), key=lambda record: record.leader_epoch, default=None)
        record_epoch = self._cluster.told(last.leader_epoch) if last else None
        return StagedRange(
            wanted.partition,
            wanted.start,
            wanted.end,
            parsed=len(records),
            inserted=len(records) - errors - skipped,
            errors=errors,
            skipped=skipped,
            bytes=sum(record.size for record in records.values()),
            leader_epoch=_known(record_epoch, wanted, tail=wanted.end - 1 in records),
            record_epoch=record_epoch,
        )

    def _write(self, task: Task, rows: Sequence[MemoryRow]) -> StagedFile:
        path = "00000".join(task.data_path.rsplit("{}", 1))
        if any(path.startswith(f"{directory}/") for directory in self._files.full):
            raise _Failed(StageFailure(StorageUnavailable.code, f"{path}: no space left on device"))
        self._files.data[path] = MemoryFile(tuple(rows), task.shape.columns)
        return StagedFile(path, len(rows), 100 * len(rows))


def _rows(task: Task, wanted: Range, records: dict[int, MemoryRecord]) -> list[MemoryRow]:
    ids = {folded(column.name): column.id for column in task.shape.columns}
    return [
        MemoryRow(task.connector, wanted.partition, offset, _values(record, ids), record.leader_epoch)
        for offset, record in records.items()
        if not isinstance(record.value, bytes) and not _skipped(task, record)
    ]


def _known(record_epoch: int | None, wanted: Range, *, tail: bool) -> int | None:
    if tail or wanted.end_epoch is None:
        return record_epoch if tail else None
    return max(wanted.end_epoch, record_epoch or 0)


def _values(record: MemoryRecord, ids: dict[str, int]) -> dict[int, Any]:
    value = {} if record.value is None or isinstance(record.value, bytes) else record.value
    return {ids[folded(key)]: member for key, member in value.items() if folded(key) in ids}


def _skipped(task: Task, record: MemoryRecord) -> bool:
    return record.value is None and task.conversion.tombstones == "ignore"


def _unfit(records: dict[int, MemoryRecord]) -> list[int]:
    return [offset for offset, record in records.items() if isinstance(record.value, bytes)]


def _below(records: dict[int, MemoryRecord], end: int) -> dict[int, MemoryRecord]:
    return {offset: record for offset, record in records.items() if offset < end}


def _rejects(task: Task, read: dict[Range, dict[int, MemoryRecord]]) -> RejectSummary | None:
    found = sorted((each.partition, offset) for each, records in read.items() for offset in _unfit(records))
    if not found:
        return None
    first = _reject(*found[0])
    kind = RejectKind(first.code, None, _REASON, len(found), first)
    return RejectSummary(len(found), first, task.rejects_path, (kind,))


def _reject(partition: SourcePartition, offset: int) -> Reject:
    return Reject(partition, offset, None, None, b"", (), "project", InvalidRecord.code, _REASON)


def _drift(task: Task, read: dict[Range, dict[int, MemoryRecord]]) -> NewKeys:
    known = {folded(column.name) for column in task.shape.columns}
    found = NewKeys(task.column_budget)
    for each, records in read.items():
        for offset, record in records.items():
            if record.value is None or isinstance(record.value, bytes):
                continue
            text, at = orjson.dumps(record.value).decode(), (each.partition, offset)
            found.note_all(seen_in(text, lambda key: folded(key) in known, deep=True, at=at))
    return found


def _dropped(task: Task, read: dict[Range, dict[int, MemoryRecord]]) -> Counter[str]:
    known = {folded(column.name) for column in task.shape.columns}
    return Counter(
        key
        for records in read.values()
        for record in records.values()
        if record.value is not None and not isinstance(record.value, bytes)
        for key in record.value
        if folded(key) not in known
    )
