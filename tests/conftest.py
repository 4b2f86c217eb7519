"""What each process of a test run has one of: a broker with topics of each test's own, and a Spark session with catalogs."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import settings
from pyspark.sql import SparkSession
from tests import longest_first
from tests.support.brokers import SharedBroker, found, short_lived
from tests.support.h2 import h2_jar
from tests.support.homes import home_with_orders
from tests.support.jars import aws_bundle

from frazil.dev.kafka import KafkaBroker
from frazil.tables.jvm.session import open_session
from frazil.testing.topics import FAST_CLEANING, create_topic

NEEDS_TIME = {"broker", "behind", "spark", "orders_home"}
"""Fixtures that take seconds to be there."""

SHARED = pytest.StashKey[SharedBroker]()

MakeTopic = Callable[..., str]
AddCatalog = Callable[[dict[str, str]], str]

# How long an example takes says more of the machine than of the code.
settings.register_profile("frazil", deadline=None)
settings.load_profile("frazil")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs a broker or Spark; have the files that take longest begin, as processes take whole files."""
    for item in items:
        if not NEEDS_TIME.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    longest_first.sort(items)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process of the run where the broker is that all share."""
    if SHARED not in node.config.stash:
        node.config.stash[SHARED] = SharedBroker()
    node.workerinput["broker"] = node.config.stash[SHARED].place


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the shared broker, in the process that started the others."""
    if SHARED in config.stash:
        config.stash[SHARED].end()


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running broker that compacts and deletes quickly. Tests that stop a broker start their own."""
    if hasattr(request.config, "workerinput"):
        yield found(request.config.workerinput["broker"])
    else:
        with short_lived(tmp_path_factory.mktemp("broker"), properties=FAST_CLEANING) as running:
            yield running


@pytest.fixture(scope="session")
def orders_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the table ORDERS, which stays empty."""
    return home_with_orders(tmp_path_factory.mktemp("orders"))


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Undo what a test configured of the log: it may write to a stream that ends with the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the embedded catalog that tests share; tables are named after topics."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def spark(lake: Path) -> Iterator[SparkSession]:
    """A local Spark session with the embedded catalog: the only one there is in this process."""
    # Some tests have a catalog in that database, others tables on S3.
    session = open_session(lake, "local[2]", {"spark.jars": f"{h2_jar()},{aws_bundle()}"})
    yield session
    session.stop()


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def add_catalog(spark: SparkSession) -> AddCatalog:
    """Have Spark know one more catalog, under a name nobody has used: Spark keeps what it first found there."""

    def add(settings: dict[str, str]) -> str:
        name = f"added{next(_numbers)}"
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in {"cache-enabled": "false", **settings}.items():
            spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
        return name

    return add


@pytest.fixture
def make_topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> MakeTopic:
    """Make topics no other test knows: `make_topic(partitions=4, cleanup_policy="compact")` gives the name."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "")
    test = re.sub(r"[^A-Za-z0-9]+", "_", request.node.name)[:60].strip("_") + process

    def make(partitions: int = 1, **config: str) -> str:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        return create_topic(broker.bootstrap_servers, f"{test}_{next(_numbers)}", partitions, settings)

    return make


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    """A fresh topic with one partition."""
    return make_topic()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that stands for `frazil-data` in this test."""
    path = tmp_path / "home"
    monkeypatch.setenv("FRAZIL_HOME", str(path))
    return path
