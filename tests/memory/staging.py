"""Staging in memory: what a Spark job does with tasks, without Spark, Kafka and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import orjson
from tests.memory.source import MemoryCluster, MemoryRecord
from tests.memory.table import Files, MemoryFile, MemoryRow

from frazil.cycle.job import AccessTo
from frazil.errors import BrokerUnavailable, DataLoss, InvalidRecord, StorageUnavailable
from frazil.model import (
    ObservedType,
    Position,
    Range,
    RecordOffset,
    Reject,
    RejectKind,
    RejectSummary,
    Route,
    SourcePartition,
    Staged,
    StagedFile,
    StagedRange,
    StagedTable,
    StageFailure,
    TableName,
    TableTask,
    Task,
)
from frazil.pipes.default.observation import seen_in
from frazil.pipes.naming import folded
from frazil.records.new_keys import NewKeys
from frazil.routing.router import Router
from frazil.sources.kafka.positions import KafkaPosition

Records: TypeAlias = dict[int, MemoryRecord]
"""Records by their place in the log."""

Read: TypeAlias = dict[Range, Records]

_REASON = "the value is not a JSON object"


class _Failed(Exception):
    """A task fails; carries the failure as the value the driver gets."""

    def __init__(self, failure: StageFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class MemoryStaging:
    """Stages tasks from a cluster in memory to files in memory; see `frazil.cycle.job.Job`.

    Keys become columns by name, whatever their values are. Rejects are the records whose value is not a JSON object.
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
            return Staged((), failure=error.failure)

    def _read(self, wanted: Range) -> Records:
        self._cluster.on_request("read")
        try:
            log = self._cluster.log(wanted.partition)
        except BrokerUnavailable as error:
            raise _Failed(StageFailure(error.code, error.message, wanted.partition)) from error
        start, end = self._offsets(wanted)
        epoch = wanted.start.leader_epoch
        follows = epoch is None or log.holds(start, epoch)
        if not log.earliest <= start <= log.latest or not follows:
            raise _Failed(StageFailure(DataLoss.code, "an offset is gone", wanted.partition))
        if end > log.latest:
            raise _Failed(StageFailure(BrokerUnavailable.code, "no record came", wanted.partition))
        return {offset: log.records[offset] for offset in range(start, end) if offset in log.records}

    def _staged(self, task: Task, read: Read) -> Staged:
        parts = {part.shape.table: self._lacking(part, read) for part in task.tables}
        new_values: dict[str, str] = {}
        if task.route:
            parts, new_values = _routed(task.route, parts)
        rejects = {part.shape.table: self._rejects(part, parts[part.shape.table]) for part in task.tables}
        if task.tolerance == "none" and any(rejects.values()):
            cut = {}
            for each, records in read.items():
                bad = [
                    offset
                    for mine in parts.values()
                    for own, lacking in mine.items()
                    if own.partition == each.partition
                    for offset in _unfit(lacking)
                ]
                end = min(bad, default=None)
                below = replace(each, end=each.end if end is None else self._cluster.position(end))
                cut[below] = records if end is None else _below(records, end)
            again = self._staged(replace(task, ranges=tuple(cut), tolerance="all"), cut)
            tables = tuple(replace(part, rejects=rejects[part.shape.table]) for part in again.tables)
            return replace(again, tables=tables)
        drifts = {part.shape.table: _drift(part, parts[part.shape.table]) for part in task.tables if part.shape.evolves}
        restaged = any(drifts.values()) or bool(new_values)
        return Staged(
            tuple(self._accounted(task, each, records) for each, records in read.items()),
            tuple(
                self._table(
                    task,
                    part,
                    parts[part.shape.table],
                    rejects[part.shape.table],
                    drifts.get(part.shape.table, {}),
                    restaged=restaged,
                )
                for part in task.tables
            ),
            new_values=new_values,
        )

    def _table(
        self,
        task: Task,
        part: TableTask,
        read: Read,
        rejects: RejectSummary | None,
        drift: Mapping[str, ObservedType],
        *,
        restaged: bool,
    ) -> StagedTable:
        rows = (
            [] if restaged else [row for each, records in read.items() for row in self._rows(task, part, each, records)]
        )
        if rejects and not restaged:
            self._files.rejects[part.rejects_path] = tuple(
                (each.partition, offset, records[offset].leader_epoch)
                for each, records in read.items()
                for offset in _unfit(records)
            )
        return StagedTable(
            shape=part.shape,
            ranges=tuple(self._accounted(task, each, records) for each, records in read.items()),
            files=(self._write(part, rows),) if rows else (),
            rejects=rejects,
            drift=drift,
            dropped={} if drift else _dropped(part, read),
        )

    def _lacking(self, part: TableTask, read: Read) -> Read:
        """What a table lacks of what was read: what lies before its own token is left out."""
        lacking = {}
        for each, records in read.items():
            start = part.start(each)
            first = self._cluster.offset(start, self._cluster.log(each.partition))
            lacking[replace(each, start=start)] = {at: record for at, record in records.items() if at >= first}
        return lacking

    def _offsets(self, wanted: Range) -> tuple[int, int]:
        log = self._cluster.log(wanted.partition)
        return self._cluster.offset(wanted.start, log), self._cluster.offset(wanted.end, log)

    def _accounted(self, task: Task, wanted: Range, records: Records) -> StagedRange:
        errors = len(_unfit(records))
        skipped = sum(_skipped(task, record) for record in records.values())
        last = max(records.values(), key=lambda record: record.leader_epoch, default=None)
        record_epoch = self._cluster.told(last.leader_epoch) if last else None
        return StagedRange(
            wanted.partition,
            wanted.start,
            self._covered(wanted, records, record_epoch),
            parsed=len(records),
            inserted=len(records) - errors - skipped,
            errors=errors,
            skipped=skipped,
            bytes=sum(record.size for record in records.values()),
            record_epoch=record_epoch,
            read_through=self._read_through(wanted),
        )

    def _read_through(self, wanted: Range) -> int | None:
        """What time it is, for whoever reads to the end."""
        end = self._cluster.end_of(self._cluster.log(wanted.partition))
        return self._cluster.moment if wanted.end == end else None

    def _covered(self, wanted: Range, records: Records, record_epoch: int | None) -> Position:
        """The end of a range; one of Kafka's has the epoch of the leader that had everything before it."""
        end = wanted.end
        if not isinstance(end, KafkaPosition):
            return end
        if end.offset - 1 in records:
            return KafkaPosition(end.offset, record_epoch)
        return KafkaPosition(end.offset, None if end.leader_epoch is None else max(end.leader_epoch, record_epoch or 0))

    def _write(self, part: TableTask, rows: Sequence[MemoryRow]) -> StagedFile:
        path = "00000".join(part.data_path.rsplit("{}", 1))
        if any(path.startswith(f"{directory}/") for directory in self._files.full):
            cause = f"{path}: no space left on device"
            raise _Failed(StageFailure(StorageUnavailable.code, cause, table=part.shape.table))
        self._files.data[path] = MemoryFile(tuple(rows), part.shape.columns)
        return StagedFile(path, len(rows), 100 * len(rows))

    def _rows(self, task: Task, part: TableTask, wanted: Range, records: Records) -> list[MemoryRow]:
        ids = {folded(column.name): column.id for column in part.shape.columns}
        return [
            MemoryRow(task.connector, wanted.partition, offset, _values(record, ids), record.leader_epoch)
            for offset, record in records.items()
            if not isinstance(record.value, bytes) and not _skipped(task, record)
        ]

    def _rejects(self, part: TableTask, read: Read) -> RejectSummary | None:
        found = sorted((each.partition, offset) for each, records in read.items() for offset in _unfit(records))
        if not found:
            return None
        first = _reject(found[0][0], self._cluster.record_offset(found[0][1]))
        kind = RejectKind(first.code, None, _REASON, len(found), first)
        return RejectSummary(len(found), first, part.rejects_path, (kind,))


