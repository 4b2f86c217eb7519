"""What befalls a connector without ending it. Each is a block: entered, the trouble is there; left, it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from tests.soak.habitat import Habitat, now_in_sql
from tests.soak.subject import Subject
from tests.support.proxy import Behaviour, Delay, Reset, Swallow

from frazil.testing.topics import wait_until

_DELAY: Final = 0.15
"""Seconds that everything to and from the broker is late, each way."""

_SMALL_FILES: Final = (
    "map('min-input-files', '2', 'target-file-size-bytes', '4194304', 'max-file-group-size-bytes', '16777216')"
)
"""So that a compaction takes what came since the last one, and not all there ever was."""


class Others:
    """What somebody else does to the table meanwhile, and what of it must still be there at the end."""

    def __init__(self, habitat: Habitat) -> None:
        self._habitat = habitat
        self._number = 0

        self.rows: set[int] = set()
        """Of the rows they appended, the `seq` of those that were not rolled back."""

    def append(self) -> None:
        """Append a row."""
        self._number -= 1
        self._habitat.sql(f"INSERT INTO {self._habitat.table} (seq) VALUES ({self._number})")
        self.rows.add(self._number)

    def roll_back(self) -> None:
        """Roll the table back by some of the connector's commits."""
        wait_until(lambda: len(self._habitat.watch.history()) > 1, "two commits to roll back", 60)
        history = self._habitat.watch.history()
        to = history[min(len(history) - 1, 5)]
        self._habitat.sql(f"CALL frazil.system.rollback_to_snapshot('public.SOAK', {to.snapshot})")
        self.rows &= self.found()

    def compact(self) -> None:
        """Rewrite small files."""
        self._habitat.sql(f"CALL frazil.system.rewrite_data_files(table => 'public.SOAK', options => {_SMALL_FILES})")

    def expire(self) -> None:
        """Expire all snapshots but the last."""
        options = f"table => 'public.SOAK', older_than => {now_in_sql()}, retain_last => 1"
        self._habitat.sql(f"CALL frazil.system.expire_snapshots({options})")

    def add_column(self) -> None:
        """Add a column that no record has a value for."""
        self._number -= 1
        self._habitat.sql(f"ALTER TABLE {self._habitat.table} ADD COLUMN extra{-self._number} STRING")

    def found(self) -> set[int]:
        """Of the rows they appended, those in the table now."""
        rows = self._habitat.sql(f"SELECT seq FROM {self._habitat.table} WHERE seq < 0")
        return {row["seq"] for row in rows}


def troubles(
    habitat: Habitat, others: Others, subject: Subject
) -> dict[str, Callable[[], AbstractContextManager[None]]]:
    """What can befall `subject`, by the names of `tests.soak.lives`."""
    return {
        "broker restarted": lambda: _broker_away(habitat, habitat.broker.stop),
        "broker killed": lambda: _broker_away(habitat, habitat.broker.kill),
        "slow network": lambda: _network(habitat, Delay(_DELAY)),
        "connections reset": lambda: _network(habitat, Reset()),
        "black hole": lambda: _network(habitat, Swallow()),
        "catalog locked": habitat.locked_catalog,
        "worker killed": lambda: _at_once(lambda: _kill_worker(subject)),
        "rolled back": lambda: _at_once(others.roll_back),
        "foreign append": lambda: _at_once(others.append),
        "compacted": lambda: _at_once(others.compact),
        "expired": lambda: _at_once(others.expire),
        "column added": lambda: _at_once(others.add_column),
    }


@contextmanager
def _broker_away(habitat: Habitat, take_away: Callable[[], None]) -> Iterator[None]:
    take_away()
    try:
        yield
    finally:
        habitat.broker.start()


@contextmanager
def _network(habitat: Habitat, behaviour: Behaviour) -> Iterator[None]:
    with habitat.proxy.behaving(behaviour):
        yield


@contextmanager
def _at_once(action: Callable[[], None]) -> Iterator[None]:
    action()
    yield


def _kill_worker(subject: Subject) -> None:
    wait_until(subject.kill_worker, "a worker to kill")
