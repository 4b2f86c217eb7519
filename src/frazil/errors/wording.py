"""What messages call a source and what leads to it, by the source's kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for one kind of source."""

    service: str
    """Who is asked."""

    topic: str
    cluster: str
    """What tells one place of topics from another."""

    identity: str
    """What tells a topic from another one of its name."""

    misled: str
    """What to do where the wrong place is asked."""

    topics: str
    """The key that names topics."""

    pattern: str
    """The key that has a pattern for their names."""


_BROKERS: Final = Wording(
    service="the broker",
    topic="topic",
    cluster="cluster id",
    identity="topic id",
    misled="If bootstrap.servers leads to the wrong cluster, correct it.",
    topics="topics",
    pattern="topics.regex",
)
_STREAMS: Final = Wording(
    service="Kinesis",
    topic="stream",
    cluster="account and region",
    identity="time of creation",
    misled=(
        "If frazil.kinesis.region, frazil.kinesis.endpoint or the credentials lead to the wrong account, correct them."
    ),
    topics="frazil.kinesis.streams",
    pattern="frazil.kinesis.streams.regex",
)
_KINDS: Final = {"kinesis": _STREAMS}


def wording_of(kind: str) -> Wording:
    """The words for a kind of source, as in `frazil.sources.kinds`."""
    return _KINDS.get(kind, _BROKERS)
