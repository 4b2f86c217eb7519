"""Rejected records read back, from an error table or from a dead-letter topic, in the same columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from frazil.config import ConnectorSettings
from frazil.config.kafka import KafkaSettings
from frazil.errors import ReplayRefused
from frazil.model import Column, IcebergType, Primitive, Range, TableName
from frazil.queries.engine import Engine, over
from frazil.snowflake.compiled import Compiled, ResultColumn, Scan
from frazil.snowflake.conditions import keys_where
from frazil.sources import kinds
from frazil.sources.kafka.dead_letter_records import SCHEMA, dead_letters
from frazil.sql import ident
from frazil.tables.rules import error_tables

TABLE: Final = "table"
"""The column of a dead-letter topic's records that names the table they were rejected for; null where none is named."""

BYTES: Final = ("key", "value", "headers")
"""The columns that hold what a record was made of."""

_IDENTITY: Final = ("connector", "topic", "partition", "offset", "commit")
_OF_LETTERS: Final = (*_IDENTITY, "timestamp", "key", "value")
"""What tells dead letters apart of which nothing is said; those that have all of it alike are alike."""

_ORDER: Final = ("topic", "partition", "offset", "rejected_at")
_CALLED: Final = "rejects"
_ALL: Final = "rejected records"
"""The place of all rows in a query; a condition's own are called otherwise."""


def of_table(
    engine: Engine, table: TableName, where: str | None = None, without: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The rejects in an error table, by topic, partition and offset.

    Args:
        engine: reads the table.
        table: the error table, which `frazil.connector.rejected.finding.require_error_table` has looked at.
        where: a condition in Snowflake's SQL that they meet.
        without: columns that are not needed.

    Raises:
        InvalidQuery: the condition is none.
        CatalogUnavailable, StorageUnavailable: it cannot be read.
    """
    engine.lake.forget()
    columns = engine.lake.columns(table)
    wanted = [each.name for each in error_tables.columns(Primitive("int"), Primitive("long"))]
    compiled = _selected([name for name in wanted if name not in without], columns, where, _IDENTITY)
    scans = tuple(replace(scan, table=table) for scan in compiled.scans)
    yield from engine.run(replace(compiled, scans=scans)).batches


def of_topic(settings: ConnectorSettings, topic: str | None, where: str | None = None) -> Iterator[pa.RecordBatch]:
    """The rejects in a connector's dead-letter topic, as they stand there; with the table that each was rejected for.

    Args:
        settings: the connector's.
        topic: the topic; None for the one that the connector names.
        where: a condition in Snowflake's SQL that they meet.

    Raises:
        ReplayRefused: there is no such topic.
        InvalidQuery: the condition is none.
        SourceUnavailable: its brokers did not answer.
    """
    own = settings.source
    if not isinstance(own, KafkaSettings):
        raise ReplayRefused(
            f"the connector {settings.name} reads streams, and nothing in a dead-letter stream says where a record "
            "came from",
            "Use the error table: --table NAME.",
        )
    name = topic or own.dead_letter_topic
    if name is None:
        raise ReplayRefused(
            f"the connector {settings.name} names no dead-letter topic",
            "Set errors.deadletterqueue.topic.name, or name the topic: --topic NAME.",
        )
    compiled = _selected(SCHEMA.names, _COLUMNS, where, _OF_LETTERS)
    source = kinds.observe(own.kind, own.client, [name])
    try:
        facts = source.facts([name])
        if name not in facts:
            raise ReplayRefused(f"there is no topic {name}", "Name one that is there: --topic NAME.")
        partitions = facts[name].source_partitions()
        ends, earliest = source.ends(partitions), source.earliest(partitions)
        for each in sorted(partitions):
            if earliest[each] < ends[each]:
                wanted = [Range(each, earliest[each], ends[each])]
                for batch in kinds.open_reader(source.reader(), wanted, sys.maxsize).batches():
                    yield from _filtered(dead_letters(batch), compiled if where else None)
    finally:
        source.close()


_COLUMNS: Final = (
    *error_tables.columns(Primitive("int"), Primitive("long")),
    Column(100, TABLE, Primitive("string")),
)
"""What a condition may ask of the records of a dead-letter topic."""


def _selected(names: Sequence[str], columns: Sequence[Column], where: str | None, identity: Sequence[str]) -> Compiled:
    """All rows, or those that meet a condition, with the bytes as they are: no value passes through Snowflake's SQL."""
    chosen = ", ".join(f"r.{ident(name)}" for name in names)
    text = f"SELECT {chosen} FROM {ident(_ALL)} AS r"
    scans: tuple[Scan, ...] = (Scan(_ALL, TableName((), _CALLED), tuple(dict.fromkeys((*names, *identity)))),)
    if where is not None:
        found = keys_where(_CALLED, columns, identity, where)
        same = " AND ".join(f"r.{ident(key)} IS NOT DISTINCT FROM k.c{n}" for n, key in enumerate(identity))
        text += f" SEMI JOIN ({found.text}) AS k ON {same}"
        scans += found.scans
    kinds_ = {each.name: each.type for each in columns}
    order = ", ".join(_by(name, kinds_[name]) for name in _ORDER if name in names)
    return Compiled(f"{text} ORDER BY {order}", tuple(ResultColumn(name) for name in names), scans)


def _by(name: str, kind: IcebergType) -> str:
    """SQL to order by a column: offsets that are texts, one number or two with a colon between, as numbers are."""
    column = f"r.{ident(name)}"
    if name != "offset" or kind != Primitive("string"):
        return column
    number = f"split_part({column}, ':', 1)"
    return f"length({number}), {number}, length({column}), {column}"


def _filtered(found: pa.Table, compiled: Compiled | None) -> Iterator[pa.RecordBatch]:
    if compiled is None:
        yield from found.to_batches()
        return
    yield from over(found, compiled).rename_columns(found.column_names).to_batches()
