"""Offset tokens: their form, and the one function that reads them from a table (design section 4).

The tokens of a connector are one JSON object, deflated and base64-encoded. It stands in the summary of every snapshot
the connector commits and, mirrored in the same swap, in a table property of the same name:

    {"v": 2, "source": "kafka", "name": "orders to the lake", "commit": "<uuid>", "owner": "<uuid>",
     "opener": "host-7 (pid 4711)", "epoch": 7, "snapshot-seq": 41,
     "topics": {"orders": {"cluster": "<id>", "id": "<topic id>", "channels": {…}}},
     "last-error": {"topic": "orders", "partition": 0, "offset": 17, "reason": "…"}, "rejects": "<path>",
     "dropped": {"colour": 120}, "output": "<path>", "output-sent": "<path>",
     "reached": {"dead letters": "<path>"}, "set-aside": ["<path>"], "refused": {"dead letters": 3}}

How channels are written is for `frazil.tables.rules.channels`, what a token means for the source of that kind.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import orjson

from frazil.errors import CherryPicked, TableBegunAnew, Terminal, TokensUncertain, TokensUnreadable
from frazil.model import PartitionId, Position, SourcePartition
from frazil.sources import kinds
from frazil.tables.rules import channels
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.stages import connector_in_names, stage_of_data
from frazil.tables.rules.state import SOURCE_SNAPSHOT, SnapshotState, TableState, ancestors, log_without, was_set

VERSION: Final = 2
PREFIX: Final = "frazil.tokens."
"""What the summary key and the table property begin with; the connector's key follows."""

RESET: Final = "frazil.reset"
"""The summary key of the audit entry where somebody reset channels."""

ADOPTED: Final = "frazil.adopt"
"""The summary key of the audit entry where a table took over the tokens of another one."""

IMPORTED: Final = "frazil.import"
"""The summary key of the audit entry where channels were set to the checkpoints of somebody else."""

PRUNED: Final = "frazil.prune"
"""The summary key of the audit entry where tokens of topics that are gone were dropped."""


UNOPENED: Final = Channel()
"""What is known of a channel that tokens do not speak of."""


class Identified(Protocol):
    """What says which topic one is: the cluster it is in and its own id."""

    @property
    def cluster(self) -> str:
        """The cluster's id."""

    @property
    def id(self) -> str:
        """The topic's own id."""

    @property
    def retention(self) -> int | None:
        """How long its records are kept, in ms; None where their places tell which are gone."""


@dataclass(frozen=True, slots=True)
class TopicTokens:
    """The channels of one topic, and which topic it is."""

    cluster: str
    id: str
    channels: Mapping[PartitionId, Channel]
    """By the id of the partition, in the source's order."""

    routes: Mapping[str, str] = field(default_factory=dict)
    """The names of the tables that records of the topic are routed to, by value; in the topic's own table only."""

    retention: int | None = None
    """How long the source kept its records when it was looked at last, in ms; None where places tell what is gone."""

    def tokens(self) -> list[str | None]:
        """The tokens alone, in that order."""
        return [channel.token for channel in self.channels.values()]


