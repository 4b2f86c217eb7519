"""Topics that are not there, and topics that are not the ones the tokens speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import structlog

from frazil.config import ConnectorSettings
from frazil.errors import TopicMissing, TopicReplaced, wording_of
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens

_log = structlog.get_logger(__name__)


def require_same_topics(tokens: Tokens, topics: Sequence[TopicFacts]) -> None:
    """Refuse a topic that is another one than the tokens speak of.

    Raises:
        TopicReplaced: it was made again under its name, or belongs to another cluster.
    """
    for facts in topics:
        if (error := replaced(tokens, facts)) is not None:
            raise error


def replaced(tokens: Tokens, facts: TopicFacts) -> TopicReplaced | None:
    """How the topic is another one than the tokens speak of, if it is; ids that one of the two lacks say nothing."""
    known = tokens.topics.get(facts.topic)
    if known is None:
        return None
    words = wording_of(tokens.source)
    if known.cluster and facts.cluster and known.cluster != facts.cluster:
        return TopicReplaced(tokens.source, facts.topic, words.cluster, known.cluster, facts.cluster)
    if known.id and facts.id and known.id != facts.id:
        return TopicReplaced(tokens.source, facts.topic, words.identity, known.id, facts.id)
    return None


def require_topics(settings: ConnectorSettings, found: Mapping[str, object]) -> None:
    """Refuse to go on without the topics that were named.

    Raises:
        TopicMissing: some do not exist.
    """
    missing = [topic for topic in settings.source.topics if topic not in found]
    if missing:
        raise TopicMissing(settings.source.kind, missing, settings.source.address)


class Absences:
    """Says once that a topic is not there, and once that it is; the others are read meanwhile."""

    def __init__(self, settings: ConnectorSettings) -> None:
        self._settings = settings
        self._absent: set[str] = set()

    def look(self, read: Iterable[str], found: Mapping[str, object]) -> None:
        """Compare what there is with what the connector reads and was set to read."""
        word = wording_of(self._settings.source.kind).topic
        absent = {*self._settings.source.topics, *read} - found.keys()
        for topic in sorted(absent - self._absent):
            _log.warning(
                f"a {word} does not exist; it is waited for, and other {word}s go on",
                connector=self._settings.name,
                topic=topic,
            )
        for topic in sorted(self._absent - absent):
            _log.info(f"a {word} that did not exist does now", connector=self._settings.name, topic=topic)
        self._absent = absent
