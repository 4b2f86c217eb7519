"""Where the shards of a stream start that has no offset tokens yet.

Only those that the stream has then: shards that appear later continue others, and are read from their beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from frazil.model import SourcePartition
from frazil.sources.base import TopicFacts
from frazil.sources.kinesis.positions import BEGINNING, END, KinesisPosition, at_time

_MARGIN: Final = 60_000
"""Milliseconds before the service's time at which the newest records begin: whatever was put into the stream once the
connector had been started is among them."""


@dataclass(frozen=True, slots=True)
class InitialPosition:
    """What the settings say of it."""

    kind: Literal["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"] = "TRIM_HORIZON"
    moment: int | None = None
    """The time of `AT_TIMESTAMP`, in ms since the epoch."""

    def starts(self, facts: TopicFacts, now: int, margin: int = _MARGIN) -> dict[SourcePartition, KinesisPosition]:
        """Where each shard of a stream starts.

        The newest records are those after a time, which is fixed here: a service asked for them again after a crash
        would begin later. A shard that is closed may have got records since that time.

        Args:
            facts: the stream.
            now: what time it is at the service, in ms since the epoch.
            margin: how much before that the newest records begin, in ms.
        """
        found = {}
        for each in facts.partitions:
            start = BEGINNING
            if self.kind == "LATEST":
                start = END if each.closed and not margin else at_time(now - margin)
            elif self.moment is not None:
                start = at_time(self.moment)
            found[SourcePartition(facts.topic, each.id)] = start
        return found
