"""Which table a topic lands in: `snowflake.topic2table.map`, else a name of the topic's own.

The topic of an entry is a regular expression that has to match the whole name. An entry that spells a topic out comes
before the others; those are tried in the order they were written. With
`snowflake.topic2table.map.regex.replacement`, nothing comes before the order, and the table may name groups of the
expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frazil.config.entries import Entry, parse
from frazil.errors import EmptyTopic, TableNameRefused
from frazil.java_regex import Template, compiled
from frazil.names import refusal, sanitise


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The table a topic lands in."""

    name: str
    """Upper case unless it was quoted."""

    quoted: bool
    """True: the table of exactly this name. False: the one existing table that equals it ignoring case, else this."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the map, ready to be asked."""

    entry: Entry
    pattern: re.Pattern[str]
    template: Template

    @classmethod
    def of(cls, entry: Entry, *, regex: bool) -> Rule:
        """The rule of an entry; its table is a template if `regex`.

        Raises:
            ValueError: the topic is not a regular expression, or the table refers to what that does not have.
        """
        pattern = compiled(entry.topic)
        return cls(entry, pattern, Template.read(entry.table, pattern) if regex else Template((entry.table,)))

    def target(self, match: re.Match[str] | None = None) -> TableMapping:
        """The table for a topic that the pattern matched, or that the entry spells out."""
        name = self.template.filled(match) if match else self.entry.table
        return TableMapping(name if self.entry.table_quoted else name.upper(), self.entry.table_quoted)

    def problems(self) -> Iterator[str]:
        """What keeps the table from having the name it was given."""
        table = self.entry.table
        if "." in table and not self.entry.table_quoted:
            yield (
                f"the table {table!r} names a schema or a database, and all tables of a connector are in "
                "frazil.namespace; write the table alone, or in double quotes if the dot belongs to its name"
            )
        # What the groups will match is not known yet; any letter stands for it.
        if reason := refusal(self.template.filled_with("x")):
            yield f"the table {table[:40]!r} {reason}; choose another name"


@dataclass(frozen=True, slots=True)
class Topic2Table:
    """The map, in the order it was written."""

    rules: tuple[Rule, ...] = ()
    regex: bool = False
    """Whether tables may refer to groups, and the order alone decides."""

    @classmethod
    def read(cls, text: str, *, regex: bool = False) -> Topic2Table:
        """The map that `text` describes.

        Raises:
            ValueError: the text is malformed or ambiguous, or a table cannot have its name; the message lists it all.
        """
        rules, reasons = [], []
        for entry in parse(text):
            try:
                rule = Rule.of(entry, regex=regex)
            except ValueError as error:
                reasons.append(str(error))
            else:
                rules.append(rule)
                reasons += rule.problems()
        reasons += _ambiguous(rules)
        if reasons:
            raise ValueError("; ".join(reasons))
        return cls(tuple(rules), regex)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries as written."""
        return tuple(rule.entry for rule in self.rules)

    def resolve(self, topic: str | None, *, sanitised: bool = True) -> TableMapping:
        """The table for `topic`: its entry's, else the exact name made from the topic.

        Args:
            topic: the topic's name.
            sanitised: whether a topic without an entry is sanitised; otherwise its name is the table's.

        Raises:
            EmptyTopic: there is no topic to resolve.
            TableNameRefused: no table can have the name.
        """
        if not topic:
            raise EmptyTopic
        target = self._mapped(topic) or TableMapping(sanitise(topic) if sanitised else topic, quoted=True)
        if reason := refusal(target.name):
            raise TableNameRefused(topic, target.name, reason)
        return target

    def has(self, topic: str) -> bool:
        """Whether the topic has an entry; the name of its table is generated otherwise."""
        return self._mapped(topic) is not None

    def _mapped(self, topic: str) -> TableMapping | None:
        for rule in () if self.regex else self.rules:
            if rule.entry.topic == topic:
                return rule.target()
        for rule in self.rules:
            if match := rule.pattern.fullmatch(topic):
                return rule.target(match)
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.entries))


def _ambiguous(rules: Sequence[Rule]) -> Iterator[str]:
    """Topics given twice, and topics that another entry's topic matches when read as a regular expression.

    This compares a text with a pattern, as the original does; that two patterns share a topic is not found.
    """
    for index, new in enumerate(rules):
        for earlier in rules[:index]:
            if new.entry.topic == earlier.entry.topic:
                yield f"the topic {new.entry.topic!r} is given twice; keep one of its entries"
                break
            if new.pattern.fullmatch(earlier.entry.topic) or earlier.pattern.fullmatch(new.entry.topic):
                yield (
                    f"the topics {earlier.entry.topic!r} and {new.entry.topic!r} overlap, as one read as a regular "
                    "expression matches the other; keep one of them"
                )
