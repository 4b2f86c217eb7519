"""Rejected records brought through the present pipes of their tables, each at most once.

The steps, of some records of one connector and one table at a time:
1. leave out what the table's ledger has, and what the connector has not read yet, or will read again;
2. stage the others; those that are rejected again stay where they are;
3. append the rows and name their records in the ledger, in one swap (`frazil.tables.replaying`).

A process that ends before the swap leaves files that nobody refers to. After it the records are in the ledger. Whoever
else replays them meanwhile loses the race for one version of the table, and begins again at 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil import faults
from frazil.config import ConnectorSettings
from frazil.connector.amending import audited
from frazil.connector.rejected.desk import Asked, RejectDesk
from frazil.connector.rejected.finding import named
from frazil.connector.rejected.reading import TABLE
from frazil.connector.rejected.staging import Restaging, as_read
from frazil.connector.trying import Trial
from frazil.cycle.branches import ROUTE
from frazil.cycle.destinations import destinations
from frazil.errors import ReplayRefused, ShapeMoved
from frazil.model import RecordPlace, Reject, SourcePartition, TableName
from frazil.sources.base import TopicFacts
from frazil.tables.iceberg.table import Table
from frazil.tables.replaying import LedgerMoved, OpenLedger, Replay, append, ledger_in
from frazil.tables.rules.replays import covered
from frazil.tables.rules.tokens import read

COMMAND: Final = "frazil dlq replay"

_TRIES: Final = 20
"""Times that others may change the table while records are staged for it."""

_MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_RECORDS: Final = 100_000
"""Of the records of one commit."""


@dataclass(frozen=True, slots=True)
class Round:
    """Rejected records of one connector and one table."""

    table: TableName
    settings: ConnectorSettings
    rejects: pa.Table
    """As an error table has them."""


@dataclass(slots=True)
class ReplayOutcome:
    """What became of the records that were to be replayed."""

    replayed: int = 0
    """Those that came through now; one that the pipe leaves out makes no row."""

    already: int = 0
    """Those that had been replayed before."""

    waiting: int = 0
    """Those that their connector has not read yet, or is to read again: it brings them itself."""

    unknown: int = 0
    """Dead letters whose headers do not say where they come from."""

    rejected: list[Reject] = field(default_factory=list)
    """Those that are rejected again, with the reason that there is now."""

    snapshots: list[tuple[str, int]] = field(default_factory=list)
    """The commits, by table."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What would become of one record."""

    table: str
    place: RecordPlace
    fate: str
    """`row`, `reject`, `left out`, `replayed` or `waiting`, as in `ReplayOutcome`."""

    trial: Trial | None = None


