"""When records arrived whose sequence numbers are known: what came before has been read by whoever read them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from frazil.model import SourcePartition
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.client import connect
from frazil.sources.kinesis.iterators import iterator_at
from frazil.sources.kinesis.positions import at_record
from frazil.sources.kinesis.pulling import Answer, Puller

_AT_ONCE: Final = 16
"""Shards looked at at the same time."""

_TRIES: Final = 25
"""Times that a shard is asked which is busy, or gives nothing yet."""

_GAP: Final = 0.25
"""Seconds between two calls for one shard: it takes five a second."""


def arrivals(client: Mapping[str, str], sequences: Mapping[SourcePartition, int]) -> dict[SourcePartition, int]:
    """When a record of each shard arrived, in ms since the epoch; those whose records are gone are absent.

    Args:
        client: what clients of AWS's are configured with.
        sequences: the records' sequence numbers.

    Raises:
        StreamUnavailable, StreamRefused: the service does not say.
    """
    asked = connect(client)
    address = faults.address_of(client)

    def arrival(partition: SourcePartition) -> int | None:
        with faults.asking(address, f"read {partition}"):
            return _arrival(asked, partition, client.get(f"arn.{partition.topic}"), sequences[partition])

    with ThreadPoolExecutor(_AT_ONCE, "frazil-arrivals") as pool:
        found = zip(sequences, pool.map(arrival, sequences), strict=True)
        return {partition: moment for partition, moment in found if moment is not None}


def _arrival(client: Any, partition: SourcePartition, arn: str | None, sequence: int) -> int | None:
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
                return next((each.arrival for each in answer.records if int(each.sequence) == sequence), None)
            iterator = answer.iterator
        time.sleep(_GAP)
    return None


def _says(answer: Answer) -> bool:
    """Whether nothing that comes later could be the record."""
    return bool(answer.records) or answer.iterator is None or not answer.behind
