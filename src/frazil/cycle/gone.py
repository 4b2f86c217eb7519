"""Topics that are gone, and tokens without them: pure rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from frazil.tables.rules.tokens import Tokens, TopicTokens


def gone(tokens: Tokens, cluster: str, existing: Collection[str], asked: Collection[str]) -> dict[str, TopicTokens]:
    """The topics of the tokens that the cluster does not have.

    One of another cluster is not gone, nor is a name that exists: if its topic was made again, that is for a reset to
    settle, for the connector may be reading it.

    Args:
        tokens: a connector's, in one table.
        cluster: the id of the cluster that was asked; empty if it did not say, and then nothing is certain.
        existing: the topics it has.
        asked: the topics it was asked for.
    """
    return {
        name: topic
        for name, topic in tokens.topics.items()
        if name in asked and name not in existing and cluster and topic.cluster == cluster
    }


def moved_last(topic: TopicTokens) -> int | None:
    """When a channel of a topic was last moved, in ms since the epoch; None if none was since it was opened."""
    return max((channel.time for channel in topic.channels.values() if channel.time is not None), default=None)


def without(tokens: Tokens, dropped: Mapping[str, TopicTokens]) -> Tokens:
    """The tokens without some topics, as far as they are the same topics still; an error of theirs goes as well."""
    names = still(tokens, dropped).keys()
    topics = {name: topic for name, topic in tokens.topics.items() if name not in names}
    error = tokens.last_error
    return replace(tokens, topics=topics, last_error=None if error and error["topic"] in names else error)


def still(tokens: Tokens, dropped: Mapping[str, TopicTokens]) -> dict[str, TopicTokens]:
    """Those of the topics to drop that the tokens speak of, of the same identity."""
    return {
        name: known
        for name, topic in dropped.items()
        if (known := tokens.topics.get(name)) and (known.cluster, known.id) == (topic.cluster, topic.id)
    }


def account(dropped: Mapping[str, TopicTokens]) -> dict[str, Any]:
    """What is dropped, for the audit: enough to set the channels by hand again."""
    return {
        name: {"cluster": topic.cluster, "id": topic.id, "tokens": topic.tokens()}
        for name, topic in sorted(dropped.items())
    }
