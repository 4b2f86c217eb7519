"""Commits that cannot be handed to a function which follows a table."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal


class FollowRefused(Terminal):
    """`foreach_commit` cannot tell which table is meant."""

    code = "follow_refused"

    def __init__(self, connector: str, reason: str, tables: Sequence[str]) -> None:
        named = f" It writes {', '.join(tables)}." if tables else ""
        super().__init__(
            f"no table of the connector {connector} is followed: {reason}.{named} Name one with "
            "foreach_commit(…, table=…), and call it once for each table to follow."
        )


class FollowerFailed(Terminal):
    """The function that was given to `foreach_commit` raised."""

    code = "follower_failed"

    def __init__(self, table: str, snapshot: int, last: int | None, error: BaseException) -> None:
        lines = str(error).splitlines()
        said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
        super().__init__(
            f"the function that follows the table {table} raised {said}. It had the rows of snapshot {snapshot}, which "
            "counts as not delivered. The rows are in the table and the tokens with them. Correct the function, and "
            f"start again with foreach_commit(…, after={last}): it gets this commit once more."
        )
        self.snapshot = snapshot
        self.last = last


class HistoryExpired(Terminal):
    """Snapshots between the last one delivered and the oldest one there is have expired."""

    code = "history_expired"

    def __init__(self, table: str, after: int, oldest: int) -> None:
        super().__init__(
            f"the commits to {table} after snapshot {after} cannot all be delivered: it is not in the table's history "
            f"any more, nor is what came right after it; the oldest snapshot that can be reached is {oldest}. Read the "
            f"table as of that one (VERSION AS OF {oldest}) for what came before, and follow on with after={oldest}. "
            "To have more time, raise frazil.snapshots.min.age, or expire snapshots later where you do that yourself."
        )
        self.oldest = oldest
        """The oldest snapshot that can be reached."""


class HistoryMoved(Terminal):
    """The last snapshot delivered is not part of the table's history, which was rolled back or replaced."""

    code = "history_moved"

    def __init__(self, table: str, after: int | None, common: int | None) -> None:
        where = "the snapshot to follow after" if after is None else f"snapshot {after}"
        back = (
            "It has no snapshot in common with what was delivered: the table was replaced, or the snapshot is another "
            "table's. Begin again with the whole table, and follow after its current snapshot."
            if common is None
            else f"It was rolled back: snapshot {common} is the newest it still has of what was delivered. The rows "
            "delivered after that one are not in the table any more, and their records come again. Take them back "
            f"where they went to, and follow on with after={common}."
        )
        super().__init__(f"{where} is not in the history of {table}. {back}")
        self.common = common
        """The newest snapshot that both have; None if there is none."""
