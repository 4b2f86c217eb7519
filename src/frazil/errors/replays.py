"""Rejected records that cannot be listed or replayed."""

from __future__ import annotations

from frazil.errors.tree import Terminal


class ReplayRefused(Terminal):
    """What is asked about rejected records cannot be done."""

    code = "replay_refused"

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}. {remedy}")


class LedgerUnreadable(Terminal):
    """What was replayed to a table cannot be told."""

    code = "ledger_unreadable"

    def __init__(self, ledger: str, reason: str) -> None:
        super().__init__(
            f"the ledger of replayed records {ledger} cannot be read: {reason}. Nothing is replayed, for a record must "
            "not come twice. Use the version of frazil that wrote it, or restore the file."
        )