@dataclass(frozen=True, slots=True)
class Tokens:
    """All a connector knows of its channels on one table."""

    name: str
    """The connector's name as the user wrote it."""

    commit: str
    """Unique for every commit: equal commits mean equal tokens."""

    owner: str
    """Unique for every opener."""

    epoch: int
    """Raised by every open of the connector on the table."""

    snapshot_seq: int = 0
    """The sequence number of the snapshot that carries these tokens."""

    topics: Mapping[str, TopicTokens] = field(default_factory=dict)
    last_error: Mapping[str, Any] | None = None
    rejects: str | None = None
    """Path of the newest reject list that has not come to all places that rejects go to."""

    reached: Mapping[str, str] = field(default_factory=dict)
    """By place, the path of the newest of these lists that has come there; none for a place that lacks all of them."""

    set_aside: tuple[str, ...] = ()
    """Lists and files of rejected and accepted records that could not be read: whoever operates the connector looks
    at them."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """By place, how many records it took in no form; they are in their files alone."""

    dropped: Mapping[str, int] = field(default_factory=dict)
    """Values of keys that the table has no column for, counted by key since the connector first opened it."""

    output: str | None = None
    """Path of the newest list of accepted records that are not sent on."""

    output_sent: str | None = None
    """Path of the newest list before it of those that are; None where there is none."""

    opener: str = ""
    """Where the owner runs, for people who look for it: host and process id."""

    source: str = kinds.KAFKA
    """The kind of source that knows what the tokens mean."""

    def channel(self, partition: SourcePartition) -> Channel:
        """What is known of one channel."""
        topic = self.topics.get(partition.topic)
        return UNOPENED if topic is None else topic.channels.get(partition.partition, UNOPENED)

    def channels(self) -> Iterator[tuple[SourcePartition, Channel]]:
        """All channels they speak of, those without a token included."""
        for name, topic in self.topics.items():
            for partition, channel in topic.channels.items():
                yield SourcePartition(name, partition), channel

    def position(self, partition: SourcePartition) -> Position | None:
        """Where a channel goes on; None if it was never opened."""
        channel = self.channel(partition)
        return None if channel.token is None else kinds.at(self.source, channel.token, channel.leader_epoch)

    def start(self, partition: SourcePartition) -> Position:
        """The same; partitions that appear in an opened topic start at their beginning."""
        return self.position(partition) or kinds.beginning(self.source)

    def with_routes(self, topic: str, routes: Mapping[str, str]) -> Tokens:
        """These tokens with more tables that records of a topic are routed to."""
        known = self.topics[topic]
        return replace(self, topics={**self.topics, topic: replace(known, routes={**known.routes, **routes})})

    def with_channels(self, channels: Mapping[SourcePartition, Channel], of: Mapping[str, Identified]) -> Tokens:
        """These tokens with some channels replaced; `of` says which topics they are of, by name."""
        by_topic: dict[str, dict[PartitionId, Channel]] = {}
        for partition, channel in channels.items():
            by_topic.setdefault(partition.topic, {})[partition.partition] = channel
        topics = dict(self.topics)
        for name, replaced in by_topic.items():
            known = self.topics.get(name)
            kept = known or TopicTokens(of[name].cluster, of[name].id, {}, retention=of[name].retention)
            together = {**kept.channels, **replaced}
            topics[name] = replace(kept, cluster=of[name].cluster, id=of[name].id, channels=together)
        return replace(self, topics=topics)


def key_of(connector: str) -> str:
    """The summary key and table property of a connector's tokens."""
    return PREFIX + connector


def encode(tokens: Tokens) -> str:
    """The tokens as they stand in the table."""
    document: dict[str, Any] = {
        "v": VERSION,
        "source": tokens.source,
        "name": tokens.name,
        "commit": tokens.commit,
        "owner": tokens.owner,
        "opener": tokens.opener,
        "epoch": tokens.epoch,
        "snapshot-seq": tokens.snapshot_seq,
        "topics": {
            name: {
                "cluster": topic.cluster,
                "id": topic.id,
                **({} if topic.retention is None else {"retention": topic.retention}),
                "channels": channels.encode(topic.channels),
                **({"routes": dict(topic.routes)} if topic.routes else {}),
            }
            for name, topic in tokens.topics.items()
        },
        "last-error": tokens.last_error,
        "rejects": tokens.rejects,
    }
    if tokens.dropped:
        document["dropped"] = dict(tokens.dropped)
    if tokens.output is not None:
        document["output"] = tokens.output
    if tokens.output_sent is not None:
        document["output-sent"] = tokens.output_sent
    if tokens.reached:
        document["reached"] = dict(tokens.reached)
    if tokens.set_aside:
        document["set-aside"] = list(tokens.set_aside)
    if tokens.refused:
        document["refused"] = dict(tokens.refused)
    # Of numbers, most matches are by chance and short: their digits take less room than they do.
    packer = zlib.compressobj(9, strategy=zlib.Z_FILTERED)
    return base64.b64encode(packer.compress(orjson.dumps(document)) + packer.flush()).decode()


def decode(text: str) -> Tokens:
    """The tokens from their text.

    Raises:
        ValueError: the text is not what `encode` writes, or of a version after ours; the message says why.
    """
    try:
        document = orjson.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        if document["v"] != VERSION:
            raise ValueError(f"they are of version {document['v']}, and this program reads version {VERSION}")
        return Tokens(
            name=document["name"],
            commit=document["commit"],
            owner=document["owner"],
            opener=document["opener"],
            epoch=document["epoch"],
            snapshot_seq=document["snapshot-seq"],
            topics={
                name: TopicTokens(
                    topic["cluster"],
                    topic["id"],
                    channels.decode(topic["channels"]),
                    topic.get("routes", {}),
                    topic.get("retention"),
                )
                for name, topic in document["topics"].items()
            },
            last_error=document["last-error"],
            rejects=document["rejects"],
            dropped=document.get("dropped", {}),
            output=document.get("output"),
            output_sent=document.get("output-sent"),
            reached=document.get("reached", {}),
            set_aside=tuple(document.get("set-aside", ())),
            refused=document.get("refused", {}),
            source=document["source"],
        )
    except (binascii.Error, zlib.error, AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"they are damaged ({type(error).__name__}: {error})") from error


