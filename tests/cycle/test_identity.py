from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from tests.cycle.memory import World, token

from frazil.cycle.identity import replaced
from frazil.errors import TopicMissing, TopicReplaced
from frazil.sources.base import TopicFacts
from frazil.tables.rules.tokens import Tokens, TopicTokens

BOTH = {"topics": "orders,more", "snowflake__topic2table__map": "orders:orders,more:orders"}


@pytest.fixture
def world() -> World:
    found = World()
    found.cluster.create_topic("orders")
    found.produce(10)
    return found


def test_a_topic_that_does_not_exist_is_told_once_and_the_others_go_on(world: World) -> None:
    with capture_logs() as told:
        running = world.run(**BOTH)
        running.cycle()

    assert [each["topic"] for each in told if each["log_level"] == "warning"] == ["more"]
    assert token(running) == "9"


def test_a_topic_that_is_deleted_is_waited_for_and_comes_back_as_another_one(world: World) -> None:
    world.cluster.create_topic("more")
    world.produce(5, topic="more")
    running = world.run(**BOTH)

    with capture_logs() as told:
        world.cluster.delete_topic("more")
        world.produce(2)
        running.cycle()
        running.cycle()
    assert [each["topic"] for each in told if each["log_level"] == "warning"] == ["more"]
    assert token(running) == "11"

    world.cluster.create_topic("more")
    with pytest.raises(TopicReplaced, match=r"the topic more .*topic id"):
        running.cycle()


def test_another_cluster_under_the_same_address_is_told_before_anything_is_read(world: World) -> None:
    running = world.run()
    world.produce(3)
    world.cluster.id = "another"

    with pytest.raises(TopicReplaced, match="cluster id is another"):
        running.cycle()
    with pytest.raises(TopicReplaced):
        world.run()

    assert world.offsets() == list(range(10))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (TopicFacts("orders", "aws:eu-central-1:2", "7", ()), "account and region is aws:eu-central-1:2"),
        (TopicFacts("orders", "aws:eu-central-1:1", "8", ()), "time of creation is 8"),
    ],
)
def test_a_stream_that_is_another_one_is_called_so_with_what_leads_to_streams(found: TopicFacts, said: str) -> None:
    known = {"orders": TopicTokens("aws:eu-central-1:1", "7", {})}

    error = replaced(Tokens("shop", "c", "o", 1, topics=known, source="kinesis"), found)

    assert error is not None
    assert f"the stream orders is not the one the offset tokens speak of: its {said}" in error.message
    assert "frazil.kinesis.region" in error.message
    assert "bootstrap" not in error.message


def test_a_stream_that_is_missing_is_looked_for_where_streams_are() -> None:
    message = TopicMissing("kinesis", ["orders", "more"], "eu-central-1").message

    assert message == (
        "the streams orders, more do not exist: Kinesis at eu-central-1 does not have them. Create what is missing, "
        "or correct `frazil.kinesis.streams`."
    )
