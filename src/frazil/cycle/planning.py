"""Step 3 of the cycle: which offsets to read, and how to spread them over Spark tasks. Pure rules, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from frazil.errors import LogTruncated
from frazil.model import Position, Range, SourcePartition

SMALL_TASK: Final = 8 * 1024 * 1024
"""Bytes below which a second task costs more than it saves."""

SPLIT: Final = 32 * 1024 * 1024
"""Bytes above which one partition's range may be split over several tasks."""

TOPIC: Final = 1024 * 1024
"""Bytes that a topic counts for on top of its records': what it takes to open it, and to write a file."""

_USUAL: Final = 1024.0
"""Bytes an offset counts for while nobody knows better."""

_LEAST: Final = 64.0
"""Bytes an offset counts for at least: a record without a value is work, too, and there may be billions of them."""

_UNKNOWN_SIZE: Final = 20_000
"""Offsets read at most from a channel whose records' size is not known yet."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a plan found in the source."""

    number: int
    """Its ordinal number; 0 before the first."""

    starts: Mapping[SourcePartition, Position]
    """Where each channel goes on."""

    latest: Mapping[SourcePartition, Position]
    """The end of each partition."""

    topics: AbstractSet[str] = frozenset()
    """The topics that exist."""

    def attainable(self, goal: Mapping[SourcePartition, Position]) -> dict[SourcePartition, Position]:
        """The part of an earlier goal that the source can still give.

        A log may have been truncated since: then its present end is the goal. A deleted topic has no goal. A partition
        without an end keeps its goal while its topic exists: the answer may come with the next plan.
        """
        return {
            partition: min(end, self.latest.get(partition, end))
            for partition, end in goal.items()
            if partition.topic in self.topics
        }

    def lag(self, covered: Mapping[SourcePartition, Position]) -> int:
        """Records that wait once channels are covered up to `covered`; those not in it are where they were."""
        return sum(
            covered.get(partition, self.starts.get(partition, end)).distance(end)
            for partition, end in self.latest.items()
        )


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits in one channel."""

    partition: SourcePartition
    start: Position
    """Where the channel goes on."""

    latest: Position
    """The end of the partition."""

    size: float | None
    """Average bytes per record, None when nothing was read yet."""

    @property
    def length(self) -> int:
        """Records that wait, gaps counted among them."""
        return self.start.distance(self.latest)


def backlogs(
    starts: Mapping[SourcePartition, Position], latest: Mapping[SourcePartition, Position], sizes: Mapping[str, float]
) -> list[Backlog]:
    """The channels that have something to read.

    Args:
        starts: where each channel goes on.
        latest: the end of each partition; channels without one are left for the next plan.
        sizes: average bytes per record, by topic.

    Raises:
        LogTruncated: a partition ends before its token.
    """
    found = []
    for partition, start in sorted(starts.items()):
        end = latest.get(partition)
        if end is None:
            continue
        if end < start:
            raise LogTruncated(str(partition), start.last, end.first)
        if start < end:
            found.append(Backlog(partition, start, end, sizes.get(partition.topic)))
    return found


def unsized(waiting: Sequence[Backlog]) -> list[Range]:
    """The longest backlog of each topic whose records' size is not known."""
    longest: dict[str, Backlog] = {}
    for each in waiting:
        known = longest.setdefault(each.partition.topic, each)
        if each.length > known.length:
            longest[each.partition.topic] = each
    return [Range(each.partition, each.start, each.latest) for each in longest.values() if each.size is None]


def ranges(waiting: Sequence[Backlog], most_bytes: int) -> list[Range]:
    """What this cycle reads: all that waits, or as much of it as `most_bytes` allows, shared fairly among channels."""
    bounded = [_first_look(each) for each in waiting]
    left = float(most_bytes)
    chosen = []
    # Smallest first: what a short channel does not need of its share is the others'.
    for index, each in enumerate(sorted(bounded, key=_bytes)):
        share = left / (len(bounded) - index)
        size = _size(each.size)
        whole = _bytes(each) <= share
        end = each.latest if whole else each.start.ahead(max(1, int(share / size)), each.latest)
        chosen.append(Range(each.partition, each.start, end))
        left -= chosen[-1].length * size
    return sorted(chosen, key=lambda each: each.partition)


