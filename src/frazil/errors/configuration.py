"""What is wrong with what a user configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.errors.tree import Terminal


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration."""

    key: str
    """The configuration key, as written or as expected."""

    text: str
    """What is wrong with it, the value included unless it is a secret, and what to write instead."""


class InvalidConfiguration(Terminal):
    """The configuration cannot be run; all its problems are listed at once."""

    code = "0001"

    def __init__(self, subject: str, problems: Sequence[Problem]) -> None:
        lines = "".join(f"\n  {problem.key}: {problem.text}" for problem in problems)
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"{subject} has {count}:{lines}")
        self.subject = subject
        self.problems = tuple(problems)

    @classmethod
    def single(cls, subject: str, key: str, text: str) -> InvalidConfiguration:
        """One problem alone."""
        return cls(subject, [Problem(key, text)])


class EmptyTopic(Terminal):
    """A table was asked for without a topic."""

    code = "0020"

    def __init__(self) -> None:
        super().__init__("a topic without a name has no table. Check `topics` and the record's source.")
