"""What is not an answer of the service, or says that it is too busy, is waited out; what waiting cannot mend is told."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import boto3
import httpx2
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ProxyConnectionError, SSLError
from structlog.testing import capture_logs
from tests.memory.streams import StreamStaging, StreamWorld
from tests.sources.kinesis.transport import Change, Transport, answering, cut, raises, says, undated, without

from frazil.cycle import Ingestion
from frazil.cycle.destinations import destinations
from frazil.dev.kinesis import LocalKinesis
from frazil.errors import StreamRefused, Transient
from frazil.sources.kinesis import client as clients
from frazil.sources.kinesis import faults
from frazil.sources.kinesis.answers import UnreadableAnswer
from frazil.sources.kinesis.checkpoint_tables import read as read_checkpoints
from frazil.sources.kinesis.fan_out.subscription import Subscription
from frazil.sources.kinesis.roles import with_role
from frazil.sources.kinesis.writing import Letter, StreamWriter

HTML = b"<html>maintenance</html>"
RECORD = b'{"Data":"%s","PartitionKey":"a","SequenceNumber":"1","ApproximateArrivalTimestamp":1.0}'
RECORDS = b'{"Records":[%s],"MillisBehindLatest":0,"NextShardIterator":"x"}'

PASSING: dict[str, Change] = {
    "a handshake that breaks off": raises(SSLError(endpoint_url="x", error="EOF occurred in violation of protocol")),
    "a proxy that is down": raises(ProxyConnectionError(proxy_url="http://proxy:3128", error="refused")),
    "a page": says(HTML),
    "nothing": says(b""),
    "an empty object": says(b"{}"),
    "a list": says(b"[1]"),
    "half of it": cut,
    "a page with status 400": says(HTML, 400),
    "a page with status 403": says(HTML, 403),
    "another program's error": says(b'{"message":"Forbidden"}', 403),
    "a list with status 400": says(b"[1]", 400),
    "status 408": says(b"", 408),
    "status 429": says(b'{"__type":"Busy"}', 429),
    "too many requests": says(b'{"__type":"RequestLimitExceeded"}', 400),
    "a request that took too long": says(b'{"__type":"RequestTimeoutException"}', 400),
}

OF_RECORDS: dict[str, Change] = {
    "no date": undated,
    "no list": says(b'{"Records":null,"MillisBehindLatest":0,"NextShardIterator":"x"}'),
    "no lag": says(b'{"Records":[],"NextShardIterator":"x"}'),
    "data that are cut": says(RECORDS % (RECORD % b"!!!")),
    "a record without data": says(RECORDS % b'{"SequenceNumber":"1"}'),
}

_names = itertools.count(1)


@pytest.fixture(scope="module")
def local() -> Iterator[LocalKinesis]:
    with LocalKinesis(quotas=False) as found:
        yield found


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Transport:
    monkeypatch.setattr("frazil.sources.kinesis.pace._GAP", 0.01)
    monkeypatch.setattr("frazil.sources.kinesis.pace._MARGIN", 0.0)
    return Transport(monkeypatch)


@pytest.fixture
def world(local: LocalKinesis) -> Iterator[StreamWorld]:
    found = StreamWorld(local, f"answers{next(_names)}")
    local.provide(found.stream, 1)
    with capture_logs():
        yield found


def put(world: StreamWorld, number: int) -> None:
    world.local.client().put_record(StreamName=world.stream, Data=b'{"number":%d}' % number, PartitionKey="k")


def opened(world: StreamWorld) -> Ingestion:
    settings = world.settings()
    staging = StreamStaging(world.catalog.files)
    source = world.source(settings, read_window_ms="500")
    connector = Ingestion(settings, world.catalog, source, staging, None, destinations)
    connector.discover()
    return connector


def until_landed(world: StreamWorld, connector: Ingestion, *wanted: int) -> None:
    """Run cycles as a connector does, which waits out what passes by itself."""
    for _ in range(100):
        try:
            connector.cycle()
        except Transient:
            connector.recall()
        if world.values() == [{"number": each} for each in wanted]:
            return
    raise AssertionError(world.values())


def test_records_are_asked_for_again_after_an_answer_that_is_none(world: StreamWorld, transport: Transport) -> None:
    connector = opened(world)
    landed = []
    for number, (name, change) in enumerate({**PASSING, **OF_RECORDS}.items()):
        world.catch_up(connector)
        transport.change("GetRecords", change)
        put(world, number)
        landed.append(number)

        until_landed(world, connector, *landed)

        assert transport.left == 0, name


def test_a_reader_asks_again_after_an_answer_that_is_none(world: StreamWorld, transport: Transport) -> None:
    put(world, 1)
    for name, change in {**PASSING, **OF_RECORDS}.items():
        world.catalog.tables.clear()
        connector = opened(world)
        transport.change("GetRecords", change)

        until_landed(world, connector, 1)

        assert transport.left == 0, name
        connector.close()


@pytest.mark.parametrize("operation", ["DescribeStreamSummary", "ListShards", "GetShardIterator"])
def test_a_stream_is_described_again_after_an_answer_that_is_none(
    world: StreamWorld, transport: Transport, operation: str
) -> None:
    put(world, 1)
    for name, change in PASSING.items():
        world.catalog.tables.clear()
        connector = opened(world)
        transport.change(operation, change)

        until_landed(world, connector, 1)

        assert transport.left == 0, name
        connector.close()


def test_records_are_put_again_after_an_answer_that_is_none(world: StreamWorld, transport: Transport) -> None:
    client = clients.connect(world.settings().source.client)
    writer = StreamWriter(client, world.local.endpoint, world.stream)
    answers = {**PASSING, "too few": says(b'{"Records":[]}')}
    for number, (name, change) in enumerate(answers.items()):
        transport.change("PutRecords", change)
        writer.put([Letter("k", b'{"number":%d}' % number)])
        assert transport.left == 0, name

    connector = opened(world)
    world.catch_up(connector)

    assert {each["number"] for each in world.values()} == {*range(len(answers))}


@pytest.mark.parametrize(
    "refusal",
    [
        says(b'{"__type":"SerializationException"}', 400),
        raises(SSLError(endpoint_url="x", error="[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: expired")),
    ],
)
def test_what_waiting_does_not_mend_is_told(world: StreamWorld, transport: Transport, refusal: Change) -> None:
    put(world, 1)
    connector = opened(world)
    transport.change("GetRecords", refusal)

    with pytest.raises(StreamRefused):
        until_landed(world, connector, 1)


def test_an_open_shard_has_not_ended_because_an_answer_leads_no_further(
    world: StreamWorld, transport: Transport
) -> None:
    put(world, 1)
    connector = opened(world)
    transport.change("GetRecords", without("NextShardIterator"))
    until_landed(world, connector, 1)
    world.catch_up(connector)
    transport.change("GetRecords", without("NextShardIterator"))
    put(world, 2)

    until_landed(world, connector, 1, 2)

    assert transport.left == 0


def test_a_shard_that_is_listed_as_closed_has_ended_though_no_answer_names_its_children(
    world: StreamWorld, transport: Transport
) -> None:
    put(world, 1)
    connector = opened(world)
    until_landed(world, connector, 1)
    client = world.local.client()
    (shard,) = client.list_shards(StreamName=world.stream)["Shards"]
    client.split_shard(StreamName=world.stream, ShardToSplit=shard["ShardId"], NewStartingHashKey=str(2**127))
    put(world, 2)
    transport.change("GetRecords", without("ChildShards"), times=1000)

    until_landed(world, connector, 1, 2)


@pytest.mark.parametrize("status", [200, 403, 503])
def test_a_role_is_assumed_again_after_an_answer_that_is_none(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    answering(monkeypatch, (status, HTML))
    own = boto3.Session("key", "secret", region_name="eu-central-1")
    assuming = with_role(own, "arn:aws:iam::1:role/reader", {}, Config(retries={"total_max_attempts": 1}))

    with pytest.raises((ClientError, BotoCoreError)) as failed:
        assuming.get_credentials().get_frozen_credentials()

    assert faults.passes(failed.value)


def test_a_table_of_checkpoints_is_read_again_after_an_answer_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.sources.kinesis.checkpoint_tables._GAP", 0.0)
    rows = b'{"Items":[{"leaseKey":{"S":"shardId-000000000000"},"checkpoint":{"S":"7"},"checkpointSubSequenceNumber":{"N":"0"}}]}'
    busy = b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}'
    answering(monkeypatch, (200, HTML), (200, b"{}"), (200, rows[:50]), (400, busy), (200, rows))
    client = {"region": "eu-central-1", "access_key_id": "key", "secret_access_key": "secret"}

    (found,) = read_checkpoints(client, "leases", "kcl")

    assert found.place == "7"


def test_a_page_instead_of_a_subscription_is_no_subscription() -> None:
    page = httpx2.Response(200, headers={"content-type": "text/html", "date": "x"}, content=HTML)

    with pytest.raises(UnreadableAnswer, match="text/html"):
        Subscription(page, {})
