"""The records that checkpoints are at, as far as their streams still have them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import SourcePartition
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.aggregation import split
from frazil.sources.kinesis.client import connect
from frazil.sources.kinesis.iterators import iterator_at
from frazil.sources.kinesis.positions import at_record
from frazil.sources.kinesis.pulling import Answer, Puller
from frazil.sources.kinesis.shard_reading import RawRecord

_AT_ONCE: Final = 16
"""Shards looked at at the same time."""

_TRIES: Final = 25
"""Times that a shard is asked which is busy, or gives nothing yet."""

_GAP: Final = 0.25
"""Seconds between two calls for one shard: it takes five a second."""


@dataclass(frozen=True, slots=True)
class CheckpointedRecord:
    """What a checkpoint is at."""

    arrival: int
    """When it arrived, in ms since the epoch: what had come by then was read by whoever read it."""

    user_records: int | None
    """How many user records it has; None for one that is not aggregated."""


def look_up(
    client: Mapping[str, str], sequences: Mapping[SourcePartition, int]
) -> dict[SourcePartition, CheckpointedRecord]:
    """A record of each shard; those whose records are gone are absent.

    Args:
        client: what clients of AWS's are configured with.
        sequences: the records' sequence numbers.

    Raises:
        StreamUnavailable, StreamRefused: the service does not say.
    """
    asked = connect(client)
    address = faults.address_of(client)

    def record(partition: SourcePartition) -> RawRecord | None:
        with faults.asking(address, f"read {partition}"):
            return _record(asked, partition, client.get(f"arn.{partition.topic}"), sequences[partition])

    with ThreadPoolExecutor(_AT_ONCE, "frazil-checkpoints") as pool:
        found = zip(sequences, pool.map(record, sequences), strict=True)
        return {partition: _described(each) for partition, each in found if each is not None}


def _described(record: RawRecord) -> CheckpointedRecord:
    parts = split(record.data)
    return CheckpointedRecord(record.arrival, None if parts is None else len(parts))


def _record(client: Any, partition: SourcePartition, arn: str | None, sequence: int) -> RawRecord | None:
    puller = Puller(client, 1)
    iterator: str | None = None
    for last in (*[False] * (_TRIES - 1), True):
        try:
            iterator = iterator or iterator_at(client, partition, arn, at_record(sequence))
            answer = puller.pull(iterator, arn)
        except (ClientError, BotoCoreError) as error:
            if faults.code(error) in (faults.UNFIT, faults.GONE):
                return None
            if last or not faults.passes(error):
                raise
        else:
            if _says(answer):
                return next((each for each in answer.records if int(each.sequence) == sequence), None)
            iterator = answer.iterator
        time.sleep(_GAP)
    return None


def _says(answer: Answer) -> bool:
    """Whether nothing that comes later could be the record."""
    return bool(answer.records) or answer.iterator is None or not answer.behind
