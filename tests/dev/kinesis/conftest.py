"""A server of a test's own, or one without quotas for all that do not need one of theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.dev.kinesis.support import Clock

from frazil.dev.kinesis import LocalKinesis


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def local(clock: Clock) -> Iterator[LocalKinesis]:
    """Without quotas, on the test's clock."""
    with LocalKinesis(quotas=False, clock=clock) as server:
        yield server


@pytest.fixture
def limited(clock: Clock) -> Iterator[LocalKinesis]:
    """With quotas, on the test's clock."""
    with LocalKinesis(clock=clock) as server:
        yield server
