"""The functions that follow a connector's tables, as the connector's own thread sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog
from pyspark.sql import SparkSession

from frazil.config import ConnectorSettings
from frazil.connector.subscription import Function, Subscription
from frazil.cycle.destinations import table_of
from frazil.cycle.open_tables import OpenTable
from frazil.errors import FollowRefused, FrazilError
from frazil.model import TableName
from frazil.tables.defaults import DEFAULT_NAMESPACE

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Follower:
    """A subscription, and what of it concerns the connector."""

    subscription: Subscription
    wanted: str | None
    """The table, as the user wrote it; None for the only one there is."""

    seen: str | None = None
    """The newest commit it was woken for."""

    missed: bool = False
    """Whether it was said that there is no such table yet."""

    def opened(self, tables: Mapping[TableName, OpenTable]) -> OpenTable | None:
        """Its table, if it is open."""
        name = self.subscription.name or next(iter(chosen(self.wanted, tables)), None)
        return None if name is None else tables.get(name)

    def may_need(self, name: TableName) -> bool:
        """Whether the table is its own, or may turn out to be."""
        known = self.subscription.name
        return name == known if known else bool(chosen(self.wanted, [name]))


class Followers:
    """All subscriptions of one connector."""

    def __init__(self, settings: ConnectorSettings, session: SparkSession, alarm: Callable[[], object]) -> None:
        """For one connector; `alarm` is called when one has failed."""
        self._settings = settings
        self._session = session
        self._alarm = alarm
        self._all: list[_Follower] = []

    def add(
        self,
        function: Function,
        after: int | None,
        table: str | None,
        opened: Mapping[TableName, OpenTable] | None,
        *,
        lower: bool = False,
    ) -> Subscription:
        """Have a function follow a table.

        Args:
            function: what it is.
            after: the snapshot to go on after; None for from now on.
            table: as the user wrote it.
            opened: the open tables of a connector that runs; None of one that does not.
            lower: whether its catalog is known to have names in lower case only.

        Raises:
            FollowRefused: which table that is cannot be known, or it is none of the connector's.
        """
        require_one(self._settings, table, lower=lower)
        subscription = Subscription(self._settings, self._session, function, after, self._alarm)
        follower = _Follower(subscription, table)
        if opened is not None:
            found = follower.opened(opened)
            if found is not None:
                subscription.follow(found.table.name, found.tokens.snapshot_seq)
            subscription.start()
        self._all.append(follower)
        return subscription

    def start(self) -> None:
        """Begin, or go on, with the connector."""
        for each in self._living():
            each.subscription.start()

    def look(self, tables: Mapping[TableName, OpenTable]) -> None:
        """Have what was committed to open tables delivered, which does not take place here.

        Raises:
            FrazilError: what one of them failed with.
        """
        for each in self._living():
            if each.subscription.error is not None:
                raise each.subscription.error
            opened = each.opened(tables)
            if opened is None:
                self._say_missed(each, tables)
            elif opened.tokens.commit != each.seen:
                each.seen = opened.tokens.commit
                each.subscription.follow(opened.table.name, opened.since)
                each.subscription.wake()

    def needed(self, name: TableName) -> int | None:
        """The sequence number from which on the snapshots of a table have to stay; None if nobody needs them."""
        return min((each.subscription.needed for each in self._living() if each.may_need(name)), default=None)

    def finish(self) -> None:
        """Have all of them deliver what is committed by now, and end."""
        for each in self._living():
            each.subscription.finish()

    def wait(self) -> FrazilError | None:
        """Wait until all have ended; what one of them failed with."""
        living = self._living()
        for each in living:
            each.subscription.wait()
        return next((each.subscription.error for each in living if each.subscription.error), None)

    def end(self) -> None:
        """Have all of them end after what their functions are at work with."""
        for each in self._living():
            each.subscription.end()

    def run_here(self) -> bool:
        """Whether it is one of the functions that asks."""
        return any(each.subscription.runs_here for each in self._living())

    def _living(self) -> list[_Follower]:
        return [each for each in self._all if not each.subscription.cancelled]

    def _say_missed(self, follower: _Follower, tables: Iterable[TableName]) -> None:
        if not follower.missed:
            follower.missed = True
            _log.warning(
                "a function is to follow a table that no topic goes to yet",
                connector=self._settings.name,
                table=follower.wanted,
                tables=", ".join(map(str, tables)),
            )


def chosen(wanted: str | None, names: Iterable[TableName]) -> list[TableName]:
    """The tables that a user may mean: spelled like that, or else equal ignoring case, with or without namespace."""
    known = [*names]
    if wanted is None:
        return known
    exact = [each for each in known if wanted in (str(each), each.name)]
    return exact or [each for each in known if wanted.lower() in (str(each).lower(), each.name.lower())]


def require_one(settings: ConnectorSettings, wanted: str | None, *, lower: bool = False) -> None:
    """Refuse to guess which table a user means; `lower`: the catalog has names in lower case only.

    Raises:
        FollowRefused: it is none of the connector's, or may be several.
    """
    if settings.source.topics_regex is not None:
        if wanted is None:
            raise FollowRefused(settings.name, "any topic that topics.regex matches may bring another one", ())
        return
    tables = configured(settings, lower=lower)
    found = chosen(wanted, tables)
    if len(found) != 1:
        reason = f"{wanted!r} is none of its tables" if not found else "it has several"
        raise FollowRefused(settings.name, reason, [str(each) for each in tables])


def configured(settings: ConnectorSettings, *, lower: bool = False) -> list[TableName]:
    """The tables of a connector's topics, spelled as they would be created."""
    namespace = tuple((settings.namespace or DEFAULT_NAMESPACE).split("."))
    return sorted({table_of(settings, topic, namespace, (), lower=lower) for topic in settings.source.topics})
