from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from frazil.model import Column, Conversion

from .chunks import Table, Worker

MakeTable = Callable[..., Table]


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One worker for all tests: what it keeps between tasks must not matter."""
    running = Worker(tmp_path_factory.mktemp("scratch"))
    yield running
    running.close()


@pytest.fixture
def make_table(worker: Worker) -> MakeTable:
    """Make a table of the given columns: `make_table(*columns(a="long"), evolves=False)`; other
    arguments are those of a Conversion."""

    def make(*shape: Column, evolves: bool = False, **conversion: Any) -> Table:
        return Table(worker, shape, Conversion(**conversion), evolves=evolves)

    return make
