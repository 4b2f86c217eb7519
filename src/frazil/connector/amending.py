"""Replace a connector's tokens from outside: in one empty append that fences whoever still runs, with an audit."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from frazil.connector.owners import life_of
from frazil.connector.registered import Registered
from frazil.errors import CherryPicked, Fenced, OwnerRuns, ResetRefused, TableBegunAnew, TokensMoved, TokensUncertain
from frazil.tables.base import WritableTable
from frazil.tables.commit import commit
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.tokens import Tokens, last_epoch, read

DESPITE: Final = (TableBegunAnew, TokensUncertain, CherryPicked)
"""What may be wrong with a table's history when a person says where to go on."""

_TRIES: Final = 5
"""Times the tokens may change while they are being replaced."""


@dataclass(frozen=True, slots=True)
class Amended:
    """Other tokens, and what the snapshot's summary is to say of the change."""

    tokens: Tokens
    audit: Mapping[str, Any]


def who() -> str:
    """The person at the keyboard, as far as the machine knows."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def audited(command: str, **facts: Any) -> dict[str, Any]:
    """An audit entry: who did what, and when."""
    moment = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    return {"command": command, "by": who(), "at": moment, **facts}


def tokens_of(table: WritableTable, connector: str) -> Tokens | None:
    """The tokens a connector has in the version of a table that was read last; at worst those of the mirror."""
    return read(table.state(), str(table.name), connector, DESPITE)


def require_stopped(
    table: WritableTable, connector: str, tokens: Tokens, registered: Registered | None, *, force: bool
) -> str:
    """Refuse to touch the tokens of a connector that runs; returns what is known of its owner.

    Raises:
        OwnerRuns: it runs, and `force` does not allow that.
    """
    life = life_of(table.state(), tokens, registered, time.time())
    if life.runs and not force:
        raise OwnerRuns(connector, str(table.name), tokens.opener, life.sign)
    return f"{life.sign}; it is fenced" if life.runs else life.sign


def amend(table: WritableTable, connector: str, note: str, change: Callable[[Tokens | None], Amended]) -> Tokens:
    """Commit what `change` makes of the tokens that hold, under a higher epoch and a new owner.

    Args:
        table: where they are.
        connector: the connector's key.
        note: the summary key of the audit entry.
        change: called again where somebody commits in between.

    Raises:
        ResetRefused: the tokens change faster than they can be replaced.
    """
    for _ in range(_TRIES):
        known = tokens_of(table, connector)
        amended = change(known)
        owner = str(uuid.uuid4())
        epoch = last_epoch(table.state(), connector, known) + 1
        tokens = replace(
            amended.tokens,
            commit=str(uuid.uuid4()),
            owner=owner,
            opener=f"{who()} with {amended.audit['command']} (process {os.getpid()})",
            epoch=epoch,
        )
        expected = Expectation(
            connector, owner, epoch, known.commit if known else None, (), table.uuid, despite=DESPITE
        )
        try:
            return commit(table, (), tokens, expected, {note: orjson.dumps(amended.audit).decode()}).tokens
        except (TokensMoved, Fenced):
            table.refresh()
    raise ResetRefused(
        f"the connector {connector} commits to {table.name} all the time", "Stop it, and give the command again."
    )
