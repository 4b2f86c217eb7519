"""The tables of one connector, of which each may fail by itself (step 2 of the cycle).

A table that cannot be opened, read, staged for or committed to is left out of cycles and tried again after waits of its
own, and the others go on. Where none goes on, it is the connector that failed: its catalog is down, or its only table
needs somebody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

import structlog

from frazil.config import ConnectorSettings
from frazil.cycle.branching import Branching
from frazil.cycle.open_tables import OpenTable
from frazil.cycle.opening import Opener
from frazil.cycle.table_failures import TableFailures
from frazil.cycle.table_pool import TablePool
from frazil.errors import Fenced, FrazilError, TableMissing, TableReplaced, Terminal, TopicsShareName, Transient
from frazil.model import TableName
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens

_ASKED: Final = 3
"""Tables that are looked at to find out whether a failure is one table's or the catalog's."""

_log = structlog.get_logger(__name__)


class TableSet:
    """Opens the tables of a connector, reads their tokens, and leaves out what fails."""

    def __init__(self, settings: ConnectorSettings, opener: Opener, together: TablePool) -> None:
        """Begin without any."""
        self._connector = settings.name
        self._opener = opener
        self._together = together
        self._failures = TableFailures(settings.name)
        self.opened: dict[TableName, OpenTable] = {}
        """The tables this connector owns, those that are left out included."""

        self.branching = Branching(settings, opener, self.opened, together)
        """The tables of values that topics are routed by."""

        self._tables_of: dict[str, set[TableName]] = {}
        """The tables that each topic goes to, whatever its values are."""

        self._generated: dict[str, TableName] = {}
        """The tables of topics whose names are generated from theirs."""

    @property
    def failures(self) -> TableFailures:
        """The tables that are left out."""
        return self._failures

    def working(self) -> dict[TableName, OpenTable]:
        """The tables that take part in cycles."""
        return {name: each for name, each in self.opened.items() if name not in self._failures.failing}

    def unopened(self) -> list[Tokens]:
        """What is known of the channels of tables that could not be opened yet."""
        return [each.tokens for name, each in self._failures.failing.items() if name not in self.opened]

    def topics(self) -> set[str]:
        """The topics of all tables, of those as well that could not be opened yet."""
        read = (table.topics for table in self.opened.values())
        return set[str]().union(*read, *(tokens.topics for tokens in self.unopened()))

    def open_new(self, facts: Iterable[TopicFacts]) -> None:
        """Open the tables of topics that do not feed all of theirs; those whose opening failed when they are due.

        Raises:
            FrazilError: as `fail` says.
        """
        facts = list(facts)
        waiting = self._failures.failing.keys() - self._failures.due()
        new = [each for each in facts if not self._feeds_all(each.topic, waiting)]
        if not new:
            return
        found = self._opener.destinations(new)
        found.warn(self._connector)
        found.errors.update(self._shared(found.generated, {each.topic for each in facts}))
        for each in new:
            self._tables_of[each.topic] = {name for name, mine in found.topics.items() if each in mine}
            for name in self._tables_of[each.topic]:
                self.branching.lead(each.topic, name)
        for each in new:
            for name in self.branching.known(each.topic):
                found.topics.setdefault(name, []).append(each)
        for name, mine in [*found.topics.items()]:
            opened = self.opened.get(name)
            lacking = [each for each in mine if opened is None or each.topic not in opened.topics]
            if name in waiting and lacking:
                self._failures.knows(name, self._tokens_with(name, lacking))
            if name in waiting or not lacking:
                del found.topics[name]
            else:
                found.topics[name] = lacking
        self._opener.expect(found.topics)
        errors = {name: error for name, error in found.errors.items() if name in found.topics}
        sound = [(name, mine) for name, mine in found.topics.items() if name not in errors]
        answers = self._together.each(lambda each: self._open(*each), sound)
        for (name, _), answer in zip(sound, answers, strict=True):
            if isinstance(answer, OpenTable):
                self.opened[name] = answer
                self._failures.try_again(name)
            else:
                errors[name] = answer
        some_work = len(errors) < len(found.topics)
        self.fail(errors, lambda name: self._tokens_with(name, found.topics[name]), others_work=some_work)
        self._forget_unknown()
        led = [each for each in new if self.branching.is_on and self.branching.known(each.topic)]
        if led := [each for each in led if not self._feeds_all(each.topic, self._failures.failing.keys())]:
            # What tables its values have, a topic's own table has just told.
            self.open_new(led)

    def _shared(self, generated: Mapping[str, TableName], topics: AbstractSet[str]) -> dict[TableName, FrazilError]:
        """The tables of topics just looked up whose names are generated for several topics that there are."""
        self._generated = {topic: name for topic, name in self._generated.items() if topic in topics}
        self._generated.update(generated)
        sharing: dict[TableName, list[str]] = {}
        for topic, name in sorted(self._generated.items()):
            sharing.setdefault(name, []).append(topic)
        return {name: TopicsShareName(str(name), sharing[name]) for name in generated.values() if sharing[name][1:]}

    def _forget_unknown(self) -> None:
        gone = self.branching.forget_unknown()
        for name in gone:
            self._failures.try_again(name)
        self._failures.worked(gone)

    def _feeds_all(self, topic: str, waiting: AbstractSet[TableName]) -> bool:
        """Whether a topic feeds all tables that it goes to, but those whose opening is waited for."""
        tables = self._tables_of.get(topic, set()) | self.branching.known(topic).keys()
        return bool(tables) and all(
            (name in self.opened and topic in self.opened[name].topics)
            or (name in waiting and topic in self._failures.failing[name].tokens.topics)
            for name in tables
        )

    def bring_back(self) -> None:
        """Read the tokens of tables that are due anew: those that can be read take part again.

        Raises:
            FrazilError: as `fail` says.
        """
        self._recall([name for name in self._failures.due() if name in self.opened])

    def recall(self) -> None:
        """Read the tokens of all tables anew, but of those that wait.

        A table that is gone or replaced is no longer one of them afterwards, where the configuration says to open
        another one.

        Raises:
            FrazilError: as `fail` says.
        """
        self._recall([*self.working(), *(name for name in self._failures.due() if name in self.opened)])

    def fail(
        self,
        errors: Mapping[TableName, FrazilError],
        tokens_of: Callable[[TableName], Tokens] | None = None,
        *,
        others_work: bool = False,
    ) -> None:
        """Leave out the tables that failed.

        Args:
            errors: why, by table.
            tokens_of: what is known of the channels of a table; None for what the open tables say.
            others_work: whether some table has just worked; else it is found out.

        Raises:
            Fenced: a newer opener owns one of them, and so will own all.
            FrazilError: no table is left that goes on; then it is the connector that failed.
        """
        if not errors:
            return
        weighed = {name: self._weighed(error) for name, error in errors.items()}
        if fenced := next((error for error in weighed.values() if isinstance(error, Fenced)), None):
            raise fenced
        others = [each for name, each in self.working().items() if name not in weighed]
        passing = next((error for error in weighed.values() if isinstance(error, Transient)), None)
        alone = not others or (passing is not None and not others_work and not self._any_answers(others))
        waits = any(not each.is_final for name, each in self._failures.failing.items() if name not in weighed)
        for name, error in weighed.items():
            # What is the connector's own failure now is tried again with the connector.
            if not alone or (isinstance(error, Terminal) and (passing or waits)):
                self._failures.add(name, error, tokens_of(name) if tokens_of else self.opened[name].tokens)
        if alone and passing:
            raise passing
        if alone and not waits:
            raise next(iter(weighed.values()))

    def worked(self) -> None:
        """A cycle came to its end: the tables that took part are well."""
        self._failures.worked(self.working())

    def error(self) -> FrazilError | None:
        """The error of a table that somebody has to see to, if there is one."""
        return next((each.error for each in self._failures.failing.values() if each.is_final), None)

    def _open(self, name: TableName, topics: Sequence[TopicFacts]) -> OpenTable:
        opened, branch = self.opened.get(name), self.branching.branch(name, topics)
        if opened is None:
            return self._opener.open(name, topics, branch)
        self._opener.add_topics(opened, topics, branch)
        return opened

    def _tokens_with(self, name: TableName, topics: Sequence[TopicFacts]) -> Tokens:
        failure, opened = self._failures.failing.get(name), self.opened.get(name)
        known = failure.tokens if failure else opened.tokens if opened else None
        return self._opener.with_unopened(known, topics)

    def _recall(self, names: Sequence[TableName]) -> None:
        answers = self._together.each(self._recalled, names)
        errors: dict[TableName, FrazilError] = {}
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, OpenTable):
                self._failures.try_again(name)
            elif isinstance(answer, TableMissing | TableReplaced) and self._opener.renewal.choice(answer) != "fail":
                _log.warning("a table is not there any more", connector=self._connector, cause=answer.message)
                del self.opened[name]
                self._failures.try_again(name)
                self._failures.worked([name])
            else:
                errors[name] = answer
        self._forget_unknown()
        errors = {name: error for name, error in errors.items() if name in self.opened}
        some_work = any(name in self.opened and name not in errors for name in names)
        self.fail(errors, others_work=some_work)

    def _recalled(self, name: TableName) -> OpenTable:
        self._opener.recall(self.opened[name])
        return self.opened[name]

    def _weighed(self, error: FrazilError) -> FrazilError:
        """What an error means here: a table that is gone may be one to open anew."""
        if isinstance(error, TableMissing | TableReplaced):
            return self._opener.renewal.weighed(error)
        return error

    def _any_answers(self, others: Sequence[OpenTable]) -> bool:
        """Whether one of some other tables can be read just now."""
        return any(_can_be_read(each) for each in islice(others, _ASKED))


def _can_be_read(opened: OpenTable) -> bool:
    try:
        opened.table.refresh()
    except Transient:
        return False
    except Terminal:
        return True  # the catalog answers; what that table lacks is for its own turn
    return True
