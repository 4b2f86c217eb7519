"""Everything that may happen to connectors, topics and tables, in any order; after each step the law is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest import mock

import structlog
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.memory import SEQUENCES, MemoryRecord, MemoryRow, MemoryTable, Unsorted
from tests.memory.sequences.positions import SequencePosition, offset_after
from tests.stateful.actors import reach
from tests.stateful.connectors import Runner, World, configured, routed
from tests.stateful.judge import Judge

from frazil import faults
from frazil.cycle import committing as cycle_committing
from frazil.cycle import protocol, quiet_tables, table_failures, tasks
from frazil.cycle.destinations import destinations
from frazil.model import Buffer, Column, Primitive, SourcePartition, TableName
from frazil.records import metadata
from frazil.sources.kinds import KAFKA
from frazil.tables import commit as committing
from frazil.tables.rules.state import SOURCE_SNAPSHOT

_Choice = TypeVar("_Choice")

some = st.integers(0, 9)
"""Chooses one of however many there are."""

SIZES: Mapping[str, int] = {"small": 100, "middling": 400_000, "huge": 20_000_000}
"""What records claim to have: all fit into a cycle; two or three do; a partition is split over tasks."""

options = st.fixed_dictionaries(
    {
        "errors.tolerance": st.sampled_from(["none", "all", "all"]),
        "frazil.on.data.loss": st.sampled_from(["fail", "skip"]),
        "behavior.on.null.values": st.sampled_from(["default", "ignore"]),
        "consumer.override.auto.offset.reset": st.sampled_from(["earliest", "earliest", "latest"]),
        "frazil.cycle.max.bytes": st.sampled_from(["1048576", "536870912", "536870912"]),
    }
)

buffers = st.sampled_from(
    [None, None, None, Buffer(records=3), Buffer(seconds=40.0), Buffer(seconds=90.0, bytes=1_000_000)]
)

points = st.sampled_from(
    [*faults.POINTS, "before_swap", "discover", "facts", "latest", "read", "refresh", "build", "starts", "publish"]
)
"""Where a connector may stand still: fault points, and requests to the broker and the catalog."""

records = st.lists(st.sampled_from(["fits", "fits", "fits", "bad", "tombstone", "gap"]), min_size=1, max_size=5)

BY_VALUE: Mapping[str, str] = {
    "frazil.route.field": "v",
    "frazil.route.max.tables": "2",
    "snowflake.topic2table.map.regex.replacement": "true",
}
VALUES = ("x", "y", "z", "X")
"""By which records are routed: two of them make one name, and there may be tables for two."""

RARE = (
    "truncated",
    "made again",
    "dropped",
    "created again",
    "replaced in place",
    "renamed",
    "cherry-pick",
    "partition",
    "clock",
)
"""What ends connectors, or confuses people: a story has one of them or two, or none."""


WAYS = ("own", "one", "own and one", "by value")
"""Which tables topics go to: one each, one for all, both, or one for each value of a field."""


class ExactlyOnce(RuleBasedStateMachine):
    """Two connectors, any number of processes that run them, two topics, and a table or two."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.runners: list[Runner] = []
        """Processes that live."""

        self.ever: list[Runner] = []
        self.judge = Judge(self.world, self.ever)
        self.numbers = 0
        self._patched = ExitStack()
        self._patched.enter_context(self._surroundings())

    def teardown(self) -> None:
        """Leave no thread standing."""
        for runner in self.ever:
            runner.crash()
        self._patched.close()

    @initialize(
        partitions=st.integers(1, 2),
        both=st.booleans(),
        tables=st.sampled_from(WAYS),
        kind=st.sampled_from([KAFKA, KAFKA, SEQUENCES]),
        size=st.sampled_from(sorted(SIZES)),
        existing=st.booleans(),
        rare=st.sets(st.sampled_from(RARE), max_size=2),
    )
    def begin(
        self, partitions: int, both: bool, tables: str, kind: str, size: str, existing: bool, rare: set[str]
    ) -> None:
        self.size = SIZES[size]
        self.table = {"one": "t", "by value": "to_$1"}.get(tables)
        self.by_value = tables == "by value"
        self.routing = routed if tables == "own and one" else destinations
        self.world.cluster.kind = kind
        self.rare = rare if kind == KAFKA else rare - {"truncated", "partition"}
        self.world.cluster.create_topic("a", partitions)
        if both:
            self.world.cluster.create_topic("b")
        if existing:
            columns = [Column(1, metadata.COLUMN, Primitive("variant")), Column(2, "n", Primitive("int"))]
            others = {"one": ["T"], "own and one": ["A", "B", "ALL"], "by value": ["TO_A", "TO_B", "TO_A_Y"]}
            for name in others.get(tables, ["A", "B"]):
                table = self.world.catalog.create(TableName(("public",), name), columns, {})
                table.append(*self._foreign_rows())
                table.append(*self._foreign_rows())

    @rule(name=st.sampled_from(["one", "one", "two"]), chosen=options, buffer=buffers)
    def start(self, name: str, chosen: dict[str, str], buffer: Buffer | None) -> None:
        given = {**chosen, **(BY_VALUE if self.by_value else {})}
        runner = Runner(self.world, configured(name, self.table, tuple(sorted(given.items()))), buffer, self.routing)
        self.runners.append(runner)
        self.ever.append(runner)

    @precondition(lambda self: self.runners)
    @rule(which=some)
    def cycle(self, which: int) -> None:
        self._go(which, None)

    @precondition(lambda self: self.runners)
    @rule(which=some)
    def another_cycle(self, which: int) -> None:
        self._go(which, None)

    @precondition(lambda self: self.runners)
    @rule(which=some, until=points)
    def go_until(self, which: int, until: str) -> None:
        self._go(which, until)

    @precondition(lambda self: self.runners)
    @rule(which=some, kinds=records)
    def produce_and_go_until_swap(self, which: int, kinds: list[str]) -> None:
        self._produce(which, kinds)
        self._go(which, "before_swap")

    @precondition(lambda self: self.runners and "truncated" in self.rare)
    @rule(which=some, lost=st.integers(1, 4), grown=records)
    def land_and_truncate(self, which: int, lost: int, grown: list[str]) -> None:
        """What may just have landed is lost from the end of its log, which grows again before anybody looks."""
        self._produce(which, ["fits"] * 4)
        for _ in range(2):
            if self.runners:
                self._go(which, None)
        partition = self._partition(which)
        self.world.truncate(partition, self.world.cluster.log(partition).latest - lost)
        self._produce(which, grown)

    @precondition(lambda self: self.runners)
    @rule(which=some)
    def crash(self, which: int) -> None:
        runner = _one_of(self.runners, which)
        runner.crash()
        self.runners.remove(runner)

    @rule(which=some, kinds=records)
    def produce(self, which: int, kinds: list[str]) -> None:
        self._produce(which, kinds)

    @rule(seconds=st.sampled_from([1.0, 35.0, 70.0, 1300.0]))
    def wait(self, seconds: float) -> None:
        self.world.now += seconds

    @precondition(lambda self: "clock" in self.rare)
    @rule(seconds=st.sampled_from([-5 * 86_400.0, -7200.0, -70.0, -30.0, 70.0, 7200.0, 5 * 86_400.0]))
    def clock_is_set(self, seconds: float) -> None:
        self.world.ahead += seconds

    @rule(
        what=st.sampled_from(
            [
                *("compaction", "retention", "retention", "partition", "topic", "election", "truncated", "made again"),
                *("split", "split", "merge", "end"),
            ]
        ),
        which=some,
        number=some,
    )
    def topics_change(self, what: str, which: int, number: int) -> None:
        if what in RARE and what not in self.rare:
            return
        partition = self._partition(which)
        log, topics = self.world.cluster.log(partition), self.world.cluster.topics
        if what in ("split", "merge", "end"):
            self._succeed(what, partition, number)
            return
        match what:
            case "compaction":
                if fits := [each for each, record in log.records.items() if isinstance(record.value, dict)]:
                    self.world.compact(partition, _one_of(fits, number))
            case "retention":
                log.retain(log.latest - number // 3)
            case "partition":
                self.world.cluster.add_partitions("a", min(3, len(topics["a"].logs) + 1))
            case "topic":
                if "b" not in topics:
                    self.world.cluster.create_topic("b")
            case "truncated":
                self.world.truncate(partition, log.latest - number // 3 - 1)
                self._produce(which, ["fits"] * (number % 4 * 2))
            case "election":
                log.elect()
            case "made again":
                self.world.cluster.create_topic(partition.topic, len(topics[partition.topic].logs))

    def _succeed(self, what: str, partition: SourcePartition, number: int) -> None:
        """Shards are split, merged and closed; Kafka's partitions are not."""
        cluster = self.world.cluster
        open_ones = [each for each in cluster.partitions(partition.topic) if not cluster.log(each).closed]
        if cluster.kind == KAFKA or partition not in open_ones:
            return
        others = [each for each in open_ones if each != partition]
        match what:
            case "split":
                cluster.split(partition)
            case "merge" if others:
                cluster.merge(partition, _one_of(others, number))
            case "end" if others:
                cluster.end(partition)

    @rule(what=st.sampled_from(["broker", "catalog", "lost", "never", "late", "late"]), requests=st.integers(1, 3))
    def trouble(self, what: Any, requests: int) -> None:
        match what:
            case "broker":
                self.world.broker_failures = requests
            case "catalog":
                self.world.catalog_failures = requests
            case _:
                self.world.catalog.outcomes.append(what)

    @precondition(lambda self: self.world.catalog.tables)
    @rule(which=some, breaks=st.booleans())
    def one_table_breaks_or_is_well_again(self, which: int, breaks: bool) -> None:
        self.world.broken = {_one_of(sorted(self.world.catalog.tables), which)} if breaks else set()

    @precondition(lambda self: self.world.catalog.flying)
    @rule()
    def late_swap_lands(self) -> None:
        self.world.catalog.land()

    @precondition(lambda self: self.world.catalog.tables)
    @rule(
        what=st.sampled_from(
            ["append", "delete", "compaction", "compaction", "aside", "branch", "branch", "tag", "stage", "cherry-pick"]
        ),
        which=some,
        number=some,
    )
    def others_commit(self, what: str, which: int, number: int) -> None:
        # Others, too, commit nothing by a clock that is behind.
        with suppress(Unsorted):
            self._others_commit(self._table(which), what, number)

    def _others_commit(self, table: MemoryTable, what: str, number: int) -> None:
        snapshots = sorted(table.state.snapshots, reverse=True)
        match what:
            case "append":
                table.append(*self._foreign_rows())
            case "delete":
                table.delete(lambda row: row.offset % 3 == number % 3)
            case "compaction":
                table.compact()
            case "aside" if snapshots:
                table.append_aside(*self._foreign_rows(), parent=_one_of(snapshots, number))
            case "branch" if snapshots:
                table.append_to_branch(f"branch {number % 2}", *self._foreign_rows())
            case "tag" if snapshots:
                table.refer("tag", _one_of(snapshots, number))
            case "stage" if snapshots:
                table.stage(f"stage {number}", *self._foreign_rows())
            case "cherry-pick" if table.state.current_id and "cherry-pick" in self.rare:
                if found := [each for each in snapshots if self._may_be_picked(table, each)]:
                    table.cherry_pick(_one_of(found, number))

    @precondition(lambda self: self.world.catalog.tables)
    @rule(which=some, snapshot=some)
    def set_current(self, which: int, snapshot: int) -> None:
        """Roll back, or forth, or aside; most often a little back."""
        table = self._table(which)
        if table.state.snapshots:
            with suppress(Unsorted):
                table.set_current(_one_of(sorted(table.state.snapshots, reverse=True), snapshot))

    @precondition(lambda self: any(table.state.others for table in self.world.catalog.tables.values()))
    @rule(which=some, other=some)
    def set_to_branch(self, which: int, other: int) -> None:
        """Set main to a branch or a tag; what it left long ago may have expired."""
        table = self._table(which)
        if table.state.others:
            with suppress(Unsorted):
                table.set_current(_one_of([*table.state.others.values()], other))

    @precondition(lambda self: self.world.catalog.tables)
    @rule(which=some, kept=some, alone=st.booleans())
    def expiry(self, which: int, kept: int, alone: bool) -> None:
        table = self._table(which)
        snapshots = sorted(table.state.snapshots, reverse=True)
        doomed = snapshots[kept : kept + 1] if alone else snapshots[kept:]
        with suppress(Unsorted):
            table.expire([each for each in doomed if self.judge.may_expire(table, each)])

    @precondition(lambda self: self.world.catalog.tables)
    @rule(which=some, what=st.sampled_from(["add", "add", "drop", "rename", "promote", "spec", "sort"]))
    def schema_change(self, which: int, what: str) -> None:
        table = self._table(which)
        names = [column.name for column in table.state.schema if column.name != metadata.COLUMN]
        ints = [column.name for column in table.state.schema if column.type == Primitive("int")]
        match what:
            case "add":
                table.add_column(f"c{table.next_field_id()}", Primitive("long"))
            case "drop" if names:
                table.drop_column(names[-1])
            case "rename" if names:
                table.rename_column(names[-1], f"r{len(table.schemas)}")
            case "promote" if ints:
                table.retype_column(ints[0], Primitive("long"))
            case "spec":
                table.change_spec()
            case "sort":
                table.change_sort_order()

    @precondition(lambda self: self.world.catalog.tables)
    @rule(what=st.sampled_from(["dropped", "created again", "replaced in place", "renamed"]), which=some)
    def table_replaced(self, what: str, which: int) -> None:
        if what not in self.rare:
            return
        catalog, name = self.world.catalog, _one_of(sorted(self.world.catalog.tables), which)
        match what:
            case "dropped":
                catalog.drop(name)
            case "created again":
                catalog.create(name, catalog.tables[name].state.schema, {})
            case "replaced in place":
                catalog.tables[name].begin_anew(catalog.tables[name].state.schema)
            case "renamed":
                other = name.name.removesuffix("_") if name.name.endswith("_") else f"{name.name}_"
                catalog.rename(name, TableName(name.namespace, other))

    @invariant()
    def rows_are_the_records_up_to_the_token_once_each(self) -> None:
        self.judge.look()

    def _go(self, which: int, until: str | None) -> None:
        runner = _one_of(self.runners, which)
        runner.go(until)
        assert not runner.held_up
        if runner.ended and not runner.stands:
            self.runners.remove(runner)

    def _produce(self, which: int, kinds: list[str]) -> None:
        partition = self._partition(which)
        if not self.world.cluster.log(partition).closed:
            self.world.produce(partition, *map(self._record, kinds))

    def _record(self, kind: str) -> MemoryRecord | None:
        self.numbers += 1
        fits: dict[str, Any] = {"n": self.numbers, **({"m": self.numbers} if self.numbers % 3 == 0 else {})}
        if self.by_value and self.numbers % 7:
            fits["v"] = VALUES[self.numbers * 5 % len(VALUES)]
        values: dict[str, Any] = {"fits": fits, "bad": b"no JSON", "tombstone": None}
        return MemoryRecord(values[kind], self.size) if kind in values else None

    def _foreign_rows(self) -> list[MemoryRow]:
        self.numbers += 1
        return [MemoryRow("", SourcePartition("elsewhere", 0), self.numbers)]

    def _may_be_picked(self, table: MemoryTable, number: int) -> bool:
        """Whether Iceberg would let it be: an append, not yet picked, whose parent has not expired."""
        snapshot = table.history[number]
        appends = snapshot.values.get("operation") == "append" and SOURCE_SNAPSHOT not in snapshot.values
        return appends and (snapshot.parent is None or snapshot.parent in table.state.snapshots)

    def _table(self, which: int) -> MemoryTable:
        return self.world.catalog.tables[_one_of(sorted(self.world.catalog.tables), which)]

    def _partition(self, which: int) -> SourcePartition:
        topics = self.world.cluster.topics
        return _one_of(
            [each for name in sorted(topics) for each in self.world.cluster.partitions(name)],
            which,
        )

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        """The machine's clock, its points to stand still at, and its ear for what connectors say."""
        clock = SimpleNamespace(monotonic=lambda: self.world.now, time=lambda: self.world.clock, time_ns=lambda: 0)
        before = structlog.get_config()
        structlog.configure(processors=[self._hear])
        faults.install(reach)
        try:
            with (
                mock.patch.object(protocol, "time", clock),
                mock.patch.object(cycle_committing, "time", clock),
                mock.patch.object(quiet_tables, "time", clock),
                mock.patch.object(tasks, "time", clock),
                mock.patch.object(table_failures, "time", clock),
                mock.patch.object(committing, "time", clock),
            ):
                yield
        finally:
            faults.install(None)
            structlog.configure(**before)

    def _hear(self, _: Any, __: str, event: Any) -> Any:
        runner = self.world.running
        if event["event"] == "records are lost: retention deleted them" and runner is not None:
            partition, first, last = _told(event)
            assert last < self.world.cluster.log(partition).earliest
            runner.lost.append((partition, first, last))
        if event["event"] == "a log was truncated below its token: what its offsets hold now is read" and runner:
            partition, first, last = _told(event)
            assert runner.settings.on_data_loss == "skip"
            runner.replaced.append((partition, first, last))
            if first == self.world.cluster.log(partition).earliest:
                runner.forgotten.append((partition, first, last))
        raise structlog.DropEvent


class RoutedByValue(ExactlyOnce):
    """The same where each value has a table."""

    @initialize(
        partitions=st.integers(1, 2),
        both=st.booleans(),
        kind=st.sampled_from([KAFKA, KAFKA, SEQUENCES]),
        size=st.sampled_from(sorted(SIZES)),
        existing=st.booleans(),
        rare=st.sets(st.sampled_from(RARE), max_size=1),
    )
    def begin(self, partitions: int, both: bool, kind: str, size: str, existing: bool, rare: set[str]) -> None:  # type: ignore[override]
        super().begin(
            partitions=partitions, both=both, tables="by value", kind=kind, size=size, existing=existing, rare=rare
        )


def _told(event: Any) -> tuple[SourcePartition, int, int]:
    """Of which records an event tells."""
    topic, _, partition = event["partition"].partition("-")
    first, last = event["first"], event["last"]
    if partition.isdigit():
        return SourcePartition(topic, int(partition)), first, last
    before = first.removeprefix("after ") if first.startswith("after ") else ""
    bounds = offset_after(SequencePosition(before)), offset_after(SequencePosition(last)) - 1
    return SourcePartition(topic, partition), *bounds


def _one_of(choices: Sequence[_Choice], which: int) -> _Choice:
    return choices[which % len(choices)]
