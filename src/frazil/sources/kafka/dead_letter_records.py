"""The records of a dead-letter topic as the rejects they are: their headers say where they came from, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from frazil.records.odd_times import Headers, is_odd, with_header, without_header
from frazil.sources.kafka.dead_letters import PREFIX, STAGES, TABLE, unescaped

SCHEMA: Final = pa.schema(
    [
        ("connector", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("stage", pa.string()),
        ("code", pa.string()),
        ("message", pa.string()),
        ("column", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))),
        ("commit", pa.string()),
        ("rejected_at", pa.timestamp("us", "UTC")),
        ("table", pa.string()),
    ]
)
"""The columns of an error table, and the table that a record was rejected for; null is what nothing is said of."""

_STAGES: Final = {word: stage for stage, word in STAGES.items()}
_SAID: Final = (
    "topic",
    "partition",
    "offset",
    "connector.name",
    "task.id",
    "stage",
    "class.name",
    "exception.class.name",
    "exception.message",
    "exception.stacktrace",
)
_NAMES: Final = {TABLE: TABLE, **{PREFIX + name: name for name in _SAID}}
"""The headers that are added to a dead letter, by Kafka Connect and by us, and what they are called here."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the headers of a dead letter say."""

    own: Headers
    """The headers that the record itself had."""

    context: Mapping[str, str]
    """What was said of it, by Kafka Connect's names without what they all begin with; and our own, whole."""

    timestamp: int | None = None
    """The record's own timestamp in ms, where the topic did not take it."""

    @property
    def place(self) -> tuple[str, int, int] | None:
        """Topic, partition and offset of the record; None if that is not said."""
        try:
            return self.context["topic"], int(self.context["partition"]), int(self.context["offset"])
        except (KeyError, ValueError):
            return None


def told(headers: Headers) -> Told:
    """Tell a record's own headers from those that were added when it was rejected, which are the last ones.

    In a dead letter that another sink wrote, the record's own headers may have the same names: of each name only one
    was added.
    """
    context: dict[str, str] = {}
    headers, timestamp = without_header(headers)
    left = len(headers)
    for name, value in reversed(headers):
        short = _NAMES.get(name)
        if short is None or short in context:
            break
        context[short] = (value or b"").decode(errors="replace")
        left -= 1
    return Told(unescaped(headers[:left]), context, timestamp)


def dead_letters(batch: pa.RecordBatch) -> pa.Table:
    """The rejects in a batch of a dead-letter topic's records, as `SCHEMA` has them."""
    return pa.Table.from_pylist([_reject(row) for row in batch.to_pylist()], SCHEMA)


def _reject(row: Mapping[str, Any]) -> dict[str, Any]:
    found = told(row["headers"] or ())
    said = found.context
    topic, partition, offset = found.place or (None, None, None)
    timestamp = found.timestamp if found.timestamp is not None else row["timestamp"]
    own = with_header(found.own, timestamp) if is_odd(timestamp) else found.own
    return {
        "connector": said.get("connector.name"),
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": None if timestamp is None or is_odd(timestamp) else timestamp * 1000,
        "stage": _STAGES.get(said.get("stage", ""), "project") if said else None,
        "code": said["exception.class.name"].rpartition(".")[2] if "exception.class.name" in said else None,
        "message": said.get("exception.message"),
        "key": row["key"],
        "value": row["value"],
        "headers": [{"name": name, "value": value} for name, value in own],
        "table": said.get(TABLE),
    }
