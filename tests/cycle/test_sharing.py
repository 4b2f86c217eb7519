from __future__ import annotations

from structlog.testing import capture_logs
from tests.cycle.memory import World
from tests.support.channels import with_channel

from frazil.cycle.sharing import shared
from frazil.model import SourcePartition
from frazil.tables.rules.channels import Channel
from frazil.tables.rules.tokens import Tokens


def tokens(name: str, *topics: str, identity: str = "id") -> Tokens:
    found = Tokens(name, "c", "o", 1)
    for topic in topics:
        found = with_channel(found, SourcePartition(topic, 0), Channel("1"), "cluster", identity)
    return found


def test_a_topic_that_two_connectors_land_is_shared() -> None:
    (found,) = shared({"A": tokens("a", "x", "y"), "B": tokens("b", "y", "z")})

    assert (found.topic, found.connectors, found.keys) == ("y", ("a", "b"), ("A", "B"))


def test_a_topic_made_again_is_not_the_one_that_an_old_connector_landed() -> None:
    assert shared({"A": tokens("a", "x", identity="old"), "B": tokens("b", "x")}) == []


def test_the_second_connector_of_another_name_is_told_of_the_first() -> None:
    world = World()
    world.cluster.create_topic("orders")
    world.run()

    with capture_logs() as told:
        world.run(name="shop-2")

    (warning,) = [each for each in told if each["log_level"] == "warning"]
    assert (warning["table"], warning["topic"], warning["connectors"]) == ("public.ORDERS", "orders", "shop, shop-2")


def test_a_connector_on_other_topics_of_the_table_is_not_mentioned() -> None:
    world = World()
    world.cluster.create_topic("orders")
    world.cluster.create_topic("more")
    world.run()

    with capture_logs() as told:
        world.run(name="shop-2", topics="more", snowflake__topic2table__map="more:orders")

    assert [each for each in told if each["log_level"] == "warning"] == []
