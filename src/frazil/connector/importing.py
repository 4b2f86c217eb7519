"""`frazil channels import`: channels of a connector for Kinesis go on where somebody else's checkpoints are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from frazil.config import ConnectorSettings
from frazil.config.kinesis import KinesisSettings
from frazil.connector.amending import Amended, amend, audited, require_stopped, tokens_of
from frazil.connector.registered import Registered
from frazil.connector.taking_over import (
    Checkpoints,
    Consent,
    Known,
    Taken,
    by_stream,
    sequences,
    taken_over,
    with_times,
)
from frazil.cycle.destinations import destinations, table_of
from frazil.cycle.resets import Move, after
from frazil.errors import NothingSetUp, TableMissing, TableNotCreated
from frazil.model import SourcePartition, TableName
from frazil.sources.base import TopicFacts
from frazil.sources.kinesis.checkpointed import CheckpointedRecord
from frazil.sources.kinesis.checkpoints import Checkpoint, Keeper
from frazil.tables.base import TableCatalog, WritableTable
from frazil.tables.defaults import DEFAULT_NAMESPACE
from frazil.tables.rules.tokens import IMPORTED, Tokens

COMMAND: Final = "frazil channels import"

LookUp: TypeAlias = Callable[[Mapping[SourcePartition, int]], Mapping[SourcePartition, CheckpointedRecord]]
"""Gives records by their sequence numbers; those that are gone are absent."""


@dataclass(frozen=True, slots=True)
class Import:
    """What an import does, or did, to one table."""

    name: TableName
    table: WritableTable | None
    """None: it is made by the import."""

    owner: str
    """What is known of its owner."""

    taken: Sequence[Taken]
    checkpoints: Mapping[str, Sequence[Checkpoint]] = field(repr=False)
    """By stream."""


class Importer:
    """Takes over checkpoints for one connector."""

    def __init__(
        self,
        settings: ConnectorSettings,
        catalog: TableCatalog | None,
        registered: Registered | None,
        facts: Mapping[str, TopicFacts],
        look_up: LookUp,
    ) -> None:
        """Prepare to take over checkpoints.

        Args:
            settings: the connector's.
            catalog: where its tables are; None where there is none yet, and then nothing can be written.
            registered: what the home knows of its last run.
            facts: what the service says of the connector's streams.
            look_up: gives records of the streams.
        """
        self._settings = settings
        self._catalog = catalog
        self._registered = registered
        self._facts = facts
        self._look_up = look_up
        self._records: Mapping[SourcePartition, CheckpointedRecord] = {}
        source = settings.source
        self._initial = source.initial_timestamp_ms if isinstance(source, KinesisSettings) else None

    def plan(self, checkpoints: Checkpoints, stream: str | None, consent: Consent) -> list[Import]:
        """What an import would do, by table.

        Args:
            checkpoints: what there is.
            stream: which stream they are of, where their table does not say; None: the connector's only one.
            consent: what is allowed.

        Raises:
            NoCheckpoints: none of them are of a stream of the connector's.
            CheckpointOfOtherStream: a stream was made again since.
            CheckpointUnreadable: one says nothing that could be gone on from.
            CheckpointExpired: a shard is gone, and `consent` does not allow that.
            ChannelAhead: a channel is further on, likewise.
            OwnerRuns: the connector runs, likewise.
            ResetRefused: records of a stream go to several tables, each with tokens of its own.
            TableNotCreated: a table is missing, and none is to be created.
        """
        streams = by_stream(checkpoints, self._facts, stream)
        self._records = self._look_up(sequences(streams, self._facts))
        found = []
        for name, topics in self._tables([self._facts[each] for each in sorted(streams)]).items():
            table = self._existing(name, topics)
            known = tokens_of(table, self._settings.key) if table else None
            owner = self._owner(table, known, consent)
            wanted = {facts.topic: streams[facts.topic] for facts in topics}
            taken = self._taken(wanted, known, checkpoints.keeper, consent)
            found.append(Import(name, table, owner, taken, wanted))
        return found

    def write(self, plan: Import, checkpoints: Checkpoints, reason: str | None, consent: Consent) -> None:
        """Do what was planned for one table, in one commit without a row; the table is made where it is missing.

        Raises:
            ChannelAhead: a channel has moved on since.
            ResetRefused: the tokens change faster than they can be replaced.
        """
        if not any(each.moves for each in plan.taken):
            return
        table = plan.table or self._made(plan.name)

        def change(known: Tokens | None) -> Amended:
            tokens = known or Tokens(self._settings.name, "", "", 0, source=self._settings.source.kind)
            taken = [each for each in self._taken(plan.checkpoints, known, checkpoints.keeper, consent) if each.moves]
            moves = [Move(each.partition, each.held, each.target) for each in taken]
            channels = {
                str(each.partition): {"from": tokens.channel(each.partition).token, "to": str(each.target.last)}
                for each in taken
            }
            audit = audited(COMMAND, source=str(checkpoints), reason=reason, tokens=channels)
            return Amended(with_times(after(tokens, moves, self._facts, time.time_ns() // 1_000_000), taken), audit)

        amend(table, self._settings.key, IMPORTED, change)

    def _tables(self, topics: Sequence[TopicFacts]) -> Mapping[TableName, Sequence[TopicFacts]]:
        if self._catalog is not None:
            found = destinations(self._settings, self._catalog, topics)
            for error in found.errors.values():
                raise error
            return found.topics
        namespace = tuple((self._settings.namespace or DEFAULT_NAMESPACE).split("."))
        tables: dict[TableName, list[TopicFacts]] = {}
        for each in topics:
            tables.setdefault(table_of(self._settings, each.topic, namespace, (), lower=False), []).append(each)
        return tables

    def _existing(self, name: TableName, topics: Sequence[TopicFacts]) -> WritableTable | None:
        try:
            return self._catalog.open(name, None, self._settings.conversion) if self._catalog else None
        except TableMissing as error:
            if self._settings.autocreate == "none":
                raise TableNotCreated(str(name), [each.topic for each in topics]) from error
            return None

    def _made(self, name: TableName) -> WritableTable:
        if self._catalog is None:
            raise NothingSetUp(f"there is no catalog to make {name} in", "Open one.")
        return self._catalog.open(name, self._settings.table_options.properties, self._settings.conversion)

    def _owner(self, table: WritableTable | None, known: Tokens | None, consent: Consent) -> str:
        if table is None or known is None:
            return "it has none"
        return require_stopped(table, self._settings.key, known, self._registered, force=consent.fencing)

    def _taken(
        self, wanted: Mapping[str, Sequence[Checkpoint]], known: Tokens | None, keeper: Keeper, consent: Consent
    ) -> list[Taken]:
        """What becomes of the channels of some streams, which go to one table."""
        moment = next((each.moment for each in self._facts.values() if each.moment is not None), None)
        about = Known(moment or time.time_ns() // 1_000_000, self._initial, self._records)
        streams = [(self._facts[stream], checkpoints) for stream, checkpoints in wanted.items()]
        return taken_over(streams, known, keeper, about, consent)
