"""What waits in the outboxes of tables comes to one place, list by list, beside the cycles.

The tokens of a table name the lists that wait (`frazil.tables.outbox`), and how far each place has come. Each place has
a `Sender` and a thread of its own, so that one that takes nothing holds up neither cycles nor the other places. The
oldest list comes first. The next commit notes in the tokens what has come by then. Whatever ends the process, the rest
stays named, and what came but was not noted is sent again.

What can never be sent holds up nothing either. A list or a file that is damaged is set aside: the tokens name it until
a person has dealt with it. A record that a place takes in no form is counted.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import structlog

from frazil import faults
from frazil.cycle.daemons import Daemons
from frazil.cycle.open_tables import OpenTable
from frazil.errors import FrazilError
from frazil.tables import outbox
from frazil.tables.base import WritableTable
from frazil.tables.outbox import OutboxList
from frazil.tables.rules.tokens import Tokens

_AGAIN: Final = 30.0
"""Seconds until sending is tried again that failed."""

_AT_THE_END: Final = 5.0
"""Seconds that a connector waits for places if it is asked to stop."""

_LOOK: Final = 0.2
"""Seconds after which whoever waits looks around."""

_LATE: Final = 60.0
"""Seconds after which records that wait are warned of, and again."""

MOST_SET_ASIDE: Final = 100
"""Damaged lists and files that the tokens of a table name at most; the log names the others too."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Came:
    """What became of lists that were handed to a place."""

    damaged: Sequence[str] = ()
    """Files of theirs that cannot be read."""

    refused: int = 0
    """Records that the place takes in no form."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits for a place."""

    files: int = 0
    seconds: float = 0.0
    """How long the oldest of them has waited."""


class Place(Protocol):
    """Where lists of tables' outboxes go. Only the thread of its sender asks it."""

    @property
    def name(self) -> str:
        """As the tokens call it."""

    @property
    def records(self) -> str:
        """What records it gets, for messages."""

    @property
    def most(self) -> int:
        """How many lists it takes together."""

    def newest(self, tokens: Tokens) -> str | None:
        """The newest list that has not come to all places it goes to."""

    def reached(self, tokens: Tokens) -> str | None:
        """The newest of these lists that has come here."""

    def deliver_lists(self, table: WritableTable, lists: Sequence[OutboxList]) -> Came:
        """Take the records of lists, the oldest first.

        Raises:
            FrazilError: some may not be there; all are sent again later.
        """


@dataclass(frozen=True, slots=True)
class _Done:
    """A list that came, or never will."""

    listed: OutboxList
    came: Came


