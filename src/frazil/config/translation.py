"""What becomes of consumer keys, however they are translated."""

from __future__ import annotations

from dataclasses import dataclass, field

from frazil.errors import Problem


@dataclass(slots=True)
class Translation:
    """Consumer keys on their way from Java's client to librdkafka."""

    client: dict[str, str] = field(default_factory=dict, repr=False)
    """In librdkafka's terms, without the keys that have a setting of their own. Holds secrets."""

    no_effect: list[tuple[str, str]] = field(default_factory=list)
    """Given keys that change nothing, each with the reason."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Translation) -> None:
        """Take over what `other` found."""
        self.client.update(other.client)
        self.no_effect += other.no_effect
        self.problems += other.problems

    def refuse(self, key: str, text: str) -> None:
        """Note that `key` cannot be used, and why."""
        self.problems.append(Problem(key, text))

    def ignore(self, key: str, reason: str) -> None:
        """Note that `key` changes nothing, and why."""
        self.no_effect.append((key, reason))
