"""One topic that feeds two tables: each gets every record once, whatever becomes of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import Clock, Feeding, Trouble, World, orders
from tests.memory import MemoryRecord

from frazil.errors import InvalidRecord, StageFailed
from frazil.model import Staged, StagedTable, TableName
from frazil.sources.kafka.offset_metadata import OffsetMetadata
from frazil.tables.rules.tokens import Tokens, read

A, B = (TableName(("public",), name) for name in "AB")
MB = 1024 * 1024


@pytest.fixture
def world() -> World:
    """A topic of two partitions with three records each, which feeds A and B."""
    made = World(routing=Feeding(A, B))
    made.cluster.create_topic("orders", 2)
    for partition in range(2):
        made.produce(3, partition)
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("frazil.cycle.table_failures.time", found)
    return found


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def landed(world: World, name: TableName, partition: int = 0) -> list[int]:
    """The offsets of a table's rows; each as often as it is there."""
    return sorted(row.offset for row in world.catalog.tables[name].rows() if row.partition == orders(partition))


def tokens(world: World, name: TableName) -> Tokens:
    found = read(world.catalog.tables[name].state, str(name), "SHOP")
    assert found
    return found


def published(world: World, partition: int = 0) -> int:
    return world.cluster.groups["connect-shop"][orders(partition)].offset


def test_both_tables_get_every_record_once(world: World) -> None:
    connector = world.run()
    world.produce(2)
    connector.cycle()
    again = world.run()
    world.produce(1, partition=1)
    again.cycle()

    for name in (A, B):
        assert landed(world, name, 0) == [0, 1, 2, 3, 4]
        assert landed(world, name, 1) == [0, 1, 2, 3]
        channel = tokens(world, name).channel(orders(0))
        assert (channel.token, channel.parsed, channel.inserted) == ("4", 5, 5)
    assert (published(world, 0), published(world, 1)) == (5, 4)


def test_records_are_read_once_for_both(world: World) -> None:
    reads: list[str] = []
    connector = world.run()
    for partition in range(2):
        world.produce(3, partition)
    world.cluster.on_request = reads.append

    report = connector.cycle()

    assert reads.count("read") == 2
    assert (report.records, report.rows) == (6, 12)


def test_a_table_that_cannot_commit_catches_up_and_the_other_goes_on_meanwhile(world: World, clock: Clock) -> None:
    connector = world.run()
    trouble = Trouble(world, B, "build")
    for _ in range(3):
        world.produce(2)
        connector.cycle()
    assert (landed(world, A), landed(world, B)) == ([*range(9)], [0, 1, 2])

    trouble.end()
    world.produce(1)
    world.produce(4, partition=1)
    clock.now += 60
    connector.cycle()

    for name in (A, B):
        assert (landed(world, name, 0), landed(world, name, 1)) == ([*range(10)], [*range(7)])
        channel = tokens(world, name).channel(orders())
        assert (channel.token, channel.parsed, channel.inserted) == ("9", 10, 10)


def test_what_is_published_is_what_both_tables_cover_and_says_whose_commit_it_was(world: World, clock: Clock) -> None:
    connector = world.run()
    trouble = Trouble(world, B, "build")
    world.produce(2)
    connector.cycle()

    behind = world.cluster.groups["connect-shop"][orders()]
    mark = OffsetMetadata.read(behind.metadata)
    assert (behind.offset, mark and mark.table) == (3, world.catalog.tables[B].state.uuid)

    trouble.end()
    clock.now += 60
    connector.cycle()
    assert published(world) == 5


def test_one_that_has_more_than_the_first_piece_of_a_range_gets_the_rest_once(world: World, clock: Clock) -> None:
    connector = world.run()
    log = world.cluster.log(orders())
    trouble = Trouble(world, A, "build")
    log.append(*(MemoryRecord({"id": number}, size=MB) for number in range(60)))
    connector.cycle()
    trouble.end()
    log.append(*(MemoryRecord({"id": number}, size=MB) for number in range(40)))
    world.produce(2, partition=1)
    clock.now += 60

    # Two tasks: one has the first half of partition 0, all of which B has, and all of partition 1.
    connector.cycle()
    connector.cycle()

    for name in (A, B):
        assert landed(world, name, 0) == [*range(103)]
        assert landed(world, name, 1) == [*range(5)]
        assert tokens(world, name).channel(orders()).token == "102"


@pytest.mark.parametrize(("reset", "expected"), [("earliest", [0, 1, 2, 3]), ("latest", [3])])
def test_a_table_that_a_topic_feeds_only_later_starts_where_its_own_opening_says(
    reset: str, expected: list[int]
) -> None:
    keys = {"consumer__override__auto__offset__reset": reset}
    world = World(routing=Feeding(A))
    world.cluster.create_topic("orders")
    world.run(**keys)
    world.produce(3)
    world.run(**keys)
    # What was published is the group's, and it would be where B starts.
    world.cluster.groups.clear()

    world.routing = Feeding(A, B)
    connector = world.run(**keys)
    world.produce(1)
    connector.cycle()

    assert landed(world, A) == ([0, 1, 2, 3])
    assert landed(world, B) == expected
    assert published(world) == 4


def test_a_bad_record_stops_both_tables_at_it(world: World) -> None:
    connector = world.run()
    world.cluster.log(orders()).append(MemoryRecord({"id": 3}), MemoryRecord(b"no JSON"), MemoryRecord({"id": 5}))

    report = connector.cycle()

    assert isinstance(report.failure, InvalidRecord)
    for name in (A, B):
        assert (landed(world, name, 0), landed(world, name, 1)) == ([0, 1, 2, 3], [0, 1, 2])
        assert tokens(world, name).channel(orders()).token == "3"
        assert (tokens(world, name).last_error or {})["offset"] == 4


def test_a_bad_record_that_one_table_has_behind_it_stops_only_the_other(world: World, clock: Clock) -> None:
    tolerant = world.run(errors__tolerance="all")
    Trouble(world, A, "build")
    world.cluster.log(orders()).append(MemoryRecord(b"no JSON"), MemoryRecord({"id": 4}))
    tolerant.cycle()
    world.catalog.on_table_request = lambda _, __: None
    assert tokens(world, B).channel(orders()).token == "4"
    world.produce(2)

    report = world.connector().cycle()

    assert isinstance(report.failure, InvalidRecord)
    assert (landed(world, A), tokens(world, A).channel(orders()).token) == ([0, 1, 2], "2")
    assert landed(world, B)[:4] == [0, 1, 2, 4]
    assert len(landed(world, B)) == len(set(landed(world, B)))


def test_rows_that_do_not_follow_the_token_of_their_table_are_not_committed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = world.connector()
    running.cycle()
    staged = running._staging._job.run

    def shifted(groups: object, description: str) -> list[Staged]:
        done = staged(groups, description)  # type: ignore[arg-type]
        return [replace(task, tables=tuple(map(_later, task.tables))) for task in done]

    world.produce(4)
    with monkeypatch.context() as patched:
        patched.setattr(running._staging._job, "run", shifted)
        with pytest.raises(StageFailed, match="does not follow the table's token"):
            running.cycle()
    running.recall()
    running.cycle()

    for name in (A, B):
        assert landed(world, name) == [0, 1, 2, 3, 4, 5, 6]


def _later(part: StagedTable) -> StagedTable:
    """As if the first of the records had not been read."""
    return replace(part, ranges=tuple(replace(each, start=each.start.ahead(1, each.covered)) for each in part.ranges))
