"""What happens to topics behind the connector's back: retention, truncation, deletion, growth, another cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.commands import Desk
from tests.integration.conftest import Connect
from tests.support.brokers import short_lived
from tests.support.sending import numbers, send
from tests.support.truncation import truncate_log
from tests.support.waiting import caught_up, tokens, until_state

from frazil import Connector
from frazil.connector.resetting import Where
from frazil.dev.kafka import KafkaBroker
from frazil.errors import LogTruncated, TopicReplaced
from frazil.model import SourcePartition
from frazil.testing.topics import add_partitions, create_topic, delete_records, delete_topic, wait_until

EARLIEST = Where(place="earliest")


@pytest.fixture
def desk(spark: SparkSession, lake: Path, connect: Connect, tmp_path: Path) -> Desk:
    return Desk(spark, lake, connect, tmp_path)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that these tests may kill."""
    with short_lived(tmp_path_factory.mktemp("own")) as running:
        yield running


def test_records_that_are_skipped_are_counted_and_shown_also_before_others_come(
    connect, topic, rows, broker: KafkaBroker
):
    send(broker, topic, range(10))
    skip = {"frazil.on.data.loss": "skip"}
    first = connect(topic, name="skips", **skip)
    caught_up(first)
    first.stop()
    send(broker, topic, range(10, 20))
    delete_records(broker.bootstrap_servers, topic, 0, 20)

    skipping = connect(topic, name="skips", **skip)
    caught_up(skipping)

    (status,) = skipping.status()
    assert (status.offset_token, status.records_lost, status.rows_inserted) == ("19", 10, 10)
    assert "[data_loss] offset 10: the records 10 to 19" in str(status.last_error)
    skipping.stop()
    again = connect(topic, name="skips")
    send(broker, topic, range(20, 22))
    caught_up(again)
    assert [status.records_lost for status in again.status()] == [10]
    assert numbers(rows(topic)) == [*range(10), 20, 21]


def test_a_topic_made_again_stops_the_connector_and_is_read_after_a_reset(desk: Desk, topic, rows, broker: KafkaBroker):
    send(broker, topic, range(10))
    connector = desk.run(topic, "remade")
    caught_up(connector)

    delete_topic(broker.bootstrap_servers, topic)
    create_topic(broker.bootstrap_servers, topic, 2)
    send(broker, topic, range(100, 103), partition=1)
    until_state(connector, "FAILED")
    assert isinstance(connector.error, TopicReplaced)
    assert numbers(rows(topic)) == list(range(10))

    (done,) = desk.reset("remade", EARLIEST, topic=topic)
    assert [move.before for move in done.moves] == [None, None]
    again = desk.run(topic, "remade")
    caught_up(again)
    assert numbers(rows(topic)) == [*range(10), 100, 101, 102]


def test_a_topic_that_is_deleted_leaves_the_others_alone_and_is_missed_until_it_is_back(
    desk: Desk, make_topic, rows, broker: KafkaBroker
):
    staying, going = make_topic(), make_topic()
    send(broker, staying, range(5))
    send(broker, going, range(5))
    connector = desk.run(f"{staying},{going}", "two-topics")
    caught_up(connector)

    delete_topic(broker.bootstrap_servers, going)
    send(broker, staying, range(5, 10))
    caught_up(connector)
    assert numbers(rows(staying)) == list(range(10))
    assert str(connector.state) == "RUNNING"

    create_topic(broker.bootstrap_servers, going)
    send(broker, going, range(50, 52))
    until_state(connector, "FAILED")
    assert isinstance(connector.error, TopicReplaced)
    desk.reset("two-topics", EARLIEST, topic=going)
    again = desk.run(f"{staying},{going}", "two-topics")
    caught_up(again)
    assert (numbers(rows(staying)), numbers(rows(going))) == (list(range(10)), [0, 1, 2, 3, 4, 50, 51])


def test_partitions_added_while_nothing_runs_are_read_from_their_start_whatever_the_reset_says(
    connect, topic, rows, broker: KafkaBroker
):
    latest = {"consumer.override.auto.offset.reset": "latest"}
    first = connect(topic, name="grows", **latest)
    until_state(first, "RUNNING")
    send(broker, topic, range(5))
    caught_up(first)
    first.stop()

    add_partitions(broker.bootstrap_servers, topic, 2)
    send(broker, topic, range(5, 10), partition=1)
    again = connect(topic, name="grows", **latest)
    caught_up(again)

    assert numbers(rows(topic)) == list(range(10))
    assert tokens(again) == {0: "4", 1: "4"}


