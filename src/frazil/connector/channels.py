"""Channels as a person sees them: tokens, lag and counts."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping
from typing import Any

from frazil.cycle import Ingestion
from frazil.model import ChannelStatus, SourcePartition
from frazil.pipes.naming import default_pipe
from frazil.sources.base import Source
from frazil.tables.tokens import Channel, Tokens


def all_channels(connector: str, ingestion: Ingestion, state: str, source: Source | None) -> list[ChannelStatus]:
    """One entry for every channel of a connector that runs; see `channels_of`."""
    return [
        status
        for opened in ingestion.tables.values()
        for status in channels_of(
            connector,
            str(opened.table.name),
            opened.table.name.name,
            opened.tokens,
            ingestion.plan.latest,
            state,
            source,
        )
    ]


def channels_of(
    connector: str,
    table: str,
    table_name: str,
    tokens: Tokens,
    latest: Mapping[SourcePartition, int],
    state: str,
    source: Source | None,
) -> list[ChannelStatus]:
    """One entry for every channel of one table.

    Args:
        connector: the connector's key.
        table: the table with its namespace.
        table_name: the table alone, which the pipe is named after.
        tokens: what the table says.
        latest: the ends of the partitions, as far as they are known.
        state: the connector's state.
        source: where the times of records that wait are looked up; None leaves `lag_seconds` unknown while
            there are any.
    """
    channels = {
        SourcePartition(topic, number): channel
        for topic, found in tokens.topics.items()
        for number, channel in enumerate(found.channels)
    }
    starts = {each: int(channel.token) + 1 for each, channel in channels.items() if channel.token is not None}
    waiting = {each: start for each, start in starts.items() if latest.get(each, start) > start}
    oldest = source.oldest_timestamps(waiting) if source and waiting else {}
    return [
        ChannelStatus(
            connector=connector,
            channel=f"{connector}_{partition.topic}_{partition.partition}",
            topic=partition.topic,
            partition=partition.partition,
            table=table,
            pipe=default_pipe(table_name),
            offset_token=channel.token,
            latest_offset=latest[partition] - 1 if partition in latest else None,
            lag_records=latest[partition] - starts.get(partition, 0) if partition in latest else None,
            lag_seconds=_lag_seconds(partition, latest, waiting, oldest),
            rows_inserted=channel.inserted,
            rows_parsed=channel.parsed,
            rows_error=channel.errors,
            records_lost=channel.lost,
            last_error=_last_error(tokens.last_error, partition),
            state=state,
            last_commit_time=_time(channel),
            owner_epoch=tokens.epoch,
        )
        for partition, channel in sorted(channels.items())
    ]


def _lag_seconds(
    partition: SourcePartition,
    latest: Mapping[SourcePartition, int],
    waiting: Mapping[SourcePartition, int],
    oldest: Mapping[SourcePartition, int],
) -> float | None:
    if partition not in latest:
        return None
    if partition not in waiting:
        return 0.0
    return max(0.0, round(time.time() - oldest[partition] / 1000, 3)) if partition in oldest else None


def _last_error(error: Mapping[str, Any] | None, partition: SourcePartition) -> str | None:
    if error is None or (error["topic"], error["partition"]) != (partition.topic, partition.partition):
        return None
    column = f", column {error['column']}" if error["column"] else ""
    return f"[{error['code']}] offset {error['offset']}{column}: {error['reason']}"


def _time(channel: Channel) -> str | None:
    if channel.time is None:
        return None
    return dt.datetime.fromtimestamp(channel.time / 1000, dt.UTC).isoformat(timespec="milliseconds")
