"""Whether the process that owns a table still runs, as far as that shows from outside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import psutil

from frazil.connector import machine
from frazil.connector.registered import Registered
from frazil.tables.rules.state import TableState, ancestors
from frazil.tables.rules.tokens import Tokens

RECENT: Final = 60.0
"""Seconds after its last commit during which an owner on another machine counts as running."""

_OPENER: Final = re.compile(r"(.+) \(pid ([0-9]+)\)")


@dataclass(frozen=True, slots=True)
class Life:
    """What is known of an owner."""

    runs: bool
    sign: str
    """Why that is believed, for a person."""


def life_of(state: TableState, tokens: Tokens, registered: Registered | None, now: float) -> Life:
    """Whether the owner that wrote `tokens` runs.

    Args:
        state: the table's version.
        tokens: the connector's tokens in it.
        registered: what the home knows of the connector's last run.
        now: in seconds since the epoch.
    """
    match = _OPENER.fullmatch(tokens.opener)
    if match is None:
        return Life(False, "its last commit was made by a command")
    host, pid = match[1], int(match[2])
    committed = _committed(state, tokens)
    ago = "at an unknown time" if committed is None else f"{max(0.0, now - committed):.0f} s ago"
    if host != machine.host() or (registered is not None and registered.hides(host, pid)):
        if committed is not None and now - committed < RECENT:
            return Life(True, f"it committed {ago} on {host}, a machine that cannot be looked at from here")
        return Life(False, f"it committed {ago} on {host} and is taken for stopped; if it runs, it is fenced")
    if registered is not None and registered.is_process(host, pid) and registered.has_ended(committed):
        return Life(False, f"process {pid} says that it is {registered.state}")
    if _is_owner(pid, committed):
        return Life(True, f"process {pid} on this machine is alive")
    return Life(False, f"process {pid} is gone")


def _is_owner(pid: int, committed: float | None) -> bool:
    """Whether the process of that id is the one that committed: pids come again, but not while one is in use."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return committed is None or bool(process.create_time() <= committed + 1)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _committed(state: TableState, tokens: Tokens) -> float | None:
    """When the tokens were committed, in seconds since the epoch; None if that snapshot has expired."""
    found = (each.timestamp for each in ancestors(state) if each.sequence_number == tokens.snapshot_seq)
    moment = next(found, None)
    return None if moment is None else moment / 1000
