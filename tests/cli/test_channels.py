from __future__ import annotations

import io
from dataclasses import fields, replace

import pytest
from rich.console import Console

from frazil.cli.channels import _shown
from frazil.model import ChannelStatus

STATUS = replace(
    ChannelStatus(**{each.name: None for each in fields(ChannelStatus)}),
    connector="SHOP",
    topic="orders",
    table="public.ORDERS",
    state="RUNNING",
    rows_inserted=1,
    rows_error=0,
    records_lost=0,
)


def shown(*found: ChannelStatus) -> str:
    terminal = Console(file=io.StringIO(), width=5000)
    terminal.print(_shown(found))
    return terminal.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_dropped_values_are_told_once_for_a_table_the_most_frequent_keys_first() -> None:
    dropped = {"weight": 3, "colour": 1200, "size": 3}

    told = shown(*(replace(STATUS, partition=number, dropped=dropped) for number in range(2)))

    line = "SHOP dropped values of keys without a column in public.ORDERS: colour 1,200, size 3, weight 3\n"
    assert told.endswith(line)
    assert told.count(line) == 1


@pytest.mark.parametrize(("keys", "more"), [(20, ""), (25, " and 5 more keys")])
def test_a_line_names_twenty_keys(keys: int, more: str) -> None:
    told = shown(replace(STATUS, dropped={f"key_{number:02}": 1 for number in range(keys)}))

    assert told.endswith(f"key_19 1{more}\n")


def test_nothing_is_said_where_nothing_was_dropped() -> None:
    assert "dropped" not in shown(replace(STATUS, dropped={}))


def test_damaged_files_and_refused_and_waiting_rejects_are_named_once_for_a_table() -> None:
    left = {"set_aside": ("s3://b/list-1.json",), "refused": {"dead letters": 1200}, "rejects_wait": True}

    told = shown(*(replace(STATUS, partition=number, state="STOPPED", **left) for number in range(2)))

    assert told.splitlines()[-3:] == [
        "Rejected records of public.ORDERS wait for SHOP: `frazil dlq waiting` shows them",
        "SHOP set aside a damaged file of public.ORDERS; see `frazil dlq waiting`: s3://b/list-1.json",
        "The dead letters of SHOP took 1,200 records of public.ORDERS in no form",
    ]