def _routed(route: Route, lacking: Mapping[TableName, Read]) -> tuple[dict[TableName, Read], dict[str, str]]:
    """Of what the tables lack, to each its own; and the values that have no table. What leads nowhere is bad."""
    router = Router(route)
    found: dict[TableName, Read] = {}
    for name, read in lacking.items():
        found[name] = {}
        for each, records in read.items():
            texts = [_text(record) for record in records.values()]
            split = router.split(texts, tell_new=name == route.own)
            mine = set(split.tables.get(name, []))
            bad = set(split.rejected) if name == route.own else set()
            found[name][each] = {
                offset: replace(record, value=b"leads nowhere") if row in bad else record
                for row, (offset, record) in enumerate(records.items())
                if row in mine | bad
            }
    return found, router.new


def _text(record: MemoryRecord) -> bytes | None:
    return record.value if record.value is None or isinstance(record.value, bytes) else orjson.dumps(record.value)


def _values(record: MemoryRecord, ids: dict[str, int]) -> dict[int, Any]:
    value = {} if record.value is None or isinstance(record.value, bytes) else record.value
    return {ids[folded(key)]: member for key, member in value.items() if folded(key) in ids}


def _skipped(task: Task, record: MemoryRecord) -> bool:
    return record.value is None and task.conversion.tombstones == "ignore"


def _unfit(records: Records) -> list[int]:
    return [offset for offset, record in records.items() if isinstance(record.value, bytes)]


def _below(records: Records, end: int) -> Records:
    return {offset: record for offset, record in records.items() if offset < end}


def _reject(partition: SourcePartition, offset: RecordOffset) -> Reject:
    return Reject(partition, offset, None, None, b"", (), "project", InvalidRecord.code, _REASON)


def _drift(part: TableTask, read: Read) -> NewKeys:
    known = {folded(column.name) for column in part.shape.columns}
    found = NewKeys(part.column_budget)
    for each, records in read.items():
        for offset, record in records.items():
            if record.value is None or isinstance(record.value, bytes):
                continue
            text, at = orjson.dumps(record.value).decode(), (each.partition, offset)
            found.note_all(seen_in(text, lambda key: folded(key) in known, deep=True, at=at))
    return found


def _dropped(part: TableTask, read: Read) -> Counter[str]:
    known = {folded(column.name) for column in part.shape.columns}
    return Counter(
        key
        for records in read.values()
        for record in records.values()
        if record.value is not None and not isinstance(record.value, bytes)
        for key in record.value
        if folded(key) not in known
    )