def read(state: TableState, table: str, connector: str, despite: tuple[type[Terminal], ...] = ()) -> Tokens | None:
    """The connector's tokens in one version of a table; None if it never opened it.

    They are those of the nearest ancestor of the current snapshot that carries them, so that a rollback to a snapshot
    of ours rolls them back too. Where all such ancestors expired, they are the mirror's.

    Args:
        state: the version.
        table: its name, for messages.
        connector: the connector's key.
        despite: errors in whose place the mirror is taken, whatever the table's history says.

    Raises:
        TableBegunAnew: the table was replaced in place after they were written.
        TokensUncertain: the table was rolled back past them, or set to where nobody can tell whether they hold.
        CherryPicked: one of our snapshots was cherry-picked on top of them.
        TokensUnreadable: they are damaged or from a later version.
    """
    try:
        return _by_history(state, table, connector)
    except despite:
        return mirrored(state, table, connector)


def carried(snapshot: SnapshotState, table: str, connector: str) -> Tokens | None:
    """The tokens in the summary of a snapshot; None if it is not one of the connector's.

    Raises:
        TokensUnreadable: they are damaged or from a later version.
    """
    text = snapshot.summary(key_of(connector))
    return None if text is None else _decoded(text, table)


def mirrored(state: TableState, table: str, connector: str) -> Tokens | None:
    """The tokens of the last commit to any branch of the table; None if there was none.

    Raises:
        TokensUnreadable: they are damaged or from a later version.
    """
    mirror = state.property(key_of(connector))
    return None if mirror is None else _decoded(mirror, table)


def last_epoch(state: TableState, connector: str, known: Tokens | None) -> int:
    """The highest owner epoch there ever was; after a rollback, that is not the one of the tokens `known`."""
    try:
        newest = mirrored(state, "", connector)
    except TokensUnreadable:
        newest = None
    return max(each.epoch if each else 0 for each in (known, newest))


def read_after_expiry(state: TableState, table: str, connector: str, expired: Collection[int]) -> Tokens | None:
    """What `read` would find once these snapshots have expired; raises what it would raise."""
    return _by_history(state, table, connector, expired)


def _by_history(state: TableState, table: str, connector: str, expired: Collection[int] = ()) -> Tokens | None:
    history: list[SnapshotState] = []
    for snapshot in ancestors(state, expired):
        tokens = carried(snapshot, table, connector)
        if tokens is not None:
            return tokens
        source = snapshot.summary(SOURCE_SNAPSHOT)
        if source is not None and _is_picked_from_us(state, snapshot, int(source), connector):
            raise CherryPicked(table, connector, snapshot.id, int(source))
        history.append(snapshot)
    tokens = mirrored(state, table, connector)
    if tokens is None:
        return None
    oldest = history[-1] if history else None
    # The mirror speaks for this history only if the commit that wrote it could have been an ancestor that expired.
    if oldest is not None and oldest.sequence_number <= tokens.snapshot_seq:
        raise TokensUncertain(table, connector)
    # Iceberg replaces a table in place by a main branch without a past; uuid and properties stay.
    if oldest is None or oldest.parent is None:
        raise TableBegunAnew(table, connector)
    # All of the history is younger than that commit. So if main was set to a part of it, then after the commit, which
    # need not be part of what expired.
    if was_set(state, history, expired) or _was_left(state, history, tokens, expired):
        raise TokensUncertain.moved(table, connector)
    return tokens


def _was_left(state: TableState, history: Sequence[SnapshotState], tokens: Tokens, expired: Collection[int]) -> bool:
    """Whether main was at the snapshot that carries the tokens, and was then set to a history without it.

    A snapshot in the log that is not part of the history is one that main left: had it been committed to, the next one
    would have it for its parent.
    """
    part = {snapshot.id for snapshot in history}
    left = {entry.snapshot for entry in log_without(state, expired)} - part
    found = (state.snapshot(each) for each in left)
    return any(each is not None and each.sequence_number == tokens.snapshot_seq for each in found)


def _is_picked_from_us(state: TableState, snapshot: SnapshotState, source: int, connector: str) -> bool:
    """Whether the source of a cherry-pick was a commit of the connector; once it has expired, its files tell."""
    picked = state.snapshot(source)
    if picked is not None:
        return picked.summary(key_of(connector)) is not None
    # Iceberg copies nothing of the source's summary. All files of one commit are one writer's.
    stage = stage_of_data(snapshot.added_file() or "")
    return stage is not None and stage.connector == connector_in_names(connector)


def _decoded(text: str, table: str) -> Tokens:
    try:
        return decode(text)
    except ValueError as error:
        raise TokensUnreadable(table, str(error)) from error