class Replayer:
    """Replays rejected records."""

    def __init__(self, desk: RejectDesk) -> None:
        self._desk = desk
        self._settings: dict[str, ConnectorSettings] = {}

    def replay(self, asked: Asked) -> Iterator[ReplayOutcome]:
        """Replay records, commit by commit; what has become of them so far, after each.

        Raises:
            ReplayRefused: what is asked for cannot be replayed.
            LedgerUnreadable: nobody can tell what was replayed.
            FrazilError: what else keeps a commit from its table.
        """
        outcome = ReplayOutcome()
        for each in self._rounds(asked, outcome):
            self._replay(each, outcome)
            yield outcome

    def foresee(self, asked: Asked) -> Iterator[Fate | ReplayOutcome]:
        """What would become of each record; nothing is changed. Those whose origin is unknown are told at the end."""
        outcome = ReplayOutcome()
        for each in self._rounds(asked, outcome):
            table = self._opened(each)
            chosen = _Chosen.of(table, each)
            for fate, places in (("replayed", chosen.already), ("waiting", chosen.waiting)):
                yield from (Fate(str(each.table), place, fate) for place in places)
            if chosen.places:
                for trial in Restaging(each.settings, table).trials(as_read(chosen.rejects)):
                    place = (SourcePartition(trial.topic, trial.partition), trial.offset)
                    yield Fate(str(each.table), place, trial.fate, trial)
        yield outcome

    def _replay(self, each: Round, outcome: ReplayOutcome) -> None:
        table = self._opened(each)
        for _ in range(_TRIES):
            chosen = _Chosen.of(table, each)
            if not chosen.places:
                outcome.already += len(chosen.already)
                outcome.waiting += len(chosen.waiting)
                return
            faults.reach("after_plan")
            restaging = Restaging(each.settings, table)
            staged = restaging.stage(as_read(chosen.rejects))
            faults.reach("after_stage")
            through = chosen.places - {(reject.partition, reject.offset) for reject in staged.rejected}
            audit = audited(COMMAND, connector=each.settings.name, records=len(through))
            try:
                if through:
                    replay = Replay(each.settings.key, through, staged.files, staged.shapes, chosen.known, audit)
                    outcome.snapshots.append((str(each.table), append(table, replay)))
            except (LedgerMoved, ShapeMoved):
                restaging.discard(staged)
                table.refresh()
                continue
            outcome.already += len(chosen.already)
            outcome.waiting += len(chosen.waiting)
            outcome.replayed += len(through)
            outcome.rejected += staged.rejected
            return
        raise ReplayRefused(f"others change the table {each.table} all the time", "Give the command again.")

    def _rounds(self, asked: Asked, outcome: ReplayOutcome) -> Iterator[Round]:
        for source in self._desk.sources(asked, whole=True):
            for found in _in_portions(source.batches):
                said = pc.and_(pc.is_valid(found.column("topic")), pc.is_valid(found.column("connector")))
                known = found.filter(said)
                outcome.unknown += found.num_rows - known.num_rows
                for connector, rows in _by(known, "connector"):
                    settings = self._settings_of(connector)
                    for table, part in self._by_table(settings, rows, source.table):
                        yield Round(table, settings, part)

    def _settings_of(self, connector: str) -> ConnectorSettings:
        if connector not in self._settings:
            self._settings[connector] = self._desk.settings_of(connector)
        return self._settings[connector]

    def _by_table(
        self, settings: ConnectorSettings, rows: pa.Table, table: str | None
    ) -> Iterator[tuple[TableName, pa.Table]]:
        if table is not None:
            yield named(self._desk.catalog, table), rows
            return
        for name, part in _by(rows, TABLE):
            if name is not None:
                yield named(self._desk.catalog, name), part
                continue
            for topic, of_topic in _by(part, "topic"):
                yield self._destination(settings, topic), of_topic

    def _destination(self, settings: ConnectorSettings, topic: str) -> TableName:
        """The table that a topic feeds, for dead letters that name none: other sinks than frazil wrote them."""
        found = destinations(settings, self._desk.catalog, [TopicFacts(topic, "", "", ())])
        for error in found.errors.values():
            raise error
        (table,) = found.topics
        return table

    def _opened(self, each: Round) -> Table:
        table = self._desk.catalog.open(each.table, None, each.settings.conversion)
        if each.settings.routes and table.state().property(ROUTE) is None:
            raise ReplayRefused(
                f"the topics of {each.table} are routed by value, and what becomes of its rejects may belong to "
                "another table",
                "Replay those of the tables of single values; produce the others again.",
            )
        return table


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which of the records of a round are to be replayed now."""

    known: OpenLedger
    rejects: pa.Table
    """Those, each once."""

    places: frozenset[RecordPlace]
    already: frozenset[RecordPlace]
    waiting: frozenset[RecordPlace]

    @classmethod
    def of(cls, table: Table, each: Round) -> _Chosen:
        state = table.state()
        known = ledger_in(table, state, each.settings.key)
        tokens = read(state, str(table.name), each.settings.key)
        rows: dict[RecordPlace, int] = {place: row for row, place in enumerate(_places(each.rejects))}
        already = frozenset(place for place in rows if place in known.ledger)
        waiting = frozenset(place for place in rows if place not in already and not covered(tokens, place))
        left = {place: row for place, row in rows.items() if place not in already and place not in waiting}
        rejects = each.rejects.take(pa.array(sorted(left.values()), pa.int64()))
        return cls(known, rejects, frozenset(left), already, waiting)


def _places(rejects: pa.Table) -> Iterator[RecordPlace]:
    columns = (rejects.column(name).to_pylist() for name in ("topic", "partition", "offset"))
    for topic, partition, offset in zip(*columns, strict=True):
        yield SourcePartition(topic, partition), offset


def _by(rows: pa.Table, name: str) -> Iterator[tuple[str, pa.Table]]:
    """The rows by the value of a column."""
    column = rows.column(name)
    for value in column.unique().to_pylist():
        same = pc.is_null(column) if value is None else pc.equal(column, value)
        yield value, rows.filter(same)


def _in_portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches together, as many as may go into one commit."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        full = sum(each.nbytes for each in waiting) >= _MOST_BYTES
        if full or sum(each.num_rows for each in waiting) >= _MOST_RECORDS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
