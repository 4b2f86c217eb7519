"""Transforms of topics: RegexRouter and TimestampRouter; and Filter, which drops records."""

from __future__ import annotations

import re
from dataclasses import replace

from frazil.java_regex import Template, compiled
from frazil.records.connect.data import Record
from frazil.records.smt.date_format import DateFormat
from frazil.records.smt.options import Options
from frazil.records.smt.refusal import CannotTransform


class RegexRouter:
    """Renames topics whose whole name a regular expression of Java's matches."""

    def __init__(self, options: Options) -> None:
        """Read `regex` and `replacement`."""
        nothing = re.compile("")
        self.pattern = options.read("regex", options.text("regex"), compiled, nothing)
        self.template = options.read(
            "replacement",
            options.text("replacement"),
            lambda text: Template.read(text, self.pattern),
            Template(()),
        )

    def topic(self, topic: str) -> str:
        """The topic that a record of `topic` goes to."""
        if not self.pattern.fullmatch(topic):
            return topic
        # What is replaced is the first match, which may be shorter than the whole that had to match.
        found = self.pattern.search(topic)
        assert found is not None  # noqa: S101 (the whole matches)
        return f"{topic[: found.start()]}{self.template.filled(found)}{topic[found.end() :]}"

    def apply(self, record: Record) -> Record:
        """The record in its new topic."""
        return replace(record, topic=self.topic(record.topic))


class TimestampRouter:
    """Names topics by themselves and by when their records were written."""

    def __init__(self, options: Options) -> None:
        """Read `topic.format` and `timestamp.format`."""
        self._topic = options.text("topic.format", "${topic}-${timestamp}")
        pattern = options.text("timestamp.format", "yyyyMMdd")
        self._format = options.read("timestamp.format", pattern, DateFormat.read, DateFormat(()))

    def routed(self, topic: str, timestamp: int | None) -> str:
        """The topic that a record of `topic` goes to.

        Raises:
            CannotTransform: it has no timestamp.
        """
        if timestamp is None:
            raise CannotTransform("a record without a timestamp cannot be routed by it")
        name = self._topic.replace("${topic}", topic)
        return name.replace("${timestamp}", self._format.text(timestamp))

    def apply(self, record: Record) -> Record:
        """The record in its new topic."""
        return replace(record, topic=self.routed(record.topic, record.timestamp))


class Filter:
    """Drops every record that gets to it: a predicate says which do."""

    def __init__(self, options: Options) -> None:
        """There is nothing to read."""

    def apply(self, record: Record) -> None:
        """Drop the record."""
