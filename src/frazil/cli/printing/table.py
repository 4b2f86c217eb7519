"""Rows as a table for people, cut to what they look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from frazil.cli.printing.values import Value, rows_of, text
from frazil.cli.visible import visible
from frazil.snowflake.compiled import ResultColumn

_COUNTED: Final = 100_000
"""Rows that are counted; more are `more than` that."""

_BESIDE: Final = 8
"""Lines of a screen that are no rows: the head, the rules, the count, the prompt."""

_NARROW: Final = 12
"""Characters that a column keeps before the last columns are left out."""

_NULL: Final = Text("NULL", style="dim")


@dataclass(frozen=True, slots=True)
class Room:
    """How much is shown."""

    rows: int
    width: int
    """Characters of a line."""

    value: int
    """Characters of a value."""


WIDE: Final = Room(10_000, 10_000, 1 << 30)
"""For a pipe: nothing is cut that memory has room for."""


def room_of(console: Console) -> Room:
    """What a terminal shows."""
    return Room(max(console.height - _BESIDE, 10), console.width, 10 * console.width)


def print_table(
    columns: Sequence[ResultColumn], batches: Iterable[pa.RecordBatch], console: Console, room: Room
) -> None:
    """Print the first rows, and how many there are."""
    shown, there = _first(batches, columns, room.rows)
    cells = [[_cell(value, room) for value in row] for row in shown]
    heads = [Text(visible(column.head)) for column in columns]
    widths = _widths(heads, cells, room.width)
    is_cut = room.width < WIDE.width
    table = Table(
        *(
            Column(head, width=width, overflow="ellipsis" if is_cut else "fold", no_wrap=is_cut)
            for head, width in zip(heads, widths, strict=False)
        )
    )
    for row in cells:
        table.add_row(*row[: len(widths)])
    console.print(table)
    console.print(Text(_count(len(shown), there, len(columns) - len(widths))), soft_wrap=True)


def _first(
    batches: Iterable[pa.RecordBatch], columns: Sequence[ResultColumn], most: int
) -> tuple[list[tuple[Value, ...]], int]:
    """The first rows, and how many there are as far as that is counted."""
    rows: list[tuple[Value, ...]] = []
    there = 0
    for batch in batches:
        if len(rows) < most:
            rows += rows_of(batch.slice(0, most - len(rows)), columns)
        there += batch.num_rows
        if there > _COUNTED:
            break
    return rows, there


def _cell(value: Value, room: Room) -> Text:
    found = text(value)
    if found is None:
        return _NULL
    return Text(visible(found if len(found) <= room.value else found[: room.value] + "…"))


def _widths(heads: Sequence[Text], rows: Sequence[Sequence[Text]], width: int) -> list[int]:
    """The widths of the columns that fit next to each other, each with as much as it needs or a few characters.

    What is left of the line goes to those that need more, to each as much.
    """
    wanted: list[int] = []
    left = width - 1
    for number, head in enumerate(heads):
        widest = max(cell_len(each) for each in (head.plain, *(row[number].plain for row in rows)))
        left -= min(widest, _NARROW) + 3
        if left < 0 and wanted:
            left += min(widest, _NARROW) + 3
            break
        wanted.append(widest)
    widths = [min(widest, _NARROW) for widest in wanted]
    needy = [number for number, widest in enumerate(wanted) if widest > _NARROW]
    for place, number in enumerate(sorted(needy, key=wanted.__getitem__)):
        more = min(wanted[number] - _NARROW, max(left, 0) // (len(needy) - place))
        widths[number] += more
        left -= more
    return widths


def _count(shown: int, there: int, left_out: int) -> str:
    many = f"more than {_COUNTED:,}" if there > _COUNTED else f"{there:,}"
    rows = f"{many} row{'' if there == 1 else 's'}"
    said = f"{shown:,} of {rows}" if there > shown else rows
    return f"{said}, without the last {left_out} column{'' if left_out == 1 else 's'}" if left_out else said
