"""A real broker for the whole session, topics on it, and a home for the tables of one test."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from frazil.dev.kafka import KafkaBroker
from frazil.testing.topics import FAST_CLEANING, create_topic

MakeTopic = Callable[..., str]

# How long an example takes says more of the machine than of the code.
settings.register_profile("frazil", deadline=None)
settings.load_profile("frazil")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running broker that compacts and deletes quickly. Tests that stop a broker start their own."""
    with KafkaBroker(tmp_path_factory.mktemp("broker"), properties=FAST_CLEANING) as running:
        yield running


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """Undo what a test configured of the log: it may write to a stream that ends with the test."""
    yield
    structlog.reset_defaults()


_numbers = itertools.count(1)


@pytest.fixture
def make_topic(broker: KafkaBroker, request: pytest.FixtureRequest) -> MakeTopic:
    """Make topics no other test knows: `make_topic(partitions=4, cleanup_policy="compact")` gives the name."""
    test = re.sub(r"[^A-Za-z0-9]+", "_", request.node.name)[:60].strip("_")

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
