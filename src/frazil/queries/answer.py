"""What a statement answers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from frazil.snowflake.compiled import ResultColumn


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows that arrive as they are found."""

    columns: tuple[ResultColumn, ...]
    batches: pa.RecordBatchReader
    """The rows, once; its fields are called by the heads, those that were there before with a number (`ID`, `ID_2`)."""
