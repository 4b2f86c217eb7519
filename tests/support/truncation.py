"""Take the end of a log away from a broker that is down, as a disk does that lost its last writes."""

from __future__ import annotations

import struct
from typing import Final

from frazil.dev.kafka import KafkaBroker
from frazil.model import SourcePartition

_HEADER: Final = struct.Struct(">qi")
"""How a batch begins: its first offset, and how many bytes follow."""


def truncate_log(broker: KafkaBroker, partition: SourcePartition, end: int) -> None:
    """Remove the records from offset `end` on, of a partition that fits into one segment.

    Raises:
        ValueError: the broker runs, or no batch begins at `end`.
    """
    if broker.running:
        raise ValueError("a broker that runs would not notice")
    path = broker.directory / "data" / str(partition) / f"{0:020}.log"
    with path.open("r+b") as log:
        while header := log.read(_HEADER.size):
            first, length = _HEADER.unpack(header)
            if first == end:
                log.truncate(log.tell() - _HEADER.size)
                return
            log.seek(length, 1)
    raise ValueError(f"no batch of {partition} begins at {end}")
