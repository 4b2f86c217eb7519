"""Channels as a person sees them: tokens, lag and counts."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from frazil.connector.registered import LeftOut, WaitingOutput
from frazil.connector.states import ENDED, Condition, State
from frazil.model import ChannelStatus, Position, RecordOffset, SourcePartition, TableName
from frazil.sources.base import Held, Source, TopicFacts
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens, encode

if TYPE_CHECKING:
    from frazil.cycle import Ingestion
    from frazil.cycle.sending import Backlog
    from frazil.cycle.table_failures import TableFailure


def all_channels(
    connector: str, ingestion: Ingestion, condition: Condition, source: Source | None, application: str | None
) -> list[ChannelStatus]:
    """One entry for every channel of a connector that runs, those of tables it could not open yet included."""
    failing = ingestion.failing
    tables = {name: opened.tokens for name, opened in [*ingestion.tables.items()]}
    tables |= {name: failure.tokens for name, failure in failing.items()}
    left_out = left_out_of(failing)
    return channels_of(
        connector,
        tables.items(),
        ingestion.plan.latest,
        condition,
        source,
        left_out,
        ingestion.held,
        pipe_of=ingestion.pipe_of,
        application=application,
        waiting_outputs=waiting_outputs_of(ingestion.output_backlogs),
    )


def waiting_outputs_of(backlogs: Mapping[TableName, Backlog]) -> tuple[WaitingOutput, ...]:
    """What waits to be sent on, as state files have it."""
    return tuple(WaitingOutput(str(name), each.files, round(each.seconds, 1)) for name, each in backlogs.items())


def left_out_of(failing: Mapping[TableName, TableFailure]) -> tuple[LeftOut, ...]:
    """The tables that are left out of a connector's cycles."""
    return tuple(
        LeftOut(
            name.namespace,
            name.name,
            State.FAILED if failure.is_final else State.RETRYING,
            str(failure.error),
            encode(failure.tokens),
        )
        for name, failure in failing.items()
    )


def channels_of(
    connector: str,
    tables: Iterable[tuple[TableName, Tokens]],
    latest: Mapping[SourcePartition, Position],
    condition: Condition,
    source: Source | None,
    left_out: Iterable[LeftOut] = (),
    held: Mapping[SourcePartition, Held] = MappingProxyType({}),
    *,
    pipe_of: Callable[[TableName, str], str],
    application: str | None = None,
    waiting_outputs: Iterable[WaitingOutput] = (),
) -> list[ChannelStatus]:
    """One entry for every channel of one connector.

    Args:
        connector: the connector's key.
        tables: its tables, and what they say.
        latest: the ends of the partitions, as far as they are known.
        condition: the connector's.
        source: where the times of records that wait are looked up; None leaves `lag_seconds` unknown while
            there are any.
        left_out: the tables that are left out while it goes on.
        held: why records of partitions cannot be had, where they cannot.
        pipe_of: the pipe between a table and a topic.
        application: as whom it reads streams, where that is known.
        waiting_outputs: what accepted records wait to be sent on.
    """
    apart = () if condition.state in ENDED else left_out
    outputs = {} if condition.state in ENDED else {each.table: each for each in waiting_outputs}
    by_table = {each.table: Condition(each.state, each.reason) for each in apart}
    by_partition = {} if condition.state in ENDED else {each: _condition(held[each]) for each in held}
    found = [
        (name, tokens, partition, channel)
        for name, tokens in tables
        for partition, channel in sorted(tokens.channels(), key=lambda each: each[0])
    ]
    # One question for the records of all tables: each takes a fetch, and patience where none comes.
    waiting: dict[SourcePartition, Position] = {}
    for _, tokens, partition, _ in found:
        start = tokens.position(partition)
        if start is not None and start < latest.get(partition, start):
            other = waiting.get(partition, start)
            waiting[partition] = min(other, start)
    oldest = source.oldest_timestamps(waiting) if source and waiting else {}
    timed = {partition.topic for _, _, partition, channel in found if channel.read_through is not None}
    facts = source.facts(timed) if source and timed else {}
    return [
        ChannelStatus(
            connector=connector,
            channel=f"{connector}_{partition.topic}_{partition.partition}",
            topic=partition.topic,
            partition=partition.partition,
            table=str(name),
            pipe=pipe_of(name, partition.topic),
            offset_token=channel.token,
            latest_offset=_latest(latest.get(partition)),
            lag_records=_lag_records(tokens.start(partition), channel, latest.get(partition)),
            lag_seconds=_lag_seconds(
                tokens.position(partition),
                channel,
                latest.get(partition),
                waiting.get(partition),
                oldest.get(partition),
            ),
            read_through=_moment(channel.read_through),
            retention_used=_retention_used(channel, facts.get(partition.topic)),
            rows_inserted=channel.inserted,
            rows_parsed=channel.parsed,
            rows_error=channel.errors,
            records_lost=channel.lost,
            last_error=_last_error(tokens.last_error, partition),
            state=by_table.get(name, by_partition.get(partition, condition)).state,
            reason=by_table.get(name, by_partition.get(partition, condition)).reason,
            last_commit_time=_moment(channel.time),
            owner_epoch=tokens.epoch,
            application=application,
            dropped=dict(tokens.dropped),
            set_aside=tokens.set_aside,
            refused=dict(tokens.refused),
            rejects_wait=tokens.rejects is not None,
            output_files=outputs[str(name)].files if str(name) in outputs else 0,
            output_seconds=outputs[str(name)].seconds if str(name) in outputs else None,
        )
        for name, tokens, partition, channel in found
    ]


def _condition(held: Held) -> Condition:
    return Condition(State.RETRYING if held.passes else State.HELD, held.reason)


def _latest(latest: Position | None) -> RecordOffset | None:
    return None if latest is None or not latest.is_exact else latest.last


def _lag_records(start: Position, channel: Channel, latest: Position | None) -> int | None:
    """How many records wait, where that can be known."""
    if channel.closed:
        return 0
    if latest is None:
        return None
    if latest.is_exact:
        return start.distance(latest)
    return 0 if latest.covered_by(start, channel.read_through) else None


def _lag_seconds(
    start: Position | None, channel: Channel, latest: Position | None, asked: Position | None, oldest: int | None
) -> float | None:
    """How long the record at `start` has waited; `oldest` is when the one at `asked` was produced."""
    if latest is None:
        return 0.0 if channel.closed else None
    if channel.closed or start is None or latest.covered_by(start, channel.read_through):
        return 0.0
    if asked != start:
        return None
    if oldest is None:
        # Where ends are not known, a look at the record behind the token tells whether there is one.
        return None if latest.is_exact else 0.0
    return max(0.0, round(time.time() - oldest / 1000, 3))


def _retention_used(channel: Channel, facts: TopicFacts | None) -> float | None:
    if channel.closed or channel.read_through is None or facts is None or facts.moment is None or not facts.retention:
        return None
    return round(max(0, facts.moment - channel.read_through) / facts.retention, 3)


def _last_error(error: Mapping[str, Any] | None, partition: SourcePartition) -> str | None:
    if error is None or (error["topic"], error["partition"]) != (partition.topic, partition.partition):
        return None
    column = f", column {error['column']}" if error["column"] else ""
    return f"[{error['code']}] offset {error['offset']}{column}: {error['reason']}"


def _moment(moment: int | None) -> str | None:
    if moment is None:
        return None
    return dt.datetime.fromtimestamp(moment / 1000, dt.UTC).isoformat(timespec="milliseconds")