def spread(planned: Sequence[Range], sizes: Mapping[str, float], most_tasks: int) -> list[list[Range]]:
    """The ranges spread over tasks of about equal work: one task for a small backlog, `most_tasks` for a large one.

    The ranges of a topic with little to read stay together, for each task that reads some of it writes a file.
    """
    weights = {each: each.length * _size(sizes.get(each.partition.topic)) for each in planned}
    count = _tasks([planned], sizes, most_tasks)
    fair = sum(weights.values()) / count
    parts: list[tuple[list[Range], float]] = []
    for topic in by_topic(planned):
        weight = sum(weights[each] for each in topic)
        if weight < SMALL_TASK:
            parts.append((topic, weight + TOPIC))
        else:
            parts += [([piece], size) for each in topic for piece, size in _pieces(each, weights[each], fair, count)]
    return _dealt(parts, count)


def gathered(tasks: Sequence[Sequence[Range]], sizes: Mapping[str, float], most_tasks: int) -> list[list[Range]]:
    """What tasks read that are run again, in no more tasks than it takes: those of many topics have little each."""
    parts = [([*task], sum(each.length * _size(sizes.get(each.partition.topic)) for each in task)) for task in tasks]
    return _dealt([(task, weight + TOPIC) for task, weight in parts], _tasks(tasks, sizes, most_tasks))


def _tasks(parts: Sequence[Sequence[Range]], sizes: Mapping[str, float], most: int) -> int:
    """How many tasks are worth it."""
    whole = [each for part in parts for each in part]
    weight = sum(each.length * _size(sizes.get(each.partition.topic)) for each in whole)
    weight += TOPIC * len({each.partition.topic for each in whole})
    return int(max(1, min(most, weight // SMALL_TASK)))


def _dealt(parts: Sequence[tuple[Sequence[Range], float]], count: int) -> list[list[Range]]:
    """Parts of tasks, with their weights, put together to about as many tasks of about equal weight."""
    tasks: list[list[Range]] = [[] for _ in range(count)]
    known: list[set[SourcePartition]] = [set() for _ in range(count)]
    loads = [0.0] * count
    for part, weight in sorted(parts, key=lambda each: -each[1]):
        partitions = {each.partition for each in part}
        # A reader follows one range of a partition: two pieces of one partition never meet in a task.
        free = [number for number, others in enumerate(known) if partitions.isdisjoint(others)]
        if not free:
            free = [len(tasks)]
            tasks.append([])
            known.append(set())
            loads.append(0.0)
        lightest = min(free, key=loads.__getitem__)
        tasks[lightest] += part
        known[lightest] |= partitions
        loads[lightest] += weight
    return [sorted(task, key=lambda each: each.partition) for task in tasks if task]


def by_topic(planned: Sequence[Range]) -> list[list[Range]]:
    """The ranges, topic by topic."""
    found: dict[str, list[Range]] = {}
    for each in planned:
        found.setdefault(each.partition.topic, []).append(each)
    return [*found.values()]


def described(planned: Sequence[Range], sizes: Mapping[str, float]) -> str:
    """What a cycle reads, for Spark's UI."""
    size = sum(each.length * sizes.get(each.partition.topic, 0.0) for each in planned)
    shown = ", ".join(f"{each.partition} [{each.start.first}, {each.end.first})" for each in planned[:4])
    more = f" and {len(planned) - 4} more" if len(planned) > 4 else ""
    return f"{shown}{more}, about {size / 1e6:.1f} MB"


def _first_look(each: Backlog) -> Backlog:
    if each.size is not None or each.length <= _UNKNOWN_SIZE:
        return each
    return Backlog(each.partition, each.start, each.start.ahead(_UNKNOWN_SIZE, each.latest), None)


def _bytes(each: Backlog) -> float:
    return each.length * _size(each.size)


def _size(average: float | None) -> float:
    """Bytes to reckon with for an offset."""
    return _USUAL if average is None else max(_LEAST, average)


def _pieces(whole: Range, weight: float, fair: float, most: int) -> list[tuple[Range, float]]:
    """A range as it is, or cut where it alone is more than a task's fair share."""
    parts = 1 if weight < SPLIT else min(whole.length, most, max(1, round(weight / max(fair, SPLIT / 2))))
    inner = [whole.start.ahead(whole.length * part // parts, whole.end) for part in range(1, parts)]
    pieces = [Range(whole.partition, *bounds) for bounds in pairwise([whole.start, *inner, whole.end])]
    return [(piece, weight * piece.length / whole.length) for piece in pieces if piece.start < piece.end]
