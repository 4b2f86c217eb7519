"""A broker that is stopped, slow, cut off or silent is waited for; then every record lands, once."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import SparkSession
from tests.integration.outages.watching import Watch
from tests.support.proxy import Cut, Delay, Forward, Proxy, Reset, Swallow, Trickle
from tests.support.sending import clean_rows, send
from tests.support.waiting import caught_up

from frazil.dev.kafka import KafkaBroker
from frazil.errors import BrokerUnavailable
from frazil.testing.crash import call_at
from frazil.testing.topics import group_offsets, wait_until

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_a_broker_stopped_while_idle_is_waited_for(connect, frail: KafkaBroker, frail_topic: str, judge):
    send(frail, frail_topic, range(10))
    connector = connect(frail_topic, **{"bootstrap.servers": frail.bootstrap_servers})
    caught_up(connector)
    watch = Watch(connector)

    frail.stop()
    error = watch.until_retrying(20)
    frail.start()
    send(frail, frail_topic, range(10, 20))
    caught_up(connector)

    assert isinstance(error, BrokerUnavailable)
    assert frail.bootstrap_servers in str(error)
    assert watch.only_waited()
    assert watch.states[-1] == "RUNNING"
    assert (connector.error, connector.next_attempt) == (None, None)
    assert clean_rows(judge(connector, frail_topic)) == 20


def test_a_broker_killed_in_the_middle_of_staging_is_waited_for(
    through_proxy, frail: KafkaBroker, proxy: Proxy, frail_topic: str, judge, spark: SparkSession
):
    send(frail, frail_topic, range(10))
    connector = through_proxy(frail_topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at("after_plan", lambda: proxy.behave(Trickle(20_000, 0.2)), 1):
        send(frail, frail_topic, range(10, 5010))
        wait_until(lambda: spark.sparkContext.statusTracker().getActiveJobsIds(), "the stage to begin")
        frail.kill()
    error = watch.until_retrying()
    proxy.behave(Forward())
    frail.start()
    caught_up(connector)

    assert isinstance(error, BrokerUnavailable)
    assert watch.only_waited()
    assert clean_rows(judge(connector, frail_topic)) == 5_010


def test_offsets_that_could_not_be_published_are_published_when_the_broker_is_back(
    through_proxy, frail: KafkaBroker, frail_topic: str, judge
):
    send(frail, frail_topic, range(10))
    connector = through_proxy(frail_topic)
    caught_up(connector)
    watch = Watch(connector)

    with call_at("before_acknowledge", frail.stop, 1):
        send(frail, frail_topic, range(10, 20))
        watch.until_retrying()
    frail.start()
    caught_up(connector)
    wait_until(
        lambda: group_offsets(frail.bootstrap_servers, connector.settings.source.group_id, frail_topic) == {0: 20},
        "the group's offset to be published",
    )

    assert watch.only_waited()
    assert clean_rows(judge(connector, frail_topic)) == 20


@pytest.mark.long
def test_a_slow_broker_is_no_outage(through_proxy, frail: KafkaBroker, proxy: Proxy, frail_topic: str, judge):
    with proxy.behaving(Delay(0.2)):
        send(frail, frail_topic, range(1000))
        connector = through_proxy(frail_topic, **{"consumer.override.request.timeout.ms": "20000"})
        watch = Watch(connector)
        caught_up(connector)
        send(frail, frail_topic, range(1000, 2000))
        caught_up(connector)

    assert watch.errors == []
    assert clean_rows(judge(connector, frail_topic)) == 2_000


@pytest.mark.parametrize(
    "outage", [Swallow(), Reset(), Trickle(), Cut(after=2_000)], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("while_staging", [False, True], ids=["idle", "staging"])
def test_a_broken_network_is_waited_out(
    through_proxy, frail: KafkaBroker, proxy: Proxy, frail_topic: str, judge, outage, while_staging: bool
):
    send(frail, frail_topic, range(10))
    connector = through_proxy(frail_topic)
    caught_up(connector)
    watch = Watch(connector)

    if while_staging:
        with call_at("after_plan", lambda: proxy.behave(outage), 1):
            send(frail, frail_topic, range(10, 1010))
            error = watch.until_retrying(30)
    else:
        proxy.behave(outage)
        error = watch.until_retrying(30)
        send(frail, frail_topic, range(10, 1010))
    proxy.behave(Forward())
    caught_up(connector)

    assert isinstance(error, BrokerUnavailable)
    assert watch.only_waited()
    assert clean_rows(judge(connector, frail_topic)) == 1_010


def test_stopping_does_not_wait_for_a_broker_that_is_silent(
    through_proxy, frail: KafkaBroker, proxy: Proxy, frail_topic: str
):
    send(frail, frail_topic, range(10))
    connector = through_proxy(frail_topic)
    caught_up(connector)

    with proxy.behaving(Swallow()):
        began = time.monotonic()
        connector.stop()

    assert time.monotonic() - began < 12
    assert str(connector.state) == "STOPPED"
