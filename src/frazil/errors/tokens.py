"""Offset tokens that are not what they should be, or somebody else's."""

from __future__ import annotations

from frazil.errors.tree import Terminal, Transient


class TokensUncertain(Terminal):
    """The table was rolled back, or set to a branch, and no snapshot is left that tells which offset tokens hold."""

    code = "tokens_uncertain"

    def __init__(self, table: str, connector: str, change: str = "was rolled back past the snapshots") -> None:
        super().__init__(
            f"the table {table} {change} that carry the offset tokens of {connector}, so "
            "which records it holds cannot be known. Roll it forward to a snapshot whose summary has "
            f"frazil.tokens.{connector}, or say where to go on: `frazil channels reset {connector}`."
        )

    @classmethod
    def moved(cls, table: str, connector: str) -> TokensUncertain:
        """Main was set to a snapshot that need not come after the tokens; those that would tell have expired."""
        return cls(table, connector, "was set to another snapshot or branch, and those of its snapshots have expired")


class CherryPicked(Terminal):
    """A snapshot that frazil wrote was cherry-picked on top of the tokens that already cover its rows, or not."""

    code = "cherry_picked"

    def __init__(self, table: str, connector: str, snapshot: int, source: int) -> None:
        super().__init__(
            f"the table {table} has snapshot {snapshot}, cherry-picked from snapshot {source} that {connector} "
            "committed, so its rows and the offset tokens no longer belong together. Roll the table back to before "
            f"the cherry-pick, or say where to go on: `frazil channels reset {connector}`."
        )


class TokensUnreadable(Terminal):
    """The offset tokens in the table are not in a form this version understands."""

    code = "tokens_unreadable"

    def __init__(self, table: str, reason: str) -> None:
        super().__init__(
            f"the offset tokens of the table {table} cannot be read: {reason}. "
            "They were written by a newer frazil or by hand; use that version, or roll the table back."
        )


class Fenced(Terminal):
    """A newer opener of the same connector owns the table."""

    code = "fenced"

    def __init__(self, connector: str, table: str, ours: int, theirs: int, rival: str) -> None:
        super().__init__(
            f"{rival} opened the connector {connector} on the table {table} after this process (owner epoch {theirs}, "
            f"ours was {ours}), so this one stops for good. Nothing is lost or doubled. Run "
            "one of the two, or give them different names; after `frazil channels reset`, start it again."
        )
        self.rival = rival


class TokensMoved(Transient):
    """The tokens are not the ones the cycle was planned from."""

    code = "tokens_moved"

    def __init__(self, table: str, expected: str | None, found: str | None) -> None:
        super().__init__(
            f"the offset tokens of {table} are of commit {found or 'none'}, the cycle was planned from "
            f"{expected or 'none'}; it is planned again."
        )
