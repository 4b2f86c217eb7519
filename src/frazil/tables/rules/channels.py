"""What tokens say of channels, and how it is written: in columns, for a topic may have thousands of them.

    {"tokens": [1041, null], "epochs": [3, null], "parsed": [1042, 0], "errors": [2, 0],
     "time": 1760000000000, "behind": [0, null]}

A token is what the source calls the last record covered (null: the channel was never opened), without quotes where all
of them are texts of numbers; an epoch a leader epoch
whose leader had everything up to there (KIP-320). Parsed are records read, errors those rejected, skipped those that
became no row on purpose; all others are rows. Lost are records the source lost. The time is that of the newest commit
that moved one of the channels, in ms since the epoch, and behind is how long before it each of them was last moved.

The source chooses what its partitions are called. Numbers from 0 on are the places in the lists; any other ids stand in
a list of their own, `ids`. A column that says the same of all channels as of one never opened is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from frazil.model import PartitionId, Position


@dataclass(frozen=True, slots=True)
class Channel:
    """What the tokens say of one channel."""

    token: str | None = None
    """The last record covered, as its source calls it; None if the channel was never opened."""

    leader_epoch: int | None = None
    """A leader epoch whose leader had everything up to the token in its log; None where it is not known."""

    inserted: int = 0
    parsed: int = 0
    errors: int = 0
    time: int | None = None
    """When it was last moved, in ms since the epoch."""

    lost: int = 0
    """Records that retention deleted before they were read, or a truncation took away after."""

    closed: bool = False
    """Whether the partition has ended and all of it is covered: it is not read again."""

    parents: tuple[PartitionId, ...] = ()
    """The partitions that are to be covered to their ends before this one is read."""

    read_through: int | None = None
    """The watermark: all that had arrived by then is covered, in ms since the epoch. The last reader said so, or the
    channel was set to begin at that time. None where nothing was read yet, or the source cannot tell."""

    kept_since: int | None = None
    """What had arrived before then was gone when the channel was set to its start, or when a possible loss was last
    reported, in ms since the epoch. None where the source cannot tell."""

    arrived: int | None = None
    """When the record of the token arrived, in ms since the epoch; None where the token is no record's, or the source
    cannot tell."""

    next_start: str | None = None
    """The offset token at which the partitions that follow this one begin; None: at their beginning."""

    def unopened(self) -> Channel:
        """A channel that was never opened, with the counts of this one."""
        counts = {each: getattr(self, each) for each in ("inserted", "parsed", "errors", "time", "lost")}
        return Channel(**counts)

    def set_to(self, start: Position, kept_since: int | None) -> Channel:
        """The channel at a place that no reader has come to; what the source kept then begins at `kept_since`."""
        # At the end of a partition, the old watermark still speaks for the partitions that follow.
        watermark = self.read_through if start.ended else start.timestamp
        return replace(
            self,
            token=str(start.last),
            leader_epoch=None,
            closed=start.ended,
            read_through=watermark,
            kept_since=kept_since,
            arrived=None,
            next_start=None if start.timestamp is None else str(start.last),
        )


_UNOPENED: Final = Channel()
_LONGEST: Final = 19
"""Digits of a number that every reader of JSON keeps."""

_COLUMNS: Final[Mapping[str, str]] = {
    "tokens": "token",
    "epochs": "leader_epoch",
    "parsed": "parsed",
    "errors": "errors",
    "lost": "lost",
    "closed": "closed",
    "parents": "parents",
    "read-through": "read_through",
    "kept-since": "kept_since",
    "arrived": "arrived",
    "next-start": "next_start",
}
"""The columns of one field each, and the fields."""


def encode(channels: Mapping[PartitionId, Channel]) -> dict[str, Any]:
    """The channels of one topic as they stand in the tokens."""
    document: dict[str, Any] = {}
    if all(isinstance(each, int) for each in channels):
        count = max((int(each) + 1 for each in channels), default=0)
        found: Sequence[Channel] = [channels.get(number, _UNOPENED) for number in range(count)]
    else:
        document["ids"], found = list(channels), list(channels.values())
    for name, field in _COLUMNS.items():
        values = [getattr(each, field) for each in found]
        if name == "tokens" or any(value != getattr(_UNOPENED, field) for value in values):
            document[name] = _unquoted(values) if name == "tokens" else values
    newest = max((each.time for each in found if each.time is not None), default=None)
    if newest is not None:
        document["time"] = newest
        document["behind"] = [None if each.time is None else newest - each.time for each in found]
    # The rows are about as many as the records: what is left of them compresses to nothing.
    skipped = [each.parsed - each.inserted - each.errors for each in found]
    return {**document, "skipped": skipped} if any(skipped) else document


def decode(document: Mapping[str, Any]) -> dict[PartitionId, Channel]:
    """The channels from what `encode` has made of them.

    Raises:
        KeyError, TypeError, ValueError: it was not made by `encode`.
    """
    count = len(document["tokens"])
    ids: Sequence[PartitionId] = document.get("ids", range(count))
    columns = {field: document.get(name, [getattr(_UNOPENED, field)] * count) for name, field in _COLUMNS.items()}
    columns["token"] = [None if each is None else str(each) for each in columns["token"]]
    columns["parents"] = [tuple(each) for each in columns["parents"]]
    channels = [Channel(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    skipped, behind = document.get("skipped", [0] * count), document.get("behind", [None] * count)
    channels = [
        replace(
            each,
            inserted=each.parsed - each.errors - left,
            time=None if ago is None else document["time"] - ago,
        )
        for each, left, ago in zip(channels, skipped, behind, strict=True)
    ]
    return dict(zip(ids, channels, strict=True))


def _unquoted(tokens: Sequence[str | None]) -> Sequence[int | str | None]:
    """Tokens as the numbers whose texts they are, if all of them are."""
    try:
        numbers = [None if each is None else int(each) for each in tokens]
    except ValueError:
        return tokens
    same = all(
        number is None or (str(number) == each and len(str(number)) < _LONGEST)
        for number, each in zip(numbers, tokens, strict=True)
    )
    return numbers if same else tokens