@dataclass(slots=True)
class _Progress:
    """How far one table's lists have come."""

    done: list[_Done] = field(default_factory=list)
    """What has come and is not noted in the table, the oldest first; the thread that sends adds to it."""

    noting: int = 0
    """How many of them the commit notes that is under way."""

    waiting: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Lists that have not come, as far as is known: how many files each names, and since when it waits, on the
    monotonic clock. The thread that commits adds to it, and the one that sends adds and removes."""

    sending: Future[None] | None = None
    failed: float | None = None
    """When sending failed, on the monotonic clock; None while it works."""


class Sender:
    """Sends what waits in the outboxes of one connector's tables to one place. Failures are no reason to stop."""

    def __init__(self, connector: str, place: Place) -> None:
        """Send nothing yet.

        Args:
            connector: the connector's key.
            place: where lists go.
        """
        self.place = place
        self._thread = Daemons(1, f"frazil-{connector}-{place.name.replace(' ', '-')}")
        self._progress: dict[str, _Progress] = {}
        """By the uuid of the table."""

        self._closed = threading.Event()
        self._warned = time.monotonic()

    def send(self, opened: OpenTable) -> None:
        """Have sent what the tokens of a table name, beside the cycles, if that is due."""
        if not self._is_due(opened):
            return
        faults.reach("before_delivery")
        known, tokens = self._of(opened), opened.tokens
        ends = {each.listed.path for each in known.done} | {self.place.reached(tokens) or ""}
        newest = self.place.newest(tokens)
        known.sending = self._thread.submit(lambda: self._send(opened.table, newest, ends, known))

    def owes(self, opened: OpenTable) -> bool:
        """Whether the tokens of a table do not say yet what has come."""
        return bool(self._of(opened).done)

    def note(self, opened: OpenTable, tokens: Tokens) -> Tokens:
        """The tokens that a table is about to get, with what of the lists that came by now is damaged or refused.

        How far the place has come by then, `came_to` tells.
        """
        known = self._of(opened)
        known.noting = len(known.done)
        noted = [each.came for each in known.done[: known.noting]]
        if not noted:
            return tokens
        damaged = dict.fromkeys((*tokens.set_aside, *(path for each in noted for path in each.damaged)))
        refused = sum(each.refused for each in noted)
        before = tokens.refused.get(self.place.name, 0)
        return replace(
            tokens,
            set_aside=(*damaged,)[:MOST_SET_ASIDE],
            refused={**tokens.refused, self.place.name: before + refused} if refused else tokens.refused,
        )

    def came_to(self, opened: OpenTable) -> str | None:
        """The newest list that has come to the place, as `note` has it."""
        known = self._of(opened)
        return known.done[known.noting - 1].listed.path if known.noting else self.place.reached(opened.tokens)

    def committed(self, opened: OpenTable) -> list[tuple[OutboxList, Came]]:
        """What the table says now, the oldest first: its tokens are those that `note` gave."""
        known = self._of(opened)
        noted = [(each.listed, each.came) for each in known.done[: known.noting]]
        del known.done[: known.noting]
        known.noting = 0
        return noted

    def added(self, opened: OpenTable, files: int) -> None:
        """Take note that a commit has left a list of so many files, the newest one of the table."""
        if (newest := self.place.newest(opened.tokens)) is not None:
            self._of(opened).waiting[newest] = files, time.monotonic()

    def backlog(self, opened: OpenTable) -> Backlog:
        """What of a table waits. Of what waited when the process began, it knows once the place is first sent to."""
        if self.place.newest(opened.tokens) in (None, self.place.reached(opened.tokens)):
            return Backlog()
        waiting = [*self._of(opened).waiting.values()]
        oldest = min((since for _, since in waiting), default=math.inf)
        return Backlog(sum(files for files, _ in waiting), max(0.0, time.monotonic() - oldest))

    def under_way(self, opened: OpenTable) -> Future[None] | None:
        """What is on its way of a table, now that all that is due is."""
        self.send(opened)
        return self._of(opened).sending

    def beside(self, work: Callable[[], None]) -> None:
        """Do something in the thread that sends, behind what is on its way."""
        self._thread.submit(work)

    def close(self) -> None:
        """Send nothing more."""
        self._closed.set()
        self._thread.close()

    def _of(self, opened: OpenTable) -> _Progress:
        return self._progress.setdefault(opened.uuid, _Progress())

    def _is_due(self, opened: OpenTable) -> bool:
        """Whether something is to be sent, and nothing of the table is on its way."""
        known, newest = self._of(opened), self.place.newest(opened.tokens)
        if self._closed.is_set() or not self._has_ended(opened, known):
            return False
        if newest is None or newest == self.place.reached(opened.tokens):
            return False
        if any(each.listed.path == newest for each in known.done):
            return False
        return known.failed is None or time.monotonic() - known.failed >= _AGAIN

    def _has_ended(self, opened: OpenTable, known: _Progress) -> bool:
        """Whether nothing of a table is on its way any more; why the last of it did not come is logged."""
        if known.sending is None:
            return True
        if not known.sending.done():
            return False
        sending, known.sending = known.sending, None
        error = sending.exception()
        if error is not None:
            known.failed = time.monotonic()
            _log.warning(
                f"{self.place.records} are not sent yet",
                table=str(opened.table.name),
                to=self.place.name,
                cause=_said(error),
            )
            return True
        if known.failed is not None:
            _log.info(f"{self.place.records} are sent again", table=str(opened.table.name), to=self.place.name)
        known.failed = None
        return True

    def _send(self, table: WritableTable, newest: str | None, ends: set[str], known: _Progress) -> None:
        """Send the lists of a table behind those that are its `ends`, in the thread that sends."""
        lists = outbox.waiting(table, newest, ends)
        now, wall = time.monotonic(), time.time()
        for each in lists:
            known.waiting.setdefault(each.path, (len(each.files), now - max(0.0, wall - each.at / 1000)))
        for first in range(0, len(lists), self.place.most):
            if self._closed.is_set():
                return
            part = lists[first : first + self.place.most]
            self._warn_if_late(table, part[0])
            damaged = [*self._damaged(table, part)]
            came = self.place.deliver_lists(table, [each for each in part if each.damage is None])
            faults.reach("after_delivery")
            for path in came.damaged:
                self._warn_of_damage(table, path, "it cannot be read as records")
            whole = replace(came, damaged=(*damaged, *came.damaged))
            known.done += [*(_Done(each, Came()) for each in part[:-1]), _Done(part[-1], whole)]
            for each in part:
                known.waiting.pop(each.path, None)

    def _damaged(self, table: WritableTable, lists: Sequence[OutboxList]) -> Iterator[str]:
        for each in lists:
            if each.damage is not None:
                self._warn_of_damage(table, each.path, each.damage)
                yield each.path

    def _warn_of_damage(self, table: WritableTable, path: str, damage: str) -> None:
        _log.warning(
            f"a file of {self.place.records} is damaged and set aside: what it named is not sent; restore it and "
            "give `frazil dlq deliver`, or `frazil dlq drop` to forget it",
            table=str(table.name),
            file=path,
            cause=damage,
        )

    def _warn_if_late(self, table: WritableTable, listed: OutboxList) -> None:
        late = time.time() - listed.at / 1000
        if listed.at and late > _LATE and time.monotonic() - self._warned > _LATE:
            self._warned = time.monotonic()
            _log.warning(
                f"{self.place.records} wait: more of them come in than are taken, or they were not taken for a while",
                table=str(table.name),
                to=self.place.name,
                seconds=round(late),
            )


def finish(work: Sequence[tuple[Sender, OpenTable]], is_patient: Callable[[], bool]) -> None:
    """Wait for what has not come yet, as long as that goes on: no cycle is to follow.

    Args:
        work: whose lists go where.
        is_patient: whether there is more time than a moment.
    """
    until: float | None = None
    while waiting := [on_its_way for sender, opened in work if (on_its_way := sender.under_way(opened))]:
        if until is None and not is_patient():
            until = time.monotonic() + _AT_THE_END
        if until is not None and time.monotonic() >= until:
            return
        wait(waiting, _LOOK)


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, FrazilError) else f"{type(error).__name__}: {error}"
