"""What is counted while a soak runs, and what it is judged by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from tests.soak.lives import FAULTS, KILLS

RECOVERED_WITHIN: Final = 15.0
"""Seconds from a kill to the next commit of rows, Spark's start-up not counted."""


@dataclass(slots=True)
class Tally:
    """Counts of one run."""

    fired: Counter[str] = field(default_factory=Counter)
    """How often each fault happened."""

    recoveries: list[float] = field(default_factory=list)
    """Seconds from a kill to the next commit of rows without Spark's start-up, where nothing else was wrong then."""

    starts: list[float] = field(default_factory=list)
    """Seconds Spark took to start."""

    problems: list[str] = field(default_factory=list)
    """What did not go as it should."""

    @property
    def kills(self) -> int:
        """How often `kill -9` ended a process or its JVM."""
        return sum(self.fired[name] for name in KILLS)

    def never(self) -> list[str]:
        """The faults that never happened."""
        return [name for name in FAULTS if not self.fired[name]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the table holds, compared with what the broker holds."""

    records: int
    """Good records in the topic."""

    rows: int
    lost: int
    twice: int
    harmed: tuple[str, ...]
    """Everything else that is wrong with rows, files, tokens, or rows of others."""

    unfit: int
    """Records in the topic that fit no table."""

    rejects: int
    """Rejects in the files that the tokens name."""

    tombstones: int
    gaps: int
    """Offsets without a record a reader of committed records sees."""


def verdict(tally: Tally, judgement: Judgement | None) -> list[str]:
    """Why the run failed; nothing if it passed."""
    reasons = list(tally.problems)
    reasons += [f"{name}: never happened" for name in tally.never()]
    late = [seconds for seconds in tally.recoveries if seconds > RECOVERED_WITHIN]
    if late:
        reasons.append(f"{len(late)} recoveries took longer than {RECOVERED_WITHIN:.0f} s: {max(late):.1f} s at most")
    if judgement is None:
        return [*reasons, "the table was not judged"]
    if judgement.lost:
        reasons.append(f"{judgement.lost} records are lost")
    if judgement.twice:
        reasons.append(f"{judgement.twice} records are there twice")
    if judgement.rows != judgement.records:
        reasons.append(f"{judgement.rows} rows for {judgement.records} good records")
    if judgement.rejects != judgement.unfit:
        reasons.append(f"{judgement.rejects} rejects for {judgement.unfit} unfit records")
    return reasons + list(judgement.harmed)


def figures(values: Sequence[float]) -> dict[str, Any]:
    """How many, their median and their maximum."""
    return {
        "count": len(values),
        "p50": round(median(values), 2) if values else None,
        "max": round(max(values), 2) if values else None,
    }
