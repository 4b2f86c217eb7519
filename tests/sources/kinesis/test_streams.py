"""Which streams there are, where an account has more of them than it may ask about in a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.sources.kinesis.transport import Transport, without

from frazil.dev.kinesis import LocalKinesis
from frazil.errors import StreamUnavailable
from frazil.sources.kinesis import streams
from frazil.sources.kinesis.source import KinesisSource, Reading


@pytest.fixture
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis() as server:
        yield server


@pytest.fixture
def source(local: LocalKinesis) -> Iterator[KinesisSource]:
    keys = {"access_key_id": "local", "secret_access_key": "local"}
    found = KinesisSource({"region": local.region, "endpoint": local.endpoint, **keys}, Reading(pattern="orders.*"))
    yield found
    found.close()


def test_many_streams_are_found_as_fast_as_the_service_describes_them(
    local: LocalKinesis, source: KinesisSource
) -> None:
    for number in range(50):
        local.provide(f"orders{number}")

    assert len(source.discover()) == 50


def test_streams_are_not_listed_at_every_look(local: LocalKinesis, source: KinesisSource) -> None:
    local.provide("orders")

    assert {tuple(source.discover()) for _ in range(20)} == {("orders",)}


@pytest.mark.parametrize("member", ["NextToken", None])
def test_all_pages_of_names_are_read_whether_or_not_they_have_tokens(
    local: LocalKinesis, source: KinesisSource, monkeypatch: pytest.MonkeyPatch, member: str | None
) -> None:
    monkeypatch.setattr("frazil.dev.kinesis.operations.streams._LISTED", 3)
    transport = Transport(monkeypatch)
    if member is not None:
        transport.change("ListStreams", without(member), times=10)
    names = [f"orders{number}" for number in range(7)]
    for name in names:
        local.provide(name)

    assert [*source.discover()] == names


def test_new_streams_are_found_after_a_while_though_the_service_was_too_busy(
    local: LocalKinesis, source: KinesisSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.provide("orders")
    source.discover()
    monkeypatch.setattr(source._streams, "_interval", 0.0)
    local.faults.kms("LimitExceededException", "ListStreams", times=1)
    local.provide("orders2")

    assert [*source.discover()] == ["orders"]
    assert [*source.discover()] == ["orders", "orders2"]


def test_a_service_that_stays_too_busy_is_an_outage(
    local: LocalKinesis, source: KinesisSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_PATIENCE", 0.5)
    local.provide("orders")
    local.faults.kms("LimitExceededException", "DescribeStreamSummary")

    with pytest.raises(StreamUnavailable, match="failed to describe the stream orders: LimitExceededException"):
        source.discover()
