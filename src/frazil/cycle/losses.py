"""Records that retention deleted before they were read: an error, or skipped and said so."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from frazil.errors import DataLoss, FrazilError, LogTruncated, StageFailed
from frazil.model import SourcePartition
from frazil.sources.base import Source

_log = structlog.get_logger(__name__)


class Losses:
    """Knows where channels go on whose records are gone."""

    def __init__(self, source: Source, *, skip: bool) -> None:
        """Look at `source`; `skip` when `frazil.on.data.loss` says so."""
        self._source = source
        self._skip = skip
        self._skipped: dict[SourcePartition, int] = {}

    def beyond(self, starts: Mapping[SourcePartition, int]) -> dict[SourcePartition, int]:
        """The starts, put beyond what was skipped."""
        return {partition: max(start, self._skipped.get(partition, start)) for partition, start in starts.items()}

    def error(self, partition: SourcePartition, start: int) -> FrazilError:
        """The error for a channel whose offset `start` the source no longer has."""
        earliest = self._source.earliest([partition])[partition]
        if earliest <= start:
            latest = self._source.latest([partition])[partition]
            return LogTruncated(partition.topic, partition.partition, start - 1, latest)
        if not self._skip:
            return DataLoss(partition.topic, partition.partition, start, earliest - 1)
        self._skipped[partition] = earliest
        _log.error("records are lost: retention deleted them", partition=str(partition), first=start, last=earliest - 1)
        return StageFailed(str(partition), f"the records {start} to {earliest - 1} are gone and are skipped")
