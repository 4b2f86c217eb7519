"""Rows as JSON: objects in a list, or one a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import msgspec
import orjson
import pyarrow as pa

from frazil.cli.printing.values import rows_of
from frazil.cli.visible import visible_json
from frazil.snowflake.compiled import ResultColumn


def write_json(
    names: Sequence[str], columns: Sequence[ResultColumn], batches: Iterable[pa.RecordBatch], out: TextIO
) -> None:
    """Write one list of objects, whose members are called `names`."""
    began = False
    for document in _objects(names, columns, batches):
        out.write(",\n  " if began else "[\n  ")
        # A line feed stands between members only: in texts JSON has it escaped.
        out.write(msgspec.json.format(document, indent=2).replace("\n", "\n  "))
        began = True
    out.write("\n]\n" if began else "[]\n")


def write_json_lines(
    names: Sequence[str], columns: Sequence[ResultColumn], batches: Iterable[pa.RecordBatch], out: TextIO
) -> None:
    """Write an object a line, whose members are called `names`."""
    out.writelines(document + "\n" for document in _objects(names, columns, batches))


def _objects(names: Sequence[str], columns: Sequence[ResultColumn], batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        for row in rows_of(batch, columns):
            yield visible_json(orjson.dumps(dict(zip(names, row, strict=True))).decode())
