"""What is counted of the records that a range has, whatever the source."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from frazil.model import StagedRange

SAMPLES: Final = 256
"""Timestamps kept of the ranges of one task, about: one of each at least."""


def counted(staged: StagedRange, stamps: pa.Int64Array, sizes: pa.Int32Array, samples: int) -> StagedRange:
    """A range with more of its records.

    Args:
        staged: the range so far.
        stamps: the records' timestamps, in ms since the epoch; null where one has none.
        sizes: the bytes of their values; null where one has none.
        samples: how many timestamps to keep.
    """
    parsed, stamps = len(stamps), stamps.drop_null()
    known = [stamp for stamp in (staged.oldest, staged.newest) if stamp is not None]
    if len(stamps):
        known += pc.min_max(stamps).as_py().values()
    sampled = stamps.to_numpy()[:: max(1, len(stamps) // samples)].tolist()
    return replace(
        staged,
        parsed=staged.parsed + parsed,
        bytes=staged.bytes + (pc.sum(sizes).as_py() or 0),
        oldest=min(known, default=None),
        newest=max(known, default=None),
        sample=(*staged.sample, *sampled)[-samples:],
    )
