"""Have a consumer read from places in logs, where the logs still hold what was before them (KIP-320)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from frazil.model import SourcePartition
from frazil.sources.kafka.positions import KafkaPosition

_LOOK: Final = 0.001
"""Seconds between two attempts at moving a partition that the consumer has not begun to read."""

_PATIENCE: Final = 10.0
"""Seconds of attempts; nothing but the consumer's own threads is waited for."""

_NOT_BEGUN: Final = {KafkaError._STATE, KafkaError._PREV_IN_PROGRESS}  # noqa: SLF001 (the library's names for its codes)


def assign(consumer: Consumer, positions: Mapping[SourcePartition, KafkaPosition]) -> None:
    """Assign a consumer to positions; where a log no longer holds what was before, an event comes and no record.

    Raises:
        KafkaException: the consumer did not begin to read.
    """
    places = [_place(partition, position) for partition, position in positions.items()]
    consumer.assign(places)
    # A partition paused at the end of an earlier range stays paused through an assignment.
    consumer.resume(places)
    # An assignment alone asks nobody whether the log is still the same, a seek does.
    for place in places:
        if place.leader_epoch is not None and place.offset > 0:
            _seek(consumer, place)


def _place(partition: SourcePartition, position: KafkaPosition) -> TopicPartition:
    epoch = -1 if position.leader_epoch is None else position.leader_epoch
    return TopicPartition(partition.topic, partition.partition, position.offset, leader_epoch=epoch)


def _seek(consumer: Consumer, place: TopicPartition) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            consumer.seek(place)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_BEGUN or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK)
        else:
            return
