"""Resets in a race with connectors: each takes effect once or says why not, and no record is lost or lands twice.

The law is told from the snapshots of the table: a commit of a connector adds exactly the records between the token before
it and its own; a commit of a reset adds none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.memory import MemoryCatalog, MemoryRecord, MemorySource, MemoryTable, MemoryTarget, TableSnapshot
from tests.stateful.actors import Actor, reach
from tests.stateful.connectors import Runner, World, configured

from frazil import faults
from frazil.connector.brokers import Brokers
from frazil.connector.registry import Registry
from frazil.connector.resetting import Place, Reset, Resetter, Wanted, Where
from frazil.errors import FrazilError, OwnerRuns, ResetRefused
from frazil.model import SourcePartition, TableName
from frazil.sources.kafka.initial_offsets import StartPolicy
from frazil.tables.iceberg.catalog import Catalog
from frazil.tables.rules.tokens import RESET, carried

TABLE = TableName(("public",), "T")
PARTITION = SourcePartition("a", 0)

points = st.sampled_from(["before_swap", "build", "refresh", "facts", "latest", "discover", "read", None])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(1, 3)),
        st.tuples(st.just("go"), points),
        st.tuples(st.just("start"), st.none()),
        st.tuples(st.just("reset"), st.tuples(st.sampled_from(["earliest", "latest"]), st.booleans())),
        st.tuples(st.just("go on with the reset"), points),
    ),
    max_size=25,
)


class Lake:
    """A catalog in memory, as commands look at it."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog

    def namespaces(self) -> list[tuple[str, ...]]:
        return [("public",)]

    def list_tables(self, namespace: tuple[str, ...]) -> list[TableName]:
        return self._catalog.list_tables(namespace)

    def table(self, name: TableName) -> MemoryTarget:
        return MemoryTarget(self._catalog, name)


class NoRegistry:
    def connectors(self) -> dict[str, Any]:
        return {}


class MemoryBrokers:
    def __init__(self, world: World) -> None:
        self._world = world

    @contextmanager
    def source(self, *_: Any) -> Iterator[MemorySource]:
        policy = StartPolicy("ONE", "one", "connect-one", "memory:9092", "fail", "fail")
        yield MemorySource(self._world.cluster, policy, ("a",), None, "earliest")


@dataclass
class Command:
    """One `frazil channels reset`, which may stand still where it asks something."""

    world: World
    place: Place
    force: bool
    done: list[Reset] = field(default_factory=list)
    error: FrazilError | None = None

    def __post_init__(self) -> None:
        self.actor = Actor(self._work)

    def _work(self) -> None:
        resetter = Resetter(
            cast("Catalog", Lake(self.world.catalog)),
            cast("Registry", NoRegistry()),
            cast("Brokers", MemoryBrokers(self.world)),
        )
        try:
            where = Where(place=self.place)
            self.done = resetter.reset(Wanted("one"), where, str(id(self)), dry=False, force=self.force)
        except (OwnerRuns, ResetRefused) as error:
            self.error = error


class Race:
    """A connector's processes and commands that reset it, of which one at a time does something."""

    def __init__(self) -> None:
        self.world = World()
        # An owner counts as alive if its process began before its last commit.
        self.world.ahead = time.time() - self.world.now
        self.world.cluster.create_topic("a", 1)
        self.runner = self._started()
        self.commands: list[Command] = []

    @property
    def table(self) -> MemoryTable:
        return self.world.catalog.tables[TABLE]

    def step(self, what: str, given: Any) -> None:
        match what:
            case "produce":
                self.world.produce(PARTITION, *(MemoryRecord({"n": 1}) for _ in range(given)))
            case "go" if not self.runner.ended or self.runner.stands:
                self.runner.go(given)
            case "start" if not self.runner.stands:
                self.runner = self._started()
            case "reset":
                self._finish_command()
                self.commands.append(Command(self.world, *given))
            case "go on with the reset" if self.commands and not self.commands[-1].actor.done:
                self.commands[-1].actor.go(given)

    def end(self) -> None:
        """Everything comes to its end, and a new process lands what is left."""
        self._finish_command()
        if self.runner.stands:
            self.runner.go(None)
        self.runner = self._started()
        for _ in range(3):
            self.runner.go(None)

    def _finish_command(self) -> None:
        if self.commands and not self.commands[-1].actor.done:
            self.commands[-1].actor.go(None)

    def _started(self) -> Runner:
        return Runner(self.world, configured("one", "t", ()), None)

    def judge(self) -> None:
        """The law; snapshots in the order of their commits."""
        token, files, owner = -1, (), ""
        effects: dict[str, tuple[int, int, str]] = {}
        for snapshot in sorted(self.table.history.values(), key=lambda each: each.sequence_number):
            tokens = carried(snapshot, "T", "ONE")
            if tokens is None:
                continue
            now = int(tokens.channel(PARTITION).token or -1)
            added = self._offsets(snapshot, files)
            if snapshot.summary(RESET):
                assert added == []
                audit = orjson.loads(snapshot.summary(RESET) or "")
                assert audit["reason"] not in effects
                effects[audit["reason"]] = (token, now, owner)
            else:
                assert added == [*range(token + 1, now + 1)]
            token, files, owner = now, snapshot.files, tokens.opener
        assert token == self.world.cluster.log(PARTITION).latest - 1
        for each in self.commands:
            effect = effects.pop(str(id(each)), None)
            assert (effect is not None) == bool(each.done)
            assert bool(each.done) == (each.error is None)
            if effect is None:
                continue
            before, after, held_by = effect
            ((move,),) = (reset.moves for reset in each.done)
            assert (move.before and move.before.first, move.after.first) == (before + 1, after + 1)
            assert after == -1 if each.place == "earliest" else after >= before
            assert each.force or "with frazil channels reset" in held_by
        assert effects == {}

    def _offsets(self, snapshot: TableSnapshot, before: tuple[str, ...]) -> list[int]:
        added = [path for path in snapshot.files if path not in before]
        return sorted(row.offset for path in added for row in self.world.catalog.files.data[path].rows)


@pytest.fixture(autouse=True)
def _reaching() -> Iterator[None]:
    faults.install(reach)
    yield
    faults.install(None)


def told(given: list[tuple[str, Any]]) -> None:
    race = Race()
    try:
        with capture_logs():
            for what, how in [("produce", 2), ("go", None), *given]:
                race.step(what, how)
            race.end()
        race.judge()
    finally:
        race.runner.crash()
        for each in race.commands:
            each.actor.crash()


@settings(max_examples=150, deadline=None)
@given(steps)
def test_resets_in_a_race_with_a_connector_take_effect_once_or_say_why_not(given: list[tuple[str, Any]]) -> None:
    told(given)


def test_a_reset_to_the_latest_does_not_go_back_behind_what_landed_meanwhile() -> None:
    told([("reset", ("latest", True)), ("go on with the reset", "before_swap"), ("produce", 3), ("go", None)])


def test_a_connector_that_starts_meanwhile_is_not_fenced_without_being_asked() -> None:
    told(
        [
            ("reset", ("earliest", True)),
            ("go on with the reset", None),
            ("reset", ("earliest", False)),
            ("go on with the reset", "before_swap"),
            ("start", None),
            ("go", None),
        ]
    )
