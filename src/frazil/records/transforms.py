"""Transforms: converted records in, the same number or fewer out, each changed or left as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

ROW: Final = "row"
"""The column that says which record a row is; a transform leaves it as it is."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """What a transform made of a batch."""

    records: pa.RecordBatch
    """Those of its records that stay, in their order and with the same columns. One that is missing was dropped."""

    bad: Mapping[int, str] = field(default_factory=dict)
    """Why records cannot be transformed, by their `ROW`. What a reason shows of the record is in quotes."""


class Transform(Protocol):
    """Changes or drops records; made once for a task."""

    def transform(self, records: pa.RecordBatch) -> Transformed:
        """Transform some records.

        It may change topic, key, value, headers and timestamps. Where a record was read, its tokens and its rejects
        know by themselves.

        Args:
            records: `ROW`, then the columns of `frazil.records.batches.converted_schema`. Values are JSON texts that
                nobody has parsed: one that is not valid is the transform's to reject or to pass on.
        """


MakeTransform: TypeAlias = Callable[[Mapping[str, str]], Transform]
"""Makes a transform by its options."""