def test_a_log_that_lost_its_end_stops_the_connector_until_it_is_told_where_to_go_on(
    desk: Desk, rows, own: KafkaBroker
):
    topic = create_topic(own.bootstrap_servers, "truncated")
    send(own, topic, range(10))
    send(own, topic, range(10, 15))
    here = {"bootstrap.servers": own.bootstrap_servers}
    connector = desk.run(topic, "truncates", **here)
    caught_up(connector)
    connector.stop()

    own.kill()
    log = own.directory / "data" / f"{topic}-0" / f"{0:020}.log"
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 1)  # the last batch is broken then, and recovery drops it
    own.start()
    failing = desk.run(topic, "truncates", **here)
    until_state(failing, "FAILED")
    assert isinstance(failing.error, LogTruncated)
    assert "ends at offset 10 but its offset token is 14" in str(failing.error)

    desk.reset(f"{connector.settings.key}_{topic}_0", Where(place="latest"))
    send(own, topic, range(20, 22))
    again = desk.run(topic, "truncates", **here)
    caught_up(again)
    assert numbers(rows(topic)) == [*range(15), 20, 21]  # two rows have the offset 10, and two the offset 11


def test_what_a_log_holds_that_was_truncated_and_has_grown_again_lands_and_the_rows_of_what_it_lost_stay(
    desk: Desk, rows, own: KafkaBroker
):
    topic = create_topic(own.bootstrap_servers, "regrown")
    send(own, topic, range(10))
    send(own, topic, range(10, 15))
    here = {"bootstrap.servers": own.bootstrap_servers}
    running = desk.run(topic, "regrows", **here, **{"frazil.on.data.loss": "skip"})
    caught_up(running)
    running.pause()  # it looks again when the log is longer than before
    until_state(running, "PAUSED")

    own.kill()
    truncate_log(own, SourcePartition(topic, 0), 10)
    own.start()
    send(own, topic, range(100, 108))
    running.resume()
    until_token(running, "17")

    assert numbers(rows(topic)) == [*range(15), *range(100, 108)]
    (status,) = running.status()
    assert (status.records_lost, status.rows_inserted) == (5, 23)
    assert "[log_truncated] offset 10: the records 10 to 14" in str(status.last_error)


@pytest.mark.long
def test_a_log_that_was_truncated_and_has_grown_again_stops_the_connector_after_a_restart(
    desk: Desk, rows, own: KafkaBroker
):
    topic = create_topic(own.bootstrap_servers, "regrown_since")
    send(own, topic, range(10))
    send(own, topic, range(10, 15))
    here = {"bootstrap.servers": own.bootstrap_servers}
    before = desk.run(topic, "notices", **here)
    caught_up(before)
    before.stop()

    own.kill()
    truncate_log(own, SourcePartition(topic, 0), 10)
    own.start()
    send(own, topic, range(100, 108))
    failing = desk.run(topic, "notices", **here)
    until_state(failing, "FAILED")

    assert isinstance(failing.error, LogTruncated)
    assert "was truncated at offset 10 and ends at offset 18 but its offset token is 14" in str(failing.error)
    assert numbers(rows(topic)) == list(range(15))


@pytest.mark.long
def test_another_cluster_behind_the_same_address_is_told_before_anything_is_read(
    desk: Desk, rows, own: KafkaBroker, tmp_path: Path
):
    topic = create_topic(own.bootstrap_servers, "moves")
    send(own, topic, range(5))
    here = {"bootstrap.servers": own.bootstrap_servers}
    connector = desk.run(topic, "moves", **here)
    caught_up(connector)
    connector.stop()

    own.stop()
    with short_lived(tmp_path / "another", own.port) as another:
        create_topic(another.bootstrap_servers, topic)
        send(another, topic, range(100, 109))
        failing = desk.run(topic, "moves", **here)
        until_state(failing, "FAILED")
        assert isinstance(failing.error, TopicReplaced)
        assert "cluster id" in str(failing.error)
        assert numbers(rows(topic)) == list(range(5))

        desk.reset("moves", EARLIEST)
        again = desk.run(topic, "moves", **here)
        caught_up(again)
        assert numbers(rows(topic)) == [*range(5), *range(100, 109)]
        again.stop()


def until_token(connector: Connector, token: str) -> None:
    """Wait until the first partition is covered up to there."""
    wait_until(lambda: tokens(connector).get(0) == token, f"the token {token}", 120)
