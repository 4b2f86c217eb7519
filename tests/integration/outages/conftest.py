"""A broker of these tests' own, which they stop, and a proxy before it; what a connector went through meanwhile."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from tests.support.brokers import short_lived
from tests.support.proxy import Forward, Proxy

from frazil.dev.kafka import KafkaBroker
from frazil.dev.ports import LOOPBACK, free_port
from frazil.testing.topics import create_topic

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, Proxy]]:
    """A broker, and the proxy before its second listener."""
    port = free_port()
    broker = short_lived(tmp_path_factory.mktemp("frail"), proxied=f"{LOOPBACK}:{port}")
    with broker, Proxy(broker.proxied_servers, port) as proxy:
        yield broker, proxy


@pytest.fixture
def frail(behind: tuple[KafkaBroker, Proxy]) -> Iterator[KafkaBroker]:
    """A running broker that a test may stop; it runs again for the next one."""
    broker, _ = behind
    broker.start()
    yield broker
    broker.start()


@pytest.fixture
def proxy(behind: tuple[KafkaBroker, Proxy], frail: KafkaBroker) -> Iterator[Proxy]:
    """The proxy before that broker; it forwards again for the next test."""
    yield behind[1]
    behind[1].behave(Forward())


@pytest.fixture
def frail_topic(frail: KafkaBroker, request: pytest.FixtureRequest) -> str:
    """A fresh topic with one partition, on the broker that may be stopped."""
    test = re.sub(r"[^A-Za-z0-9]+", "_", request.node.name)[:60].strip("_")
    return create_topic(frail.bootstrap_servers, f"{test}_f{next(_numbers)}")


@pytest.fixture
def through_proxy(connect: Callable[..., object], proxy: Proxy) -> Callable[..., object]:
    """`connect`, to the broker behind the proxy, with little patience."""

    def start(topic: str, **settings: str) -> object:
        hasty = {"bootstrap.servers": proxy.address, "consumer.override.request.timeout.ms": "2000"}
        return connect(topic, **{**hasty, **settings})

    return start
