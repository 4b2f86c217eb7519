"""Pipes that records cannot come through."""

from __future__ import annotations

from frazil.errors.tree import Terminal


class PipeBroken(Terminal):
    """A user's pipe does not go with its table any more."""

    code = "pipe_broken"

    def __init__(self, pipe: str, table: str, reason: str) -> None:
        super().__init__(
            f"the pipe {pipe} does not go with its table {table}: {reason} Write it anew with CREATE OR REPLACE PIPE, "
            "drop it so that the default pipe takes its place, or change the table back; then start the connector "
            "again."
        )


class PipeGone(Terminal):
    """The pipe that took a topic to a table of another name is not there any more."""

    code = "pipe_gone"

    def __init__(self, pipe: str, table: str) -> None:
        super().__init__(
            f"the pipe {pipe} was dropped from the table {table} while records came through it. Create it again, or "
            f"start the connector again: then its topics land in the table {pipe}."
        )


class PipeRefused(Terminal):
    """A user's pipe and the values' rules of the classic connector do not go together."""

    code = "0032"

    def __init__(self, pipe: str, table: str) -> None:
        super().__init__(
            f"the table {table} has the pipe {pipe}, and snowflake.validation=client_side goes with default pipes "
            "only. Remove the key, or set it to `server_side`; or drop the pipe."
        )


class ExplainRefused(Terminal):
    """What is asked about pipes cannot be answered."""

    code = "explain_refused"

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}. {advice}")
