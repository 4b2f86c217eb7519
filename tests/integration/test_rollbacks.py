"""A table's past is changed while a connector fills it: tokens go with the rows, or the connector stops and says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.changing import BATCH, RECALL_EVERY, WHEN, Stream, When, alternating
from tests.integration.commands import Desk
from tests.support.waiting import until_state

from frazil.connector.resetting import Where
from frazil.dev.kafka import KafkaBroker
from frazil.errors import CherryPicked, TokensMissing, TokensUncertain

pytestmark = pytest.mark.slow

each_when = pytest.mark.parametrize("when", WHEN)


@dataclass
class Past(Stream):
    """A stream with a past: the snapshots of its table."""

    before: int = 0
    """Somebody else's, before the connector opened the table."""

    opened: int = 0
    landed: tuple[int, ...] = ()
    """One for each cycle that landed."""

    def roll_back(self, snapshot: int) -> None:
        self.sql(f"CALL frazil.system.rollback_to_snapshot('{{name}}', {snapshot})")

    def pick(self, snapshot: int) -> None:
        self.sql(f"CALL frazil.system.cherrypick_snapshot('{{name}}', {snapshot})")

    def land_cycle(self) -> None:
        self.land()
        self.landed += (self.snapshot(),)


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


@pytest.fixture
def past(
    desk: Desk, topic: str, spark: SparkSession, lake: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> Past:
    """Three cycles have landed in a table that had a row before."""
    monkeypatch.setattr(RECALL_EVERY, 0.2)
    past = Past(spark, broker, lake, topic)
    past.create()
    past.before = past.snapshot()
    past.connector = desk.run(topic, f"to_{topic}")
    until_state(past.connector, "RUNNING")
    past.opened = past.snapshot()
    for _ in range(3):
        past.land_cycle()
    return past


@pytest.mark.parametrize(("when", "to"), alternating("a cycle", "the opening"))
def test_rolled_back_to_a_snapshot_of_ours_it_reads_the_records_after_it_again(past: Past, when: When, to: str):
    past.change(when, lambda _: past.roll_back(past.landed[0] if to == "a cycle" else past.opened))

    past.catch_up()

    past.require_exactly_once()
    assert str(past.connector.state) == "RUNNING"
    past.land()
    past.require_exactly_once()


@each_when
def test_set_to_a_branch_that_left_ours_earlier_it_goes_on_from_where_that_left(past: Past, when: When):
    def set_to_branch(past: Stream) -> None:
        past.sql(
            f"ALTER TABLE {{table}} CREATE BRANCH other AS OF VERSION {past.landed[1]}",
            "INSERT INTO {table}.branch_other (seq, relaxed) VALUES (-2, -2)",
            "CALL frazil.system.set_current_snapshot(table => '{name}', ref => 'other')",
        )

    past.change(when, set_to_branch)
    past.catch_up()

    past.require_exactly_once()
    assert past.spark.table(past.table).where("seq = -2").count() == 1


@each_when
def test_a_cherry_pick_of_our_next_snapshot_is_a_fast_forward_and_brings_its_tokens(past: Past, when: When):
    def back_and_forth(past: Stream) -> None:
        past.roll_back(past.landed[0])
        past.pick(past.landed[1])

    past.change(when, back_and_forth)
    past.catch_up()

    past.require_exactly_once()


@pytest.mark.parametrize(("when", "way_on"), alternating("roll forward", "reset"))
def test_rolled_back_below_our_tokens_it_stops_until_a_person_says_where_to_go_on(
    past: Past, desk: Desk, when: When, way_on: str
):
    past.change(when, lambda _: past.roll_back(past.before))
    until_state(past.connector, "FAILED")

    assert isinstance(past.connector.error, TokensUncertain)
    assert past.offsets() == []
    if way_on == "roll forward":
        past.sql(f"CALL frazil.system.set_current_snapshot('{{name}}', {past.landed[2]})")
    else:
        desk.reset(past.connector.settings.name, Where(place="earliest"))
    past.connector.start()
    past.catch_up()
    past.require_exactly_once()


@pytest.mark.parametrize(("when", "source"), alternating("kept", "expired"))
def test_a_cherry_pick_of_ours_over_a_gap_stops_it_until_that_is_undone(past: Past, when: When, source: str):
    past.change(when, picking(past, source))
    until_state(past.connector, "FAILED")

    assert isinstance(past.connector.error, CherryPicked)
    assert past.offsets() == [*range(BATCH), *range(2 * BATCH, 3 * BATCH)]
    past.roll_back(past.landed[0])
    past.connector.start()
    past.catch_up()
    past.require_exactly_once()


def test_after_a_cherry_pick_that_stays_it_goes_on_where_a_reset_says(past: Past, desk: Desk):
    past.change("idle", picking(past, "kept"))
    until_state(past.connector, "FAILED")

    desk.reset(past.connector.settings.name, Where(offset=3 * BATCH))
    past.gone = {*range(BATCH, 2 * BATCH)}
    past.connector.start()
    past.send()
    past.catch_up()

    past.require_exactly_once()


@each_when
def test_rolled_back_to_before_one_of_its_topics_was_opened_it_reads_that_again_only_if_told_so(
    past: Past, desk: Desk, make_topic, when: When
):
    one, other = past.topic, make_topic()
    both = {"topics": f"{one},{other}", "snowflake.topic2table.map": f"{one}:{one},{other}:{one}"}
    past.connector.stop()
    past.connector = desk.run(one, past.connector.settings.name, **both)
    second = Past(past.spark, past.broker, past.lake, other, past.connector, table_of=one)
    second.land()

    past.change(when, lambda _: past.roll_back(past.landed[2]))
    until_state(past.connector, "FAILED")

    assert isinstance(past.connector.error, TokensMissing)
    past.connector.stop()
    told = {**both, "frazil.on.table.replaced": "earliest"}
    past.connector = second.connector = desk.run(one, past.connector.settings.name, **told)
    for stream in (past, second):
        stream.catch_up()
        stream.require_exactly_once()


def picking(past: Past, source: str) -> Callable[[Stream], None]:
    """Take the second of three cycles out of the table's past, and perhaps where the third came from as well."""

    def pick(_: Stream) -> None:
        past.roll_back(past.landed[0])
        past.pick(past.landed[2])
        if source == "expired":
            past.expire(past.landed[1], past.landed[2])

    return pick
