"""Tokens that `frazil channels reset` and `adopt` leave alone."""

from __future__ import annotations

from frazil.errors.tree import Terminal


class ResetRefused(Terminal):
    """Tokens cannot be set to what was asked for."""

    code = "reset_refused"

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}. {remedy}")


class OwnerRuns(Terminal):
    """The connector whose tokens are to be set still runs."""

    code = "owner_runs"

    def __init__(self, connector: str, table: str, owner: str, sign: str) -> None:
        super().__init__(
            f"{owner} owns the table {table} as {connector} and runs: {sign}. Stop it first. With --even-if-owned the "
            "tokens are set all the same, and it ends as FENCED within 30 seconds, without another commit."
        )
