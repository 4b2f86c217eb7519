"""What was staged and certainly never committed is deleted at once; what may have been committed stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import orjson
import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import World
from tests.memory import MemoryRecord
from tests.memory.catalog import MemorySwap

from frazil.cycle import Ingestion
from frazil.errors import (
    CatalogUnavailable,
    Fenced,
    ShapeMoved,
    StageTooOld,
    TableReplaced,
    TokensMoved,
    TopicReplaced,
    Transient,
)
from frazil.tables.base import RaceLost
from frazil.tables.rules.tokens import read
from frazil.testing.crash import call_at


@pytest.fixture
def world() -> World:
    made = World()
    made.cluster.create_topic("orders")
    made.produce(3)
    return made


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def unreferred(world: World) -> set[str]:
    """Data and reject files and reject lists that the table does not lead to."""
    files = world.catalog.files
    named = {path for snapshot in world.table.history.values() for path in snapshot.files}
    lists = {path for path in files.small if "/list-" in path}
    led_to = {path for path in lists | set(files.rejects) if any(path in str(text) for text in chain(world))}
    return (set(files.data) | set(files.rejects) | lists) - named - led_to


def chain(world: World) -> Iterator[object]:
    """The newest reject list's path, and what each list says from there back."""
    tokens = read(world.table.state, "orders", "SHOP")
    path = tokens.rejects if tokens else None
    while path is not None:
        yield path
        content = world.catalog.files.small[path].decode()
        yield content
        path = orjson.loads(content)["previous"]


def fail_at_build(request: str) -> None:
    if request == "build":
        raise CatalogUnavailable("write the manifests", "no quota")


def bad_record(world: World) -> None:
    world.cluster.topics["orders"].logs[0].append(MemoryRecord(b"no JSON"))


def test_a_catalog_that_refuses_commits_leaves_no_file_behind_however_often(world: World) -> None:
    connector = world.run(errors__tolerance="all")
    world.produce(2)
    bad_record(world)
    world.catalog.on_request = fail_at_build
    for _ in range(50):
        with suppress(Transient):
            connector.cycle()
        connector.recall()

    assert unreferred(world) == set()

    world.catalog.on_request = lambda _: None
    connector.cycle()
    assert world.offsets() == [0, 1, 2, 3, 4]
    assert len(world.catalog.files.rejects) == 1
    assert unreferred(world) == set()


def a_newer_opener(world: World, connector: Ingestion) -> None:
    world.connector().discover()


def other_tokens(world: World, connector: Ingestion) -> None:
    (opened,) = connector.tables.values()
    opened.tokens = replace(opened.tokens, commit="another")


def other_columns(world: World, connector: Ingestion) -> None:
    world.table.drop_column("id")


def another_table(world: World, connector: Ingestion) -> None:
    (name,) = world.catalog.tables
    world.catalog.create(name, world.table.state.schema, {})


def too_old(world: World, connector: Ingestion) -> None:
    connector._tasks.began -= 7200


@pytest.mark.parametrize(
    ("happens", "error"),
    [
        (a_newer_opener, Fenced),
        (other_tokens, TokensMoved),
        (other_columns, ShapeMoved),
        (another_table, TableReplaced),
        (too_old, StageTooOld),
    ],
)
def test_what_the_checks_before_the_swap_refuse_is_deleted(
    world: World, happens: Callable[[World, Ingestion], None], error: type[Exception]
) -> None:
    connector = world.run()
    before = set(world.catalog.files.data)
    world.produce(2)

    with call_at("after_stage", lambda: happens(world, connector), 1), pytest.raises(error):
        connector.cycle()

    assert set(world.catalog.files.data) == before


def test_what_was_staged_of_a_topic_that_is_another_one_by_then_is_deleted(world: World) -> None:
    connector = world.run()
    before = set(world.catalog.files.data)
    world.produce(2)
    read = world.cluster.topics["orders"].logs

    def made_again(request: str) -> None:
        if request == "facts":
            world.cluster.create_topic("orders").logs[:] = read

    world.cluster.on_request = made_again
    with pytest.raises(TopicReplaced):
        connector.cycle()

    assert set(world.catalog.files.data) == before


def test_a_race_that_was_lost_before_the_columns_moved_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector = world.run()
    before = set(world.catalog.files.data)
    world.produce(2)

    def overtaken(_: MemorySwap) -> object:
        world.table.drop_column("id")
        raise RaceLost

    monkeypatch.setattr(MemorySwap, "swap", overtaken)
    with pytest.raises(ShapeMoved):
        connector.cycle()

    assert set(world.catalog.files.data) == before


@pytest.mark.parametrize("outcome", ["never", "lost", "late"])
def test_files_of_a_commit_of_which_nobody_knows_stay(world: World, outcome: str) -> None:
    connector = world.run()
    world.produce(2)
    world.catalog.outcomes.append(outcome)  # type: ignore[arg-type]
    with suppress(Transient):
        connector.cycle()
    if world.catalog.flying:
        world.catalog.land()
    connector.recall()
    connector.cycle()

    assert world.offsets() == [0, 1, 2, 3, 4]


def test_a_commit_that_lost_its_race_to_a_repetition_of_its_own_and_then_to_a_rival_keeps_its_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer says that somebody else was first, and by the time it looks another opener has gone on from it."""
    connector = world.run()
    world.produce(2)
    real = MemorySwap.swap
    swaps: list[object] = []

    def mistaken(each: MemorySwap) -> object:
        swaps.append(each)
        if len(swaps) > 1:
            return real(each)
        real(each)
        world.connector().discover()
        raise RaceLost

    monkeypatch.setattr(MemorySwap, "swap", mistaken)
    connector.cycle()

    assert world.offsets() == [0, 1, 2, 3, 4]
    with pytest.raises(Fenced):
        connector.recall()
