"""Drop the tokens of topics that are gone, a while after their last record.

A topic counts as gone when the broker has said so at every look for an hour, and its own cluster was asked. No answer
is no such answer: the hour begins again.
"""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import orjson
import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.gone import account, gone, moved_last, without
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.errors import FrazilError
from frazil.sources.base import Source
from frazil.tables.commit import commit
from frazil.tables.rules.checks import Expectation
from frazil.tables.rules.tokens import PRUNED, TopicTokens

_WATCHED: Final = 3600.0
"""Seconds a topic has to be away without a break, at least; less where its tokens are kept for less."""

_LOOKS: Final = 6
"""Looks within that time."""

_log = structlog.get_logger(__name__)


class Pruning:
    """Looks now and then for topics that are gone; a connector has one."""

    def __init__(self, settings: ConnectorSettings, source: Source, opener: Opener) -> None:
        self._settings = settings
        self._source = source
        self._opener = opener
        retention = settings.tokens_retention_ms
        self._retention = None if retention is None else retention / 1000
        self._watched = min(self._retention or 0.0, _WATCHED)
        self._next_look = 0.0
        self._began = (time.time(), time.monotonic())
        self._away: dict[tuple[str, str], float] = {}
        """When a topic, by name and id, was first found away, by the monotonic clock."""

    def look(self, tables: Iterable[OpenTable], found: Mapping[str, object]) -> None:
        """Drop what is due. Failing to is no reason to stop: the next look does it.

        Args:
            tables: those the connector owns.
            found: the topics that it reads and that exist.
        """
        now = time.monotonic()
        if self._retention is None or now < self._next_look:
            return
        self._next_look = now + self._watched / _LOOKS
        for opened in tables:
            away = self._away_from(opened, found)
            due = {name: topic for name, topic in away.items() if self._is_due(name, topic, now)}
            if due:
                self._drop(opened, due)

    def _away_from(self, opened: OpenTable, found: Mapping[str, object]) -> dict[str, TopicTokens]:
        """The topics of a table's tokens that the broker says it does not have."""
        away: dict[str, TopicTokens] = {}
        for name, topic in opened.tokens.topics.items():
            if name in found or self._is_too_young(topic):
                self._away.pop((name, topic.id), None)
                continue
            try:
                existing = self._source.facts([name])
                mine = gone(opened.tokens, self._source.cluster(), existing, [name])
            except FrazilError as error:
                _log.debug("whether a topic exists is not known", topic=name, cause=error.message)
                mine = {}
            away.update(mine)
            if not mine:
                self._away.pop((name, topic.id), None)
        return away

    def _is_too_young(self, topic: TopicTokens) -> bool:
        last = moved_last(topic)
        return last is not None and self._now() - last / 1000 < (self._retention or 0.0)

    def _now(self) -> float:
        """Seconds since the epoch; a clock that is set forward while the connector runs makes nothing older."""
        wall, monotonic = self._began
        return min(time.time(), wall + time.monotonic() - monotonic)

    def _is_due(self, name: str, topic: TopicTokens, now: float) -> bool:
        since = self._away.setdefault((name, topic.id), now)
        # Of a topic without a record nobody wrote down when it was last there.
        return now - since >= (self._watched if moved_last(topic) is not None else self._retention or 0.0)

    def _drop(self, opened: OpenTable, topics: Mapping[str, TopicTokens]) -> None:
        key, opener = self._settings.key, self._opener
        moment = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        audit = {
            "command": "frazil.tokens.retention",
            "by": opener.opener,
            "at": moment,
            "reason": f"the topics are gone, and nothing was read from them for {self._retention:.0f} s",
            "topics": account(topics),
        }
        tokens = replace(
            without(opened.tokens, topics),
            commit=str(uuid.uuid4()),
            owner=opener.owner,
            opener=opener.opener,
            epoch=opened.epoch,
        )
        expected = Expectation(key, opener.owner, opened.epoch, opened.tokens.commit, (), opened.uuid)
        name = str(opened.table.name)
        try:
            done = commit(opened.table, (), tokens, expected, {PRUNED: orjson.dumps(audit).decode()})
        except FrazilError as error:
            _log.warning("the tokens of topics that are gone stay for now", table=name, cause=error.message)
            return
        opened.tokens = done.tokens
        opened.topics -= topics.keys()
        for topic, known in topics.items():
            self._away.pop((topic, known.id), None)
        _log.info(
            "dropped the tokens of topics that are gone",
            connector=self._settings.name,
            table=name,
            topics=sorted(topics),
        )
