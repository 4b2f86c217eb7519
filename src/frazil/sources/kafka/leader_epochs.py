"""Which answers about the ends of logs come from brokers that no longer lead them.

A leader that was cut off from the others answers until it learns that it was replaced. Its log may end before records
that its successor has. Its leader epoch is older than one that was heard of before, which tells it apart (KIP-320).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import structlog

from frazil.model import SourcePartition
from frazil.sources.base import Held
from frazil.sources.kafka.positions import KafkaPosition

_PATIENCE: Final = 60.0
"""Seconds after which an older epoch is believed: then the cluster was set back, and its logs have to be compared."""

_log = structlog.get_logger(__name__)


class LeaderEpochs:
    """The newest leader epoch heard of for each partition of topics that have an id. Any thread may ask `held`."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._newest: dict[SourcePartition, int] = {}
        self._since: dict[SourcePartition, float] = {}
        """When former leaders began to answer, in seconds on the monotonic clock."""

        self._held: Mapping[SourcePartition, Held] = {}

    def know(self, ids: Mapping[str, str]) -> None:
        """Hear which topics there are, with their ids. Epochs of a topic that was made again begin anew."""
        same = {topic for topic, number in ids.items() if number and self._ids.get(topic) == number}
        self._newest = {each: epoch for each, epoch in self._newest.items() if each.topic in same}
        self._since = {each: since for each, since in self._since.items() if each.topic in same}
        self._ids = {topic: number for topic, number in ids.items() if number}

    def newest(self, ends: Mapping[SourcePartition, KafkaPosition]) -> dict[SourcePartition, KafkaPosition]:
        """The ends without those that a former leader gave."""
        believed = {}
        held = {each: why for each, why in self._held.items() if each not in ends and each in self._since}
        for partition, end in ends.items():
            known = self._newest.get(partition)
            if known is not None and self._is_former(partition, end, known):
                held[partition] = Held(_reason(partition, end, known), passes=True)
                continue
            believed[partition] = end
            self._since.pop(partition, None)
            if end.leader_epoch is not None and partition.topic in self._ids:
                self._newest[partition] = end.leader_epoch
        self._held = held
        return believed

    def held(self) -> Mapping[SourcePartition, Held]:
        """The partitions whose last end came from a former leader, and why they wait."""
        return self._held

    def _is_former(self, partition: SourcePartition, end: KafkaPosition, known: int) -> bool:
        if end.leader_epoch is None or end.leader_epoch >= known:
            return False
        now = time.monotonic()
        waited = now - self._since.setdefault(partition, now)
        if waited == 0:
            _log.warning("an end is not believed", partition=str(partition), cause=_reason(partition, end, known))
        return waited <= _PATIENCE


def _reason(partition: SourcePartition, end: KafkaPosition, known: int) -> str:
    return (
        f"the end of {partition} comes from a former leader of epoch {end.leader_epoch}, after an answer from one of "
        f"epoch {known}; it is read when its present leader answers"
    )
