"""Many tables at a time, where their catalog allows it."""

from __future__ import annotations

import threading

import pytest
from tests.cycle.memory import World
from tests.memory import MemoryCatalog, MemoryRecord

from frazil.cycle.table_pool import TablePool
from frazil.errors import CommitUnknown

TOPICS = [f"orders_{number}" for number in range(8)]


def shop(at_once: int) -> World:
    """A world with eight topics of three records each, each with a table of its own."""
    world = World(catalog=MemoryCatalog(at_once=at_once))
    for topic in TOPICS:
        world.cluster.create_topic(topic).logs[0].append(*(MemoryRecord({"id": number}) for number in range(3)))
    return world


class Meeting:
    """Keeps requests of one kind waiting until two of them are under way at once."""

    def __init__(self, request: str) -> None:
        self._request = request
        self._first: str | None = None
        self.met = threading.Event()

    def __call__(self, request: str) -> None:
        if request != self._request:
            return
        me = threading.current_thread().name
        self._first = self._first or me
        if self._first != me:
            self.met.set()
        self.met.wait(10)


@pytest.mark.parametrize("request_", ["open", "build", "refresh"])
def test_tables_are_opened_read_and_committed_to_at_once_where_the_catalog_allows_it(request_: str) -> None:
    world = shop(at_once=8)
    connector = world.connector(topics=",".join(TOPICS))
    if request_ != "open":
        connector.discover()
    meeting = world.catalog.on_request = Meeting(request_)

    connector.cycle()

    assert meeting.met.is_set()
    assert [len(table.rows()) for table in world.catalog.tables.values()] == [3] * 8


def test_a_catalog_with_one_writer_never_sees_two() -> None:
    world = shop(at_once=1)
    threads: set[str] = set()
    world.catalog.on_request = lambda _: threads.add(threading.current_thread().name)

    world.connector(topics=",".join(TOPICS)).cycle()

    assert threads == {threading.current_thread().name}
    assert [len(table.rows()) for table in world.catalog.tables.values()] == [3] * 8


def test_a_table_that_cannot_commit_does_not_stop_the_others() -> None:
    world = shop(at_once=4)
    connector = world.connector(topics=",".join(TOPICS))
    connector.discover()
    world.catalog.outcomes.append("never")

    connector.cycle()

    assert sorted(len(table.rows()) for table in world.catalog.tables.values()) == [0, *[3] * 7]
    (failure,) = connector.failing.values()
    assert isinstance(failure.error, CommitUnknown)
    while connector.failing:
        connector.cycle()
    assert [len(table.rows()) for table in world.catalog.tables.values()] == [3] * 8


def test_all_have_ended_before_what_one_raised_goes_on() -> None:
    ended: list[int] = []
    first = threading.Event()

    def do(number: int) -> None:
        if number == 0:
            first.set()
            raise KeyboardInterrupt
        first.wait(10)
        ended.append(number)

    together = TablePool(4, "test")
    with pytest.raises(KeyboardInterrupt):
        together.each(do, range(10))

    assert sorted(ended) == list(range(1, 10))
    together.close()


def test_its_threads_end_with_it() -> None:
    together = TablePool(3, "to-end")
    together.each(str, [1, 2, 3])
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("to-end")]

    together.close()

    for thread in threads:
        thread.join(10)
    assert threads
    assert not any(thread.is_alive() for thread in threads)
